#include "odometry/frame_voxels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "odometry/voxel_keys.hpp"

namespace graphreg {

VoxelAccumulator::VoxelAccumulator(double size)
    : inverse_size_(1 / size), keys_(1 << 14, no_voxel_key), slots_(1 << 14) {}

void VoxelAccumulator::grow() {
    const auto keys = std::exchange(keys_, std::vector<std::uint64_t>(2 * keys_.size(), no_voxel_key));
    const auto slots = std::exchange(slots_, std::vector<std::int32_t>(keys_.size()));
    for (std::size_t old = 0; old < keys.size(); ++old) {
        if (keys[old] == no_voxel_key) continue;
        std::size_t slot = slot_of(keys[old], keys_.size());
        while (keys_[slot] != no_voxel_key) slot = (slot + 1) & (keys_.size() - 1);
        keys_[slot] = keys[old], slots_[slot] = slots[old];
    }
}

std::int32_t VoxelAccumulator::cell_of(std::uint64_t key, const double* point) {
    std::size_t slot = slot_of(key, keys_.size());
    for (; keys_[slot] != key; slot = (slot + 1) & (keys_.size() - 1)) {
        if (keys_[slot] != no_voxel_key) continue;
        keys_[slot] = key;
        slots_[slot] = static_cast<std::int32_t>(cells_.size());
        cells_.push_back({{point[0], point[1], point[2]}});
        if (2 * cells_.size() > keys_.size()) grow();
        return static_cast<std::int32_t>(cells_.size()) - 1;
    }
    return slots_[slot];
}

void VoxelAccumulator::add(const double* points, const double* times, std::size_t count) {
    constexpr double most = static_cast<double>(most_voxels - 2);
    if (count > 0 && std::exchange(empty_, false))
        for (std::size_t axis = 0; axis < 3; ++axis) origin_[axis] = std::floor(points[axis] * inverse_size_);
    std::uint64_t last = no_voxel_key;
    std::int32_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double* point = points + 3 * i;
        std::uint64_t key = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const double number = std::floor(point[axis] * inverse_size_) - origin_[axis];
            key = key << axis_bits |
                  static_cast<std::uint64_t>(static_cast<std::int64_t>(std::clamp(number, -most, most)) + most_voxels);
        }
        if (key != last) at = cell_of(key, point), last = key;
        Cell& cell = cells_[static_cast<std::size_t>(at)];
        const double x = point[0] - cell.first[0], y = point[1] - cell.first[1], z = point[2] - cell.first[2];
        cell.count += 1;
        if (times) cell.time += times[i];
        cell.sum[0] += x, cell.sum[1] += y, cell.sum[2] += z;
        cell.products[0] += x * x, cell.products[1] += y * y, cell.products[2] += z * z;
        cell.products[3] += x * y, cell.products[4] += x * z, cell.products[5] += y * z;
    }
}

void VoxelAccumulator::write(double* counts, double* means, double* moments, double* times) const {
    for (std::size_t voxel = 0; voxel < cells_.size(); ++voxel) {
        const Cell& cell = cells_[voxel];
        const std::array<double, 3>& s = cell.sum;
        const std::array<double, 3> m = {s[0] / cell.count, s[1] / cell.count, s[2] / cell.count};
        counts[voxel] = cell.count;
        times[voxel] = cell.time / cell.count;
        for (std::size_t axis = 0; axis < 3; ++axis) means[3 * voxel + axis] = cell.first[axis] + m[axis];
        double* moment = moments + 6 * voxel;
        const auto& p = cell.products;
        moment[0] = p[0] - s[0] * m[0], moment[1] = p[1] - s[1] * m[1], moment[2] = p[2] - s[2] * m[2];
        moment[3] = p[3] - s[0] * m[1], moment[4] = p[4] - s[0] * m[2], moment[5] = p[5] - s[1] * m[2];
    }
}

}  // namespace graphreg
