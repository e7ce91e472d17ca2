// Pose hypotheses from sets of pairwise compatible correspondences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/gauss_newton.hpp"
#include "engine/rigid_transforms.hpp"

namespace graphreg {

// Putative correspondences with normals, oriented by the same rule in both clouds: each (count, 3), paired by row.
struct OrientedCorrespondences {
    const double *source, *source_normals, *target, *target_normals;
    std::size_t count;
};

struct Hypothesis {
    RigidTransform pose;
    std::int32_t support;  // number of correspondences it was estimated from
};

// Two correspondences are compatible if one rigid transform can align both: their distances agree within `tolerance`,
// and so do the angles of their normals. A compatible pair is supported by all correspondences that are compatible with
// both. Each correspondence proposes the pair in which it has most support; the best proposal is taken together with
// its support, then the best of the remaining ones, up to `max_count`. Rotations must be free about all axes, one or
// none.
std::vector<Hypothesis> hypotheses(const OrientedCorrespondences& pairs, double tolerance, std::size_t max_count,
                                   const DegreesOfFreedom& dof, int threads);

}  // namespace graphreg
