#include "odometry/surfel_map.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/parallel.hpp"
#include "odometry/symmetric_matrix.hpp"
#include "odometry/voxel_keys.hpp"

namespace graphreg {

namespace {

// A surfel needs this many points (chosen), an extent of this share of its voxel (chosen; a uniform plane has 0.29),
// and an extent of this multiple of its thickness (chosen): a scan line is no plane.
constexpr double least_points = 10, least_extent = 0.1, least_flatness = 3;
// A surfel of so many points (chosen) is settled: smaller voxels inside get no more points.
constexpr double settled_points = 500;
// It is estimated again when the number of points has grown by this factor (chosen).
constexpr double refit_growth = 1.2;

bool key_of(const std::array<double, 3>& point, double size, std::uint64_t& key, std::array<std::int64_t, 3>& voxel) {
    key = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double position = std::floor(point[axis] / size);
        if (!(std::abs(position) < static_cast<double>(most_voxels - 1))) return false;
        voxel[axis] = static_cast<std::int64_t>(position);
        key = key << axis_bits | static_cast<std::uint64_t>(voxel[axis] + most_voxels);
    }
    return true;
}

// The number of the child that contains an offset from the centre of the parent; the offset is then from the child's.
std::size_t descend(std::array<double, 3>& offset, double child_size) {
    std::size_t number = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const bool upper = offset[axis] >= 0;
        number |= static_cast<std::size_t>(upper) << axis;
        offset[axis] += upper ? -child_size / 2 : child_size / 2;
    }
    return number;
}

}  // namespace

SurfelMap::SurfelMap(double voxel, int levels, double max_thickness)
    : voxel_(voxel),
      root_size_(voxel * static_cast<double>(1 << (levels - 1))),
      levels_(levels),
      max_variance_(max_thickness * max_thickness),
      keys_(1 << 10, no_voxel_key),
      roots_(1 << 10, -1) {}

std::int32_t SurfelMap::new_node(const std::array<double, 3>& origin) {
    std::int32_t number;
    if (unused_.empty()) {
        number = static_cast<std::int32_t>(nodes_.size());
        nodes_.emplace_back();
    } else {
        number = unused_.back();
        unused_.pop_back();
        nodes_[static_cast<std::size_t>(number)] = Node{};
    }
    nodes_[static_cast<std::size_t>(number)].origin = origin;
    return number;
}

void SurfelMap::release(std::int32_t node) {
    for (const std::int32_t child : nodes_[static_cast<std::size_t>(node)].child)
        if (child >= 0) release(child);
    unused_.push_back(node);
}

std::int32_t SurfelMap::root_of(std::uint64_t key) const {
    for (std::size_t slot = slot_of(key, keys_.size());; slot = (slot + 1) & (keys_.size() - 1)) {
        if (keys_[slot] == key) return roots_[slot];
        if (keys_[slot] == no_voxel_key) return -1;
    }
}

void SurfelMap::set_root(std::uint64_t key, std::int32_t node) {
    std::size_t slot = slot_of(key, keys_.size());
    while (keys_[slot] != no_voxel_key) slot = (slot + 1) & (keys_.size() - 1);
    keys_[slot] = key, roots_[slot] = node;
    ++root_count_;
}

void SurfelMap::grow() {
    const auto keys = std::exchange(keys_, std::vector<std::uint64_t>(2 * keys_.size(), no_voxel_key));
    const auto roots = std::exchange(roots_, std::vector<std::int32_t>(keys_.size(), -1));
    root_count_ = 0;
    for (std::size_t slot = 0; slot < keys.size(); ++slot)
        if (keys[slot] != no_voxel_key) set_root(keys[slot], roots[slot]);
}

