#include "voxels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "parallel.hpp"

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

// Stable radix sort. Every piece counts its digits, then writes to places that the counts of all pieces fix, so that the
// order does not depend on the threads.
void sort_by_key(std::vector<Entry>& entries, int threads) {
    constexpr int digit_bits = 8;
    constexpr std::size_t digits = 1 << digit_bits;
    const std::size_t count = entries.size();
    const std::size_t pieces = (count + grain - 1) / grain;
    std::uint64_t used = 0;
    for (const Entry& entry : entries) used |= entry.key;
    std::vector<Entry> sorted(count);
    std::vector<std::array<std::size_t, digits>> places(pieces);
    const int bits = static_cast<int>(std::bit_width(used));
    for (int low = 0; low < bits; low += digit_bits) {
        auto digit = [low](const Entry& entry) { return (entry.key >> low) & (digits - 1); };
        parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
            auto& counts = places[begin / grain];
            counts.fill(0);
            for (std::size_t i = begin; i < end; ++i) ++counts[digit(entries[i])];
        });
        std::size_t place = 0;
        for (std::size_t d = 0; d < digits; ++d)
            for (auto& counts : places) place += std::exchange(counts[d], place);
        parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
            auto& next = places[begin / grain];
            for (std::size_t i = begin; i < end; ++i) sorted[next[digit(entries[i])]++] = entries[i];
        });
        entries.swap(sorted);
    }
}

// The points by cell, along a Z-curve: cells of twice the size hold whole runs of it.
std::vector<Entry> sorted_by_cell(const double* points, std::size_t count, double size, int threads) {
    std::array<double, 3> low;
    low.fill(std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < count; ++i)
        for (int a = 0; a < 3; ++a) low[a] = std::min(low[a], points[3 * i + a]);
    for (double& corner : low) corner = std::floor(corner / size);

    std::vector<Entry> entries(count);
    parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            std::uint64_t key = 0;
            for (int a = 0; a < 3; ++a)
                key |= spread(static_cast<std::uint64_t>(std::floor(points[3 * i + a] / size) - low[a])) << a;
            entries[i] = {key, static_cast<std::int32_t>(i)};
        }
    });
    sort_by_key(entries, threads);
    return entries;
}

}  // namespace

Cells group_by_voxel(const double* points, std::size_t count, double size, int threads, std::int32_t* order) {
    const std::vector<Entry> entries = sorted_by_cell(points, count, size, threads);
    Cells cells;
    for (std::size_t i = 0; i < count; ++i) {
        order[i] = entries[i].index;
        if (i > 0 && entries[i].key == entries[i - 1].key) continue;
        cells.starts.push_back(static_cast<std::int64_t>(i));
        cells.keys.push_back(entries[i].key);
    }
    cells.starts.push_back(static_cast<std::int64_t>(count));
    return cells;
}

void voxel_means(const double* values, std::size_t width, const std::int32_t* order, const std::int64_t* starts,
                 std::size_t cells, int threads, double* result) {
    parallel_for(cells, 4096, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t cell = begin; cell < end; ++cell) {
            // Relative to the first member, so that coordinates far from the origin lose nothing.
            const double* first = values + static_cast<std::size_t>(order[starts[cell]]) * width;
            double* out = result + cell * width;
            std::fill_n(out, width, 0.0);
            for (std::int64_t m = starts[cell] + 1; m < starts[cell + 1]; ++m) {
                const double* member = values + static_cast<std::size_t>(order[m]) * width;
                for (std::size_t f = 0; f < width; ++f) out[f] += member[f] - first[f];
            }
            const auto members = static_cast<double>(starts[cell + 1] - starts[cell]);
            for (std::size_t f = 0; f < width; ++f) out[f] = first[f] + out[f] / members;
        }
    });
}

