// Random samples of points that depend neither on the order of the rows nor on where the cloud is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

struct NearMoments {
    std::array<double, 3> middle;  // the median of each coordinate
    double radius;                 // the median distance from it
    // Over the points near the median, offsets from it in radii: their number, the sum of the offsets, and of their
    // products xx, yy, zz, xy, xz, yz.
    std::array<double, 10> sums;
};

// Moments of the points (count, 3) up to `max_ratio` radii from the median. The medians are those of a regular sample
// of at most `sample_size` points.
NearMoments near_moments(const double* points, std::size_t count, double max_ratio, std::size_t sample_size);

// Up to `size` rows of distinct points within `limit` of `centre`, in random order: that of a hash of the cell that a
// point is in. Cells have size 1 in the frame of the axes (3, 3), row by row; those that mirror each other have one
// hash, so that the signs of the axes do not matter.
std::vector<std::int32_t> sample_by_cell(const double* points, std::size_t count, const double* centre, double limit,
                                         const double* axes, std::size_t size, std::uint64_t seed);

}  // namespace graphreg
