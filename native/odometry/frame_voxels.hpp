// Voxels of one frame of LiDAR odometry: number, mean and second moments of the points in each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

// Voxels of one frame, not owned: number of points, mean and second moments (xx yy zz xy xz yz) about it.
struct FrameVoxels {
    const double *counts, *means, *moments;  // (count), (count, 3), (count, 6)
    std::size_t count;
};

// The points of a frame, grouped by voxel in one pass through a hash table: consecutive points of a scanner are mostly
// in one voxel. The voxels are in the order in which the points reach them, so that the sums are the same for any
// number of threads. Voxels farther than 2^20 voxels from that of the first point along an axis count as the last one.
class VoxelAccumulator {
public:
    explicit VoxelAccumulator(double size);

    // times: when each point was measured, or null.
    void add(const double* points, const double* times, std::size_t count);

    std::size_t voxel_count() const { return cells_.size(); }

    // Arrays for all voxels: (V), (V, 3), (V, 6), and the mean times (V), 0 where they are unknown.
    void write(double* counts, double* means, double* moments, double* times) const;

private:
    // Sums of the offsets from the first point, so that coordinates far from the origin lose no precision.
    struct Cell {
        std::array<double, 3> first, sum = {};
        std::array<double, 6> products = {};
        double count = 0, time = 0;
    };

    std::int32_t cell_of(std::uint64_t key, const double* point);
    void grow();

    double inverse_size_;
    std::array<double, 3> origin_ = {};  // number of the first point's voxel
    bool empty_ = true;
    std::vector<Cell> cells_;
    std::vector<std::uint64_t> keys_;  // open addressing; `no_key` where free
    std::vector<std::int32_t> slots_;
};

}  // namespace graphreg
