// Tracking: the pose of a frame by robust point-to-plane Gauss-Newton steps on a surfel map.
#pragma once

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

}  // namespace graphreg