void SurfelMap::insert(const FrameVoxels& frame, const RigidTransform& T_map_frame, int threads) {
    std::vector<std::pair<std::int32_t, double>> changed;  // nodes whose surfel is to be estimated, and their size
    for (std::size_t i = 0; i < frame.count; ++i) {
        const auto mean = T_map_frame.transformed(frame.means + 3 * i);
        std::uint64_t key;
        std::array<std::int64_t, 3> voxel;
        if (!key_of(mean, root_size_, key, voxel)) continue;
        std::array<double, 3> origin, offset;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            origin[axis] = (static_cast<double>(voxel[axis]) + 0.5) * root_size_;
            offset[axis] = mean[axis] - origin[axis];
        }
        std::int32_t at = root_of(key);
        if (at < 0) {
            if (2 * (root_count_ + 1) > keys_.size()) grow();
            at = new_node(origin);
            set_root(key, at);
        }
        const double count = frame.counts[i];
        const auto moments = rotated(frame.moments + 6 * i, T_map_frame.r);
        const std::array<double, 6> products = {
            moments[0] + count * offset[0] * offset[0], moments[1] + count * offset[1] * offset[1],
            moments[2] + count * offset[2] * offset[2], moments[3] + count * offset[0] * offset[1],
            moments[4] + count * offset[0] * offset[2], moments[5] + count * offset[1] * offset[2]};
        auto within = offset;
        double size = root_size_;
        bool covered = false;  // by a surfel of a larger voxel, so that smaller ones are not looked up
        for (int level = 0;; ++level) {
            Node& node = nodes_[static_cast<std::size_t>(at)];
            node.count += count;
            for (std::size_t axis = 0; axis < 3; ++axis) node.sum[axis] += count * offset[axis];
            for (std::size_t entry = 0; entry < 6; ++entry) node.products[entry] += products[entry];
            if (!covered && !node.waiting && node.count >= least_points && node.count >= refit_growth * node.fitted) {
                node.waiting = true;
                changed.emplace_back(at, size);
            }
            covered = covered || node.planar;
            if (level + 1 == levels_ || (node.planar && node.count >= settled_points)) break;
            size /= 2;
            const std::size_t number = descend(within, size);
            std::int32_t next = node.child[number];
            if (next < 0) {
                next = new_node(origin);
                nodes_[static_cast<std::size_t>(at)].child[number] = next;
            }
            at = next;
        }
    }
    parallel_for(changed.size(), 512, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t c = begin; c < end; ++c)
            fit(nodes_[static_cast<std::size_t>(changed[c].first)], changed[c].second);
    });
}

void SurfelMap::fit(Node& node, double size) const {
    node.waiting = false;
    node.fitted = node.count;
    const auto& s = node.sum;
    const std::array<double, 3> mean = {s[0] / node.count, s[1] / node.count, s[2] / node.count};
    std::array<double, 6> covariance = {node.products[0] - s[0] * mean[0], node.products[1] - s[1] * mean[1],
                                        node.products[2] - s[2] * mean[2], node.products[3] - s[0] * mean[1],
                                        node.products[4] - s[0] * mean[2], node.products[5] - s[1] * mean[2]};
    for (double& entry : covariance) entry /= node.count;
    const auto [values, normal] = smallest_eigenvector(covariance);
    const double thickness = std::max(values[0], 0.0);
    node.planar = thickness <= max_variance_ && values[1] >= least_extent * least_extent * size * size &&
                  values[1] >= least_flatness * least_flatness * thickness;
    node.surfel = {{node.origin[0] + mean[0], node.origin[1] + mean[1], node.origin[2] + mean[2]},
                   normal,
                   thickness,
                   values[1],
                   node.count};
}

void SurfelMap::forget(const double* centre, double radius) {
    const auto keys = std::exchange(keys_, std::vector<std::uint64_t>(keys_.size(), no_voxel_key));
    const auto roots = std::exchange(roots_, std::vector<std::int32_t>(keys_.size(), -1));
    root_count_ = 0;
    for (std::size_t slot = 0; slot < keys.size(); ++slot) {
        if (keys[slot] == no_voxel_key) continue;
        const auto& origin = nodes_[static_cast<std::size_t>(roots[slot])].origin;
        double squared = 0;
        for (std::size_t axis = 0; axis < 3; ++axis)
            squared += (origin[axis] - centre[axis]) * (origin[axis] - centre[axis]);
        if (squared > radius * radius)
            release(roots[slot]);
        else
            set_root(keys[slot], roots[slot]);
    }
}

const Surfel* SurfelMap::find(const std::array<double, 3>& point, bool& occupied) const {
    occupied = false;
    std::uint64_t key;
    std::array<std::int64_t, 3> voxel;
    if (!key_of(point, root_size_, key, voxel)) return nullptr;
    std::int32_t at = root_of(key);
    if (at < 0) return nullptr;
    std::array<double, 3> within;
    for (std::size_t axis = 0; axis < 3; ++axis)
        within[axis] = point[axis] - (static_cast<double>(voxel[axis]) + 0.5) * root_size_;
    double size = root_size_;
    for (int level = 0;; ++level) {
        const Node& node = nodes_[static_cast<std::size_t>(at)];
        if (node.planar || level + 1 == levels_) {
            occupied = true;
            return node.planar ? &node.surfel : nullptr;
        }
        size /= 2;
        at = node.child[descend(within, size)];
        if (at < 0) return nullptr;
    }
}

}  // namespace graphreg
