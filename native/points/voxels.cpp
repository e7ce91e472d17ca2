#include "points/voxels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "common/parallel.hpp"

namespace graphreg {

namespace {

constexpr std::size_t grain = 1 << 16;

struct Entry {
    std::uint64_t key;
    std::int32_t index;
};

// Spreads the lowest 21 bits so that two zeros follow each.
std::uint64_t spread(std::uint64_t bits) {
    bits = (bits | bits << 32) & 0x001f00000000ffffULL;
    bits = (bits | bits << 16) & 0x001f0000ff0000ffULL;
    bits = (bits | bits << 8) & 0x100f00f00f00f00fULL;
    bits = (bits | bits << 4) & 0x10c30c30c30c30c3ULL;
    return (bits | bits << 2) & 0x1249249249249249ULL;
}

// Stable radix sort. Every range counts its digits, then writes to offsets that follow from the counts of all ranges,
// so that the order does not depend on the number of threads.
void sort_by_key(std::vector<Entry>& entries, int threads) {
    constexpr int digit_bits = 8;
    constexpr std::size_t digits = 1 << digit_bits;
    const std::size_t count = entries.size();
    const std::size_t ranges = (count + grain - 1) / grain;
    std::uint64_t used = 0;
    for (const Entry& entry : entries) used |= entry.key;
    std::vector<Entry> sorted(count);
    std::vector<std::array<std::size_t, digits>> offsets(ranges);
    const int bits = static_cast<int>(std::bit_width(used));
    for (int low = 0; low < bits; low += digit_bits) {
        auto digit = [low](const Entry& entry) { return (entry.key >> low) & (digits - 1); };
        parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
            auto& counts = offsets[begin / grain];
            counts.fill(0);
            for (std::size_t i = begin; i < end; ++i) ++counts[digit(entries[i])];
        });
        std::size_t offset = 0;
        for (std::size_t d = 0; d < digits; ++d)
            for (auto& counts : offsets) offset += std::exchange(counts[d], offset);
        parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
            auto& next = offsets[begin / grain];
            for (std::size_t i = begin; i < end; ++i) sorted[next[digit(entries[i])]++] = entries[i];
        });
        entries.swap(sorted);
    }
}

// The number of a coordinate's voxel from that of the lowest one. Where the division overflows there are no such
// numbers, and every coordinate gets one that is valid.
std::uint64_t voxel_number(double coordinate, double size, double low) {
    constexpr double most = (std::uint64_t{1} << voxel_bits) - 1;
    const double number = std::floor(coordinate / size) - low;
    return number > 0 ? static_cast<std::uint64_t>(std::min(number, most)) : 0;
}

// The points by voxel, along a Z-order curve: voxels twice as large are consecutive runs of it.
std::vector<Entry> sorted_by_voxel(const double* points, std::size_t count, double size, int threads) {
    std::array<double, 3> low;
    low.fill(std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < count; ++i)
        for (int axis = 0; axis < 3; ++axis) low[axis] = std::min(low[axis], points[3 * i + axis]);
    for (double& corner : low) corner = std::floor(corner / size);

    std::vector<Entry> entries(count);
    parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            std::uint64_t key = 0;
            for (int axis = 0; axis < 3; ++axis)
                key |= spread(voxel_number(points[3 * i + axis], size, low[axis])) << axis;
            entries[i] = {key, static_cast<std::int32_t>(i)};
        }
    });
    sort_by_key(entries, threads);
    return entries;
}

}  // namespace

Voxels group_by_voxel(const double* points, std::size_t count, double size, int threads, std::int32_t* order) {
    const std::vector<Entry> entries = sorted_by_voxel(points, count, size, threads);
    Voxels voxels;
    for (std::size_t i = 0; i < count; ++i) {
        order[i] = entries[i].index;
        if (i > 0 && entries[i].key == entries[i - 1].key) continue;
        voxels.starts.push_back(static_cast<std::int64_t>(i));
        voxels.keys.push_back(entries[i].key);
    }
    voxels.starts.push_back(static_cast<std::int64_t>(count));
    return voxels;
}

