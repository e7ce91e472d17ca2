// Tracking: the pose of a frame by robust point-to-plane Gauss-Newton steps on a surfel map.
#pragma once

#include <array>
#include <cstddef>

#include "engine/normal_equations.hpp"
#include "odometry/surfel_map.hpp"

namespace graphreg {

struct TrackingSettings {
    double kernel;        // width of the first robust kernel, and
    double least_kernel;  // of the last: length
    double shrinkage;     // ratio of consecutive widths
    double noise;         // standard deviation that all residuals have in addition to their own: length
    int max_steps;
    double tolerance;  // the last step is not larger: radians, voxels
};

struct TrackedPose {
    RigidTransform pose;
    // Of the inliers, and of the other correspondences, with unit weights, for rotations about the mean of the frame.
    NormalEquations information, outlier_information;
    std::size_t overlapping = 0;  // voxels of the frame with points of the map around them
    std::size_t matched = 0;      // with a surfel
    std::size_t inliers = 0;      // with a small residual
    bool converged = false;
};

// T_map_frame from an initial pose.
TrackedPose track(const SurfelMap& map, const FrameVoxels& frame, const RigidTransform& start,
                  const TrackingSettings& settings, int threads);

// A frame that was measured while the sensor moved. At time t from -1/2 to 1/2, with 0 at the middle of the frame, it
// is at `pose`, then rotated about the pivot by t times the vector (first three) and translated by t times the last
// three.
struct TrackedSweep {
    RigidTransform pose;
    std::array<double, 6> velocity = {};
    std::array<double, 3> pivot = {};

    // What is applied after `pose` at a time.
    RigidTransform moved_by(double time) const;
};

// Pose and velocity together, from an initial pose. times: of each voxel; inertia: information on a velocity of 0, as a
// share of what the frame has on its pose.
TrackedSweep track_sweep(const SurfelMap& map, const FrameVoxels& frame, const double* times,
                         const RigidTransform& start, const TrackingSettings& settings, double inertia, int threads);

}  // namespace graphreg
