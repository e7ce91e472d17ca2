// Voxels: points gathered by the cell of a cubic grid they lie in, and averages over each cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

constexpr int voxel_bits = 21;  // three axes in one 64-bit key

// Gathers points (count, 3) by cell of the grid with the given size and a corner at the origin. order (count): the points,
// one cell after another along a Z-curve, within a cell as they came. Returns where each cell starts in it, and the end.
// The points must span fewer than 2^21 cells along each axis.
std::vector<std::int64_t> voxel_cells(const double* points, std::size_t count, double size, int threads,
                                      std::int32_t* order);

// The mean over each cell of `width` numbers a point: result (cells, width).
void voxel_means(const double* values, std::size_t width, const std::int32_t* order, const std::int64_t* starts,
                 std::size_t cells, int threads, double* result);

}  // namespace graphreg
