#include "engine/inliers.hpp"

#include <array>

#include "common/parallel.hpp"
#include "engine/surfel_grid.hpp"

namespace graphreg {

namespace {

void add(const std::array<double, 3>& x, double weight, InlierSums& sums) {
    sums.count += 1;
    sums.weight += weight;
    int entry = 0;
    for (int row = 0; row < 3; ++row) {
        sums.first[row] += x[row];
        for (int column = 0; column <= row; ++column) sums.second[entry++] += x[row] * x[column];
    }
}

}  // namespace

void sum_inliers(const OrientedCorrespondences& pairs, const double* weights, const RigidTransform* poses,
                 std::size_t pose_count, const double* distances, std::size_t distance_count, double min_cosine,
                 int threads, InlierSums* sums) {
    const double farthest = distances[distance_count - 1] * distances[distance_count - 1];
    parallel_for(pose_count, 1, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p)
            for (std::size_t i = 0; i < pairs.count; ++i) {
                const auto x = poses[p].transformed(pairs.source + 3 * i);
                const double squared = squared_distance(x, pairs.target + 3 * i);
                if (squared > farthest) continue;
                const auto n = poses[p].rotated(pairs.source_normals + 3 * i);
                const double* m = pairs.target_normals + 3 * i;
                if (n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < min_cosine) continue;
                for (std::size_t d = 0; d < distance_count; ++d)
                    if (squared <= distances[d] * distances[d]) add(x, weights[i], sums[p * distance_count + d]);
            }
    });
}

}  // namespace graphreg
