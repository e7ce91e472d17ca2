#include "engine/descriptors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/dispatch.hpp"
#include "common/parallel.hpp"

namespace graphreg {

namespace {

constexpr int shells = 3, signals = 4, bins = 8;
constexpr double shell_radii[shells] = {0.45, 0.72, 1.0};  // outer ones, in units of the radius
static_assert(shells * signals * bins == descriptor_size);

// Points in voxels as large as the radius: all neighbours of a voxel's points are in it and the 26 around it.
struct RadiusGrid {
    std::vector<std::uint64_t> keys;  // of the occupied voxels, ascending
    std::vector<std::size_t> starts;  // where each begins in members, and the end
    std::vector<std::int32_t> members;

    RadiusGrid(const double* points, std::size_t count, double size) {
        std::array<double, 3> low;
        low.fill(std::numeric_limits<double>::infinity());
        for (std::size_t i = 0; i < count; ++i)
            for (int axis = 0; axis < 3; ++axis) low[axis] = std::min(low[axis], points[3 * i + axis]);
        std::vector<std::pair<std::uint64_t, std::int32_t>> entries(count);
        for (std::size_t i = 0; i < count; ++i)
            entries[i] = {key_of(points + 3 * i, low, size), static_cast<std::int32_t>(i)};
        std::sort(entries.begin(), entries.end());
        members.reserve(count);
        for (const auto& [key, index] : entries) {
            if (keys.empty() || keys.back() != key) {
                keys.push_back(key);
                starts.push_back(members.size());
            }
            members.push_back(index);
        }
        starts.push_back(members.size());
    }

    template <class Visit>
    void for_each_around(std::size_t voxel, Visit&& visit) const {
        for (int z = -1; z <= 1; ++z)
            for (int y = -1; y <= 1; ++y) {
                // Three voxels along x have consecutive keys.
                const std::uint64_t row = keys[voxel] + (static_cast<std::uint64_t>(z) << (2 * bits)) +
                                          (static_cast<std::uint64_t>(y) << bits);
                auto v = static_cast<std::size_t>(std::lower_bound(keys.begin(), keys.end(), row - 1) - keys.begin());
                for (; v < keys.size() && keys[v] <= row + 1; ++v)
                    for (std::size_t m = starts[v]; m < starts[v + 1]; ++m) visit(members[m]);
            }
    }

private:
    static constexpr int bits = 21;

    static std::uint64_t key_of(const double* point, const std::array<double, 3>& low, double size) {
        constexpr auto last = static_cast<double>((1 << bits) - 4);
        std::uint64_t voxel[3];
        // Voxels are counted from 1, so that each has one before it.
        for (int axis = 0; axis < 3; ++axis)
            voxel[axis] = static_cast<std::uint64_t>(std::min((point[axis] - low[axis]) / size, last)) + 1;
        return (voxel[2] << bits | voxel[1]) << bits | voxel[0];
    }
};

// Points that may be neighbours, one array for each coordinate.
struct Candidates {
    std::vector<float> x, y, z, nx, ny, nz;
    std::vector<std::int32_t> hits;  // scratch: the neighbours among them

    std::size_t size() const { return x.size(); }

    void clear() {
        for (auto* numbers : {&x, &y, &z, &nx, &ny, &nz}) numbers->clear();
    }

