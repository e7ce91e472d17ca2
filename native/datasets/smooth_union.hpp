// The signed distance field of a smooth union of tapered capsules and ellipsoids, for synthetic bodies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

// A part is a row of numbers. With the monomials m = (xx, xy, xz, yy, yz, zz, x, y, z, 1) of a point p:
//   project (4)    offset of p along the axis, times the length: a product with (x, y, z, 1)
//   scale          1 / squared length of the axis
//   length2        squared length of the axis
//   radius         at the start
//   growth         of the radius, from start to end
//   square (10)    squared distance of p from the start: a product with m
constexpr std::size_t numbers_of_a_part = 18;

struct SmoothUnion {
    const double* parts;  // (count, numbers_of_a_part)
    std::size_t count;
    double blend;  // length over which parts blend
    double reach;  // farther behind the nearest part, others do not matter
};

// distance(p) = -blend log sum_i exp(-d_i(p) / blend). Points are taken in `order`, `block` of them together, of which
// only those parts matter that are near enough; so that points of a block should be close together.
void smooth_union(const SmoothUnion& shape, const double* points, const std::int64_t* order, std::size_t count,
                  std::size_t block, double* distance);

}  // namespace graphreg
