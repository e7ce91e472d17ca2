// Voxels: points gathered by the cell of a cubic grid they lie in, and averages over each cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

constexpr int voxel_bits = 21;  // three axes in one 64-bit key

struct Cells {
    std::vector<std::int64_t> starts;  // where each cell starts among the points, and the end
    std::vector<std::uint64_t> keys;   // its place on the curve: cells of twice the size have keys of three bits less
};

// Gathers points (count, 3) by cell of the grid with the given size and a corner at the origin. order (count): the points,
// one cell after another along a Z-curve, within a cell as they came. The points must span fewer than 2^21 cells along
// each axis.
Cells group_by_voxel(const double* points, std::size_t count, double size, int threads, std::int32_t* order);

// The mean over each cell of `width` numbers a point: result (cells, width).
void voxel_means(const double* values, std::size_t width, const std::int32_t* order, const std::int64_t* starts,
                 std::size_t cells, int threads, double* result);

// The points (count, 3) without those that repeat an earlier one: how many, and their indices in `first`, ascending.
std::size_t unique_points(const double* points, std::size_t count, std::int32_t* first);

// The points (count, 3), in place, each once and without those that lie more than `far_off` times as far from the middle as
// half of the points do, by a sample of about so many. Returns how many are left; first: which ones they were.
std::size_t remove_duplicates_and_outliers(double* points, std::size_t count, double far_off, std::size_t sample,
                              std::int32_t* first);

// How many cells hold any point, and how many more than one, at the given size, at twice that, at four times, ...:
// occupied, shared (levels).
void occupied_voxels(const double* points, std::size_t count, double size, int levels, std::int64_t* occupied,
                    std::int64_t* shared);

// What each cell holds: the sum of its points' weights (cells), their weighted mean (cells, 3) and their weighted second
// moments about it, xx yy zz xy xz yz (cells, 6). weights: one a point, positive, or null where all are 1. own: where
// the points are means themselves, the moments about each (count, 6); or null.
void voxel_moments(const double* points, const double* weights, const double* own, const std::int32_t* order,
                  const std::int64_t* starts, std::size_t cells, int threads, double* sums, double* means,
                  double* moments);

}  // namespace graphreg
