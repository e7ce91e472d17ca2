// What closed forms and normal equations of alignment are made of: sums over pairs of points.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

struct PointPairs {
    const double* points;         // (sources, 3)
    const double* target;         // (targets, 3)
    const std::int32_t* partner;  // (sources): which target point belongs to each point
    const std::int64_t* rows;     // (count): the points that count
    std::size_t count;
};

// The means of both sides (3 and 3), then the 3x3 mean of (y - mean)(x - mean)^T, row by row, all weighted.
// weights: (count), not all zero; or null for all alike.
constexpr std::size_t point_moments = 15;
void moments_of_pairs(const PointPairs& pairs, const double* weights, int threads, double* moments);

struct Planes {
    const double* normals;  // (targets, 3)
    double middle[3];       // turns are about this point,
    double reach;           // and are measured as the way that they move points this far from it
};

// Of the gaps g = n . (y - x) and their slopes s = ((x - middle) / reach x n, n) along the six ways to move:
// 21 sums of s s^T (its upper triangle, row by row), 6 of s g and one of g^2.
constexpr std::size_t plane_sums = 28;
void sum_plane_pairs(const PointPairs& pairs, const Planes& planes, int threads, double* sums);

}  // namespace graphreg