void occupied_voxels(const double* points, std::size_t count, double size, int levels, std::int64_t* occupied,
                     std::int64_t* shared) {
    const std::vector<Entry> entries = sorted_by_voxel(points, count, size, 1);
    std::fill_n(occupied, levels, 0);
    std::fill_n(shared, levels, 0);
    std::vector<std::size_t> began(static_cast<std::size_t>(levels));  // where the current voxel of each level began
    for (std::size_t i = 1; i <= count; ++i) {
        // The voxels that end here: those of the levels at which the keys differ.
        const int ended =
            i == count ? levels : (static_cast<int>(std::bit_width(entries[i].key ^ entries[i - 1].key)) + 2) / 3;
        for (int level = 0; level < std::min(levels, ended); ++level) {
            std::size_t& first = began[static_cast<std::size_t>(level)];
            ++occupied[level];
            shared[level] += i - first > 1;
            first = i;
        }
    }
}

void voxel_means(const double* values, std::size_t width, const std::int32_t* order, const std::int64_t* starts,
                 std::size_t voxels, int threads, double* result) {
    parallel_for(voxels, 4096, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t voxel = begin; voxel < end; ++voxel) {
            // Relative to the first point, so that coordinates far from the origin lose no precision.
            const double* first = values + static_cast<std::size_t>(order[starts[voxel]]) * width;
            double* out = result + voxel * width;
            std::fill_n(out, width, 0.0);
            for (std::int64_t m = starts[voxel] + 1; m < starts[voxel + 1]; ++m) {
                const double* member = values + static_cast<std::size_t>(order[m]) * width;
                for (std::size_t f = 0; f < width; ++f) out[f] += member[f] - first[f];
            }
            const auto members = static_cast<double>(starts[voxel + 1] - starts[voxel]);
            for (std::size_t f = 0; f < width; ++f) out[f] = first[f] + out[f] / members;
        }
    });
}

void voxel_moments(const double* points, const double* weights, const double* point_moments, const std::int32_t* order,
                   const std::int64_t* starts, std::size_t voxels, int threads, double* sums, double* means,
                   double* moments) {
    parallel_for(voxels, 1024, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t voxel = begin; voxel < end; ++voxel) {
            const double* first = points + 3 * static_cast<std::size_t>(order[starts[voxel]]);
            double total = 0, x = 0, y = 0, z = 0, xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;
            for (std::int64_t m = starts[voxel]; m < starts[voxel + 1]; ++m) {
                const auto member = static_cast<std::size_t>(order[m]);
                const double w = weights ? weights[member] : 1.0;
                const double* point = points + 3 * member;
                const double dx = point[0] - first[0], dy = point[1] - first[1], dz = point[2] - first[2];
                total += w;
                x += w * dx, y += w * dy, z += w * dz;
                xx += w * dx * dx, yy += w * dy * dy, zz += w * dz * dz;
                xy += w * dx * dy, xz += w * dx * dz, yz += w * dy * dz;
            }
            const double mx = x / total, my = y / total, mz = z / total;
            sums[voxel] = total;
            double* mean = means + 3 * voxel;
            mean[0] = first[0] + mx, mean[1] = first[1] + my, mean[2] = first[2] + mz;
            double* moment = moments + 6 * voxel;
            moment[0] = xx - x * mx, moment[1] = yy - y * my, moment[2] = zz - z * mz;
            moment[3] = xy - x * my, moment[4] = xz - x * mz, moment[5] = yz - y * mz;
            if (!point_moments) continue;
            for (std::int64_t m = starts[voxel]; m < starts[voxel + 1]; ++m)
                for (std::size_t entry = 0; entry < 6; ++entry)
                    moment[entry] += point_moments[6 * static_cast<std::size_t>(order[m]) + entry];
        }
    });
}

}  // namespace graphreg
