// Voxel grids: points grouped by voxel, and sums over each voxel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

constexpr int voxel_bits = 21;  // three axes in one 64-bit Morton key

struct Voxels {
    std::vector<std::int64_t> starts;  // where each voxel begins in the order of the points, and the end
    std::vector<std::uint64_t>
        keys;  // Morton keys; without its last three bits, a key is that of the voxel twice as large
};

// Groups points (count, 3) by voxel of the grid of voxels of this size with a corner at the origin. order (count):
// the points, voxel by voxel along a Z-order curve; within a voxel the order is kept. The points must span fewer than
// 2^21 voxels along each axis.
Voxels group_by_voxel(const double* points, std::size_t count, double size, int threads, std::int32_t* order);

// The mean over each voxel of `width` numbers a point: result (voxels, width).
void voxel_means(const double* values, std::size_t width, const std::int32_t* order, const std::int64_t* starts,
                 std::size_t voxels, int threads, double* result);

// Of each voxel, the sum of its points' weights (voxels), their weighted mean (voxels, 3) and their weighted second
// moments about it, xx yy zz xy xz yz (voxels, 6). weights: one a point, positive, or null where all are 1.
// point_moments: where the points are means themselves, the moments about each (count, 6); or null.
void voxel_moments(const double* points, const double* weights, const double* point_moments, const std::int32_t* order,
                   const std::int64_t* starts, std::size_t voxels, int threads, double* sums, double* means,
                   double* moments);

// The number of voxels with any point, and with more than one, at this voxel size, at twice that, at four times,
// ...: occupied, shared (levels).
void occupied_voxels(const double* points, std::size_t count, double size, int levels, std::int64_t* occupied,
                     std::int64_t* shared);

}  // namespace graphreg
