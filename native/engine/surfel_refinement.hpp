// Refinement of poses against a nearest-surfel grid, by Gauss-Newton steps of symmetric point-to-plane ICP.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/gauss_newton.hpp"
#include "engine/surfel_grid.hpp"

namespace graphreg {

// The normal equations of the source's surfels at a pose, each with its nearest surfel of the target; `scale` is the
// width of the kernel that weights distances.
NormalEquations surfel_equations(const SurfelGrid& target, const SurfelView& source, const RigidTransform& pose,
                                 double scale, int threads);

// One Gauss-Newton step for each of the scales, for every pose, in place. Ends early at the last scale once a step is
// negligible.
void refine_poses(const SurfelGrid& target, const SurfelView& source, RigidTransform* poses, std::size_t pose_count,
                  const double* scales, std::size_t scale_count, const DegreesOfFreedom& dof, int threads);

// All points of a cloud, each assigned to a surfel of the cloud.
struct SurfelPoints {
    const SurfelGrid& grid;
    const double* points;         // (count, 3)
    const std::int32_t* surfels;  // (count): index of each point's surfel, or -1: the point is not used
    const double* weights;        // (grid.size()): weight of the points of each surfel
    std::size_t count;
};

// The normal equations of all points of each cloud against the surfels of the other.
NormalEquations symmetric_equations(const SurfelPoints& source, const SurfelPoints& target, const RigidTransform& pose,
                                    double scale, int threads);

// Gauss-Newton steps on these equations, at most `max_steps`, until one is not larger than the tolerance (voxels,
// radians).
RigidTransform refine_symmetric(const SurfelPoints& source, const SurfelPoints& target, const RigidTransform& start,
                                double scale, int max_steps, double tolerance, const DegreesOfFreedom& dof,
                                int threads);

}  // namespace graphreg