std::size_t unique_points(const double* points, std::size_t count, std::int32_t* first) {
    const std::size_t slots = std::bit_ceil(2 * count + 1);
    std::vector<std::int32_t> table(slots, -1);
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t hash = 0;
        for (int a = 0; a < 3; ++a) {
            // Adding zero makes -0 the same as 0.
            hash = (hash ^ std::bit_cast<std::uint64_t>(points[3 * i + a] + 0.0)) * 0x9e3779b97f4a7c15ULL;
            hash ^= hash >> 29;
        }
        std::size_t slot = hash & (slots - 1);
        auto same = [&](std::int32_t other) {
            const double* p = points + 3 * i;
            const double* q = points + 3 * static_cast<std::size_t>(other);
            return p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
        };
        while (table[slot] >= 0 && !same(table[slot])) slot = (slot + 1) & (slots - 1);
        if (table[slot] < 0) {
            table[slot] = static_cast<std::int32_t>(i);
            first[found++] = static_cast<std::int32_t>(i);
        }
    }
    return found;
}

namespace {

// As is usual, of an even number of values the mean of the two in the middle.
double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return values.size() % 2 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

std::size_t remove_duplicates_and_outliers(double* points, std::size_t count, double far_off, std::size_t sample,
                              std::int32_t* first) {
    count = unique_points(points, count, first);
    for (std::size_t i = 0; i < count; ++i)
        std::copy_n(points + 3 * static_cast<std::size_t>(first[i]), 3, points + 3 * i);
    const std::size_t step = (count + sample - 1) / sample;
    std::vector<double> values;
    auto median_of = [&](auto&& value) {
        values.clear();
        for (std::size_t i = 0; i < count; i += step) values.push_back(value(points + 3 * i));
        return median(values);
    };
    double middle[3];
    for (int a = 0; a < 3; ++a) middle[a] = median_of([a](const double* point) { return point[a]; });
    auto squared = [&](const double* point) {
        const double x = point[0] - middle[0], y = point[1] - middle[1], z = point[2] - middle[2];
        return x * x + y * y + z * z;
    };
    const double farthest = far_off * far_off * std::max(median_of(squared), std::numeric_limits<double>::min());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (!(squared(points + 3 * i) <= farthest)) continue;
        std::copy_n(points + 3 * i, 3, points + 3 * kept);
        first[kept++] = first[i];
    }
    return kept;
}

void occupied_voxels(const double* points, std::size_t count, double size, int levels, std::int64_t* occupied,
                    std::int64_t* shared) {
    const std::vector<Entry> entries = sorted_by_cell(points, count, size, 1);
    std::fill_n(occupied, levels, 0);
    std::fill_n(shared, levels, 0);
    std::vector<std::size_t> began(static_cast<std::size_t>(levels));  // where the cell of each level began
    for (std::size_t i = 1; i <= count; ++i) {
        const int ended = i == count ? levels
                                     : (static_cast<int>(std::bit_width(entries[i].key ^ entries[i - 1].key)) + 2) / 3;
        for (int level = 0; level < std::min(levels, ended); ++level) {
            std::size_t& first = began[static_cast<std::size_t>(level)];
            ++occupied[level];
            shared[level] += i - first > 1;
            first = i;
        }
    }
}

void voxel_moments(const double* points, const double* weights, const double* own, const std::int32_t* order,
                  const std::int64_t* starts, std::size_t cells, int threads, double* sums, double* means,
                  double* moments) {
    parallel_for(cells, 1024, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t cell = begin; cell < end; ++cell) {
            const double* first = points + 3 * static_cast<std::size_t>(order[starts[cell]]);
            double total = 0, x = 0, y = 0, z = 0, xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;
            for (std::int64_t m = starts[cell]; m < starts[cell + 1]; ++m) {
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
            sums[cell] = total;
            double* mean = means + 3 * cell;
            mean[0] = first[0] + mx, mean[1] = first[1] + my, mean[2] = first[2] + mz;
            double* moment = moments + 6 * cell;
            moment[0] = xx - x * mx, moment[1] = yy - y * my, moment[2] = zz - z * mz;
            moment[3] = xy - x * my, moment[4] = xz - x * mz, moment[5] = yz - y * mz;
            if (!own) continue;
            for (std::int64_t m = starts[cell]; m < starts[cell + 1]; ++m)
                for (std::size_t entry = 0; entry < 6; ++entry)
                    moment[entry] += own[6 * static_cast<std::size_t>(order[m]) + entry];
        }
    });
}

}  // namespace graphreg
