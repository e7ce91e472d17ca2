// The nearest-surfel grid: for every point near a cloud, in constant time, a surfel of the cloud that is close to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/rigid_transforms.hpp"

namespace graphreg {

// Surfels of a cloud, not owned.
struct SurfelView {
    const double *points, *normals;  // (count, 3)
    const double* weights;           // (count), or null where all are 1
    std::size_t count;
};

// Lengths are in voxels: surfels are about one unit apart. Each voxel of the grid stores the surfel that is nearest to
// its centre. Voxels are stored in blocks of 8x8x8, of which only those near surfels exist.
class SurfelGrid {
public:
    // points, normals: (count, 3), unit normals or zero; neighbours (count, k): surfels near each surfel. All are
    // copied.
    SurfelGrid(const double* points, const double* normals, const std::int32_t* neighbours, std::size_t count,
               std::size_t k);

    std::size_t size() const { return points_.size() / 3; }
    const double* point(std::int32_t surfel) const { return points_.data() + 3 * static_cast<std::size_t>(surfel); }
    const double* normal(std::int32_t surfel) const { return normals_.data() + 3 * static_cast<std::size_t>(surfel); }

    // The surfel that the voxel of the query stores, or -1.
    inline std::int32_t lookup(const std::array<double, 3>& query) const;

    // The nearest of that surfel and its neighbours, or -1: almost always the nearest of all.
    inline std::int32_t nearest(const std::array<double, 3>& query) const;

    // The same for queries (count, 3); -1 also where that surfel is farther than `max_distance`. indices: (count).
    void nearest(const double* queries, std::size_t count, double max_distance, int threads,
                 std::int32_t* indices) const;

    // Of each pose, the mean over the source's surfels of (1 - d^2 / max_distance^2) cos(angle between normals), each
    // factor at least 0, with the surfel that lookup() finds. scores: (count).
    void score(const RigidTransform* poses, std::size_t count, const SurfelView& source, double max_distance,
               int threads, double* scores) const;

private:
    static constexpr int block_bits = 3, block_width = 1 << block_bits;
    static constexpr int block_voxels = block_width * block_width * block_width;
    struct Stencil;
    // While the grid is built: of each voxel, the nearest surfel so far, below its squared distance. See rank().
    using RankedBlock = std::array<std::uint64_t, block_voxels>;

    void set_extent();
    void offer(std::size_t surfel, std::vector<RankedBlock>& blocks);
    std::int32_t existing_block(std::int64_t x, std::int64_t y, std::int64_t z, std::vector<RankedBlock>& blocks);
    double score_of(const RigidTransform& pose, const SurfelView& source, double inverse_square) const;

    std::vector<double> points_, normals_;
    std::vector<std::int32_t> neighbours_;
    std::size_t k_;
    std::array<double, 3> low_;  // corner of the grid
    double inverse_voxel_size_;
    std::array<std::int64_t, 3> block_counts_;  // along each axis
    std::vector<std::int32_t> block_at_;        // number of the block at each position, or -1
    std::vector<std::array<std::int32_t, block_voxels>> blocks_;
};

inline double squared_distance(const std::array<double, 3>& x, const double* y) {
    const double dx = x[0] - y[0], dy = x[1] - y[1], dz = x[2] - y[2];
    return dx * dx + dy * dy + dz * dz;
}

inline std::int32_t SurfelGrid::lookup(const std::array<double, 3>& query) const {
    std::int64_t voxel[3];
    for (int axis = 0; axis < 3; ++axis) {
        const double position = (query[axis] - low_[axis]) * inverse_voxel_size_;
        if (!(position >= 0) || !(position < static_cast<double>(block_counts_[axis] * block_width))) return -1;
        voxel[axis] = static_cast<std::int64_t>(position);
    }
    const std::int32_t block = block_at_[static_cast<std::size_t>(
        ((voxel[2] >> block_bits) * block_counts_[1] + (voxel[1] >> block_bits)) * block_counts_[0] +
        (voxel[0] >> block_bits))];
    if (block < 0) return -1;
    return blocks_[static_cast<std::size_t>(block)][static_cast<std::size_t>(
        (((voxel[2] & 7) << block_bits | (voxel[1] & 7)) << block_bits) | (voxel[0] & 7))];
}

inline std::int32_t SurfelGrid::nearest(const std::array<double, 3>& query) const {
    std::int32_t best = lookup(query);
    if (best < 0) return best;
    double least = squared_distance(query, point(best));
    const std::int32_t* around = neighbours_.data() + static_cast<std::size_t>(best) * k_;
    for (std::size_t n = 0; n < k_; ++n) {
        const double distance = squared_distance(query, point(around[n]));
        if (distance < least) least = distance, best = around[n];
    }
    return best;
}

}  // namespace graphreg