    void add(const double* point, const double* normal, const double* origin) {
        x.push_back(static_cast<float>(point[0] - origin[0]));
        y.push_back(static_cast<float>(point[1] - origin[1]));
        z.push_back(static_cast<float>(point[2] - origin[2]));
        nx.push_back(static_cast<float>(normal[0]));
        ny.push_back(static_cast<float>(normal[1]));
        nz.push_back(static_cast<float>(normal[2]));
    }
};

// Signals are counted in bins a quarter as wide first, and each of these is then shared between the two bins whose
// centres it is between: in integers, which is exact, and once for all neighbours.
constexpr int parts = 4, narrow_bins = parts * bins;
constexpr int share_in_eighths[parts] = {5, 7, 7,
                                         5};  // of the bin that contains the narrow one; the rest is the next's

using Counts = std::int32_t[shells][signals][narrow_bins];

GRAPHREG_INLINE void interpolate(const std::int32_t* counts, float members, std::uint8_t* out) {
    std::int32_t eighths[bins + 2] = {};  // from one before the first to one after the last
    for (int b = 0; b < bins; ++b)
        for (int p = 0; p < parts; ++p) {
            const std::int32_t count = counts[parts * b + p];
            eighths[b + 1] += share_in_eighths[p] * count;
            eighths[p < parts / 2 ? b : b + 2] += (8 - share_in_eighths[p]) * count;
        }
    eighths[1] += eighths[0];
    eighths[bins] += eighths[bins + 1];
    const float scale = members > 0 ? 1 / (8 * members) : 0;
    for (int b = 0; b < bins; ++b)
        out[b] = static_cast<std::uint8_t>(std::sqrt(static_cast<float>(eighths[b + 1]) * scale) * 255 + 0.5F);
}

// Writes the candidates within the radius to c.hits, and returns their number.
GRAPHREG_INLINE std::size_t find_neighbours(std::size_t centre, Candidates& c, float squared_radius) {
    const float px = c.x[centre], py = c.y[centre], pz = c.z[centre];
    const std::size_t count = c.size();
    std::size_t found = 0;
    for (std::size_t j = 0; j < count; ++j) {
        const float dx = c.x[j] - px, dy = c.y[j] - py, dz = c.z[j] - pz;
        const float squared = dx * dx + dy * dy + dz * dz;
        c.hits[found] = static_cast<std::int32_t>(j);
        found += squared > 0 && squared <= squared_radius;
    }
    return found;
}

// Counts the signals of the edges from the centre to a batch of neighbours.
constexpr std::size_t batch_size = 64;
GRAPHREG_INLINE void count_signals(std::size_t centre, const Candidates& c, const std::int32_t* hits, std::size_t size,
                                   const float* limits, Counts& counts) {
    const float px = c.x[centre], py = c.y[centre], pz = c.z[centre];
    const float nx = c.nx[centre], ny = c.ny[centre], nz = c.nz[centre];
    float dx[batch_size], dy[batch_size], dz[batch_size], mx[batch_size], my[batch_size], mz[batch_size];
    std::int32_t shell[batch_size], bin[signals][batch_size];
    for (std::size_t h = 0; h < size; ++h) {
        const auto j = static_cast<std::size_t>(hits[h]);
        dx[h] = c.x[j] - px, dy[h] = c.y[j] - py, dz[h] = c.z[j] - pz;
        mx[h] = c.nx[j], my[h] = c.ny[j], mz[h] = c.nz[j];
    }
#pragma omp simd
    for (std::size_t h = 0; h < size; ++h) {
        const float squared = dx[h] * dx[h] + dy[h] * dy[h] + dz[h] * dz[h];
        const float scale = 1 / std::sqrt(squared);
        const float ux = dx[h] * scale, uy = dy[h] * scale, uz = dz[h] * scale;
        shell[h] = (squared > limits[0]) + (squared > limits[1]);
        const float signal[signals] = {
            nx * ux + ny * uy + nz * uz, mx[h] * ux + my[h] * uy + mz[h] * uz, nx * mx[h] + ny * my[h] + nz * mz[h],
            (ny * uz - nz * uy) * mx[h] + (nz * ux - nx * uz) * my[h] + (nx * uy - ny * ux) * mz[h]};
        for (int s = 0; s < signals; ++s)
            bin[s][h] = static_cast<std::int32_t>(
                std::min(std::max((signal[s] + 1) * (narrow_bins / 2), 0.0F), static_cast<float>(narrow_bins - 1)));
    }
    for (std::size_t h = 0; h < size; ++h)
        for (int s = 0; s < signals; ++s) ++counts[shell[h]][s][bin[s][h]];
}

GRAPHREG_DISPATCHED
void describe(std::size_t centre, Candidates& c, float radius, std::uint8_t* out) {
    float limits[shells];
    for (int s = 0; s < shells; ++s)
        limits[s] = static_cast<float>(shell_radii[s] * shell_radii[s]) * (radius * radius);
    const std::size_t found = find_neighbours(centre, c, limits[shells - 1]);
    Counts counts = {};
    for (std::size_t begin = 0; begin < found; begin += batch_size)
        count_signals(centre, c, c.hits.data() + begin, std::min(batch_size, found - begin), limits, counts);
    for (auto& of_shell : counts) {
        std::int32_t members = 0;
        for (const std::int32_t count : of_shell[0]) members += count;
        for (const auto& of_signal : of_shell) {
            interpolate(of_signal, static_cast<float>(members), out);
            out += bins;
        }
    }
}

}  // namespace

void descriptors(const double* points, const double* normals, std::size_t count, double radius, int threads,
                 std::uint8_t* result) {
    const RadiusGrid grid(points, count, radius);
    parallel_for(grid.keys.size(), 4, threads, [&](std::size_t begin, std::size_t end) {
        Candidates candidates;
        for (std::size_t voxel = begin; voxel < end; ++voxel) {
            const std::size_t first = grid.starts[voxel], last = grid.starts[voxel + 1];
            const double* origin = points + 3 * static_cast<std::size_t>(grid.members[first]);
            candidates.clear();
            std::size_t own = 0;  // where the voxel's own points begin
            grid.for_each_around(voxel, [&](std::int32_t i) {
                if (i == grid.members[first]) own = candidates.size();
                const auto row = 3 * static_cast<std::size_t>(i);
                candidates.add(points + row, normals + row, origin);
            });
            candidates.hits.resize(candidates.size() + 1);
            for (std::size_t m = first; m < last; ++m)
                describe(own + (m - first), candidates, static_cast<float>(radius),
                         result + static_cast<std::size_t>(grid.members[m]) * descriptor_size);
        }
    });
}

}  // namespace graphreg
