// Inlier correspondences: what the pairs say that a pose brings together.
#pragma once

#include <cstddef>

#include "engine/hypotheses.hpp"
#include "engine/rigid_transforms.hpp"

namespace graphreg {

// Sums over the inliers of a pose.
struct InlierSums {
    double count = 0, weight = 0;
    double first[3] = {};   // of their positions in the source, moved
    double second[6] = {};  // of the products xx, xy, yy, xz, yz, zz of these
};

// A pose makes a pair an inlier if it brings the points closer than a distance, and the cosine between the normals is
// at least `min_cosine`. weights: (count); distances, ascending: (distance_count); sums: (pose_count, distance_count).
void sum_inliers(const OrientedCorrespondences& pairs, const double* weights, const RigidTransform* poses,
                 std::size_t pose_count, const double* distances, std::size_t distance_count, double min_cosine,
                 int threads, InlierSums* sums);

}  // namespace graphreg
