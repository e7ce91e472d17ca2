// Sums over correspondences for closed-form and linearised alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

struct Correspondences {
    const double* points;         // (sources, 3)
    const double* target;         // (targets, 3)
    const std::int32_t* partner;  // (sources): index of each point's target point
    const std::int64_t* rows;     // (count): the points that are used
    std::size_t count;
};

// The means of both sides (3 and 3), then the cross-covariance, the mean of (y - mean)(x - mean)^T, row by row, all
// weighted. weights: (count), not all zero; or null where all are equal.
constexpr std::size_t point_moments = 15;
void moments_of_pairs(const Correspondences& pairs, const double* weights, int threads, double* moments);

struct TargetPlanes {
    const double* normals;  // (targets, 3)
    double centre[3];       // rotations are about this point,
    double length_scale;    // and multiplied by this length
};

// Point-to-plane residuals r = n . (y - x) with the Jacobian J = ((x - centre) / length_scale x n, n):
// 21 sums of w J J^T (its upper triangle, row by row), 6 of w J r and one of w r^2; without weights, w is 1.
constexpr std::size_t plane_sums = 28;
void sum_plane_pairs(const Correspondences& pairs, const TargetPlanes& planes, const double* weights, int threads,
                     double* sums);

}  // namespace graphreg
