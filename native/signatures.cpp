#include "signatures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

constexpr int shells = 3, signals = 4, bins = 8;
constexpr double shell_ends[shells] = {0.45, 0.72, 1.0};
static_assert(shells * signals * bins == signature_size);

// Points in cubes with the radius as their side: all neighbours of a cube's points lie in it and the 26 around it.
struct Cubes {
    std::vector<std::uint64_t> keys;      // of the cubes that hold points, ascending
    std::vector<std::size_t> starts;      // where each begins in members, and the end
    std::vector<std::int32_t> members;

    static constexpr int bits = 21;

    static std::uint64_t key(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
        return (z << bits | y) << bits | x;
    }

    Cubes(const double* points, std::size_t count, double side) {
        std::array<double, 3> low;
        low.fill(std::numeric_limits<double>::infinity());
        for (std::size_t i = 0; i < count; ++i)
            for (int a = 0; a < 3; ++a) low[a] = std::min(low[a], points[3 * i + a]);
        std::vector<std::pair<std::uint64_t, std::int32_t>> entries(count);
        for (std::size_t i = 0; i < count; ++i) {
            // Cubes are counted from 1, so that each has a cube before it.
            std::uint64_t cube[3];
            for (int a = 0; a < 3; ++a)
                cube[a] = static_cast<std::uint64_t>(
                    std::min((points[3 * i + a] - low[a]) / side, static_cast<double>((1 << bits) - 4))) + 1;
            entries[i] = {key(cube[0], cube[1], cube[2]), static_cast<std::int32_t>(i)};
        }
        std::sort(entries.begin(), entries.end());
        members.reserve(count);
        for (const auto& [where, index] : entries) {
            if (keys.empty() || keys.back() != where) {
                keys.push_back(where);
                starts.push_back(members.size());
            }
            members.push_back(index);
        }
        starts.push_back(members.size());
    }

    template <class Visit>
    void around(std::size_t cube, Visit&& visit) const {
        for (int z = -1; z <= 1; ++z)
            for (int y = -1; y <= 1; ++y) {
                // Three cubes in a row have keys one after another.
                const std::uint64_t row = keys[cube] + (static_cast<std::uint64_t>(z) << (2 * bits)) +
                                          (static_cast<std::uint64_t>(y) << bits);
                auto at = std::lower_bound(keys.begin(), keys.end(), row - 1) - keys.begin();
                for (; at < static_cast<std::ptrdiff_t>(keys.size()) && keys[static_cast<std::size_t>(at)] <= row + 1; ++at)
                    for (std::size_t m = starts[static_cast<std::size_t>(at)]; m < starts[static_cast<std::size_t>(at) + 1]; ++m)
                        visit(members[m]);
            }
    }
};

// What a signature needs to know of points that may be neighbours, one array for each number.
struct Candidates {
    std::vector<std::int32_t> index;
    std::vector<float> x, y, z, nx, ny, nz;
    std::vector<std::int32_t> hits;

    void clear() {
        index.clear();
        for (auto* numbers : {&x, &y, &z, &nx, &ny, &nz}) numbers->clear();
    }

    void add(std::int32_t i, const double* point, const double* normal, const double* origin) {
        index.push_back(i);
        x.push_back(static_cast<float>(point[0] - origin[0]));
        y.push_back(static_cast<float>(point[1] - origin[1]));
        z.push_back(static_cast<float>(point[2] - origin[2]));
        nx.push_back(static_cast<float>(normal[0]));
        ny.push_back(static_cast<float>(normal[1]));
        nz.push_back(static_cast<float>(normal[2]));
    }
};

GRAPHREG_DISPATCHED
void signature_of(std::size_t own, Candidates& c, float radius, std::uint8_t* out) {
    const std::size_t count = c.index.size();
    const float px = c.x[own], py = c.y[own], pz = c.z[own], nx = c.nx[own], ny = c.ny[own], nz = c.nz[own];
    float limits[shells];
    for (int s = 0; s < shells; ++s)
        limits[s] = static_cast<float>(shell_ends[s] * shell_ends[s]) * (radius * radius);
    std::size_t found = 0;
    for (std::size_t j = 0; j < count; ++j) {
        const float dx = c.x[j] - px, dy = c.y[j] - py, dz = c.z[j] - pz;
        const float squared = dx * dx + dy * dy + dz * dz;
        c.hits[found] = static_cast<std::int32_t>(j);
        found += squared > 0 && squared <= limits[shells - 1];
    }
    float histogram[shells][signals][bins] = {};
    float members[shells] = {};
    for (std::size_t h = 0; h < found; ++h) {
        const auto j = static_cast<std::size_t>(c.hits[h]);
        const float dx = c.x[j] - px, dy = c.y[j] - py, dz = c.z[j] - pz;
        const float squared = dx * dx + dy * dy + dz * dz;
        const float scale = 1 / std::sqrt(squared);
        const float ux = dx * scale, uy = dy * scale, uz = dz * scale;
        const float mx = c.nx[j], my = c.ny[j], mz = c.nz[j];
        const int shell = (squared > limits[0]) + (squared > limits[1]);
        const float signal[signals] = {nx * ux + ny * uy + nz * uz, mx * ux + my * uy + mz * uz,
                                       nx * mx + ny * my + nz * mz,
                                       (ny * uz - nz * uy) * mx + (nz * ux - nx * uz) * my + (nx * uy - ny * ux) * mz};
        members[shell] += 1;
        for (int s = 0; s < signals; ++s) {
            // Shared between the two bins whose middles it lies between.
            const float place = std::clamp((signal[s] + 1) * (bins / 2.0F) - 0.5F, 0.0F, static_cast<float>(bins - 1));
            const int low = std::min(static_cast<int>(place), bins - 2);
            const float part = place - static_cast<float>(low);
            histogram[shell][s][low] += 1 - part;
            histogram[shell][s][low + 1] += part;
        }
    }
    for (int shell = 0; shell < shells; ++shell)
        for (int s = 0; s < signals; ++s)
            for (int b = 0; b < bins; ++b) {
                const float share = members[shell] > 0 ? histogram[shell][s][b] / members[shell] : 0;
                *out++ = static_cast<std::uint8_t>(std::sqrt(share) * 255 + 0.5F);
            }
}

GRAPHREG_INLINE int difference(const std::uint8_t* a, const std::uint8_t* b) {
    int sum = 0;
    for (std::size_t f = 0; f < signature_size; ++f) sum += std::abs(static_cast<int>(a[f]) - static_cast<int>(b[f]));
    return sum;
}

struct Best {
    int difference = std::numeric_limits<int>::max();
    std::int32_t index = 0;
};

// Rows begin to end of a against all of b; the best row for each of b goes to column_best.
GRAPHREG_DISPATCHED
void match_rows(const std::uint8_t* a, std::size_t begin, std::size_t end, const std::uint8_t* b, std::size_t count_b,
                std::int32_t* best_of_a, Best* column_best) {
    for (std::size_t i = begin; i < end; ++i) {
        Best best;
        for (std::size_t j = 0; j < count_b; ++j) {
            const int d = difference(a + i * signature_size, b + j * signature_size);
            if (d < best.difference) best = {d, static_cast<std::int32_t>(j)};
            if (d < column_best[j].difference) column_best[j] = {d, static_cast<std::int32_t>(i)};
        }
        best_of_a[i] = best.index;
    }
}

}  // namespace

void signatures(const double* points, const double* normals, std::size_t count, double radius, int threads,
                std::uint8_t* result) {
    const Cubes cubes(points, count, radius);
    parallel_for(cubes.keys.size(), 4, threads, [&](std::size_t begin, std::size_t end) {
        Candidates candidates;
        for (std::size_t cube = begin; cube < end; ++cube) {
            const std::size_t first = cubes.starts[cube], last = cubes.starts[cube + 1];
            const double* origin = points + 3 * static_cast<std::size_t>(cubes.members[first]);
            candidates.clear();
            std::size_t own = 0;  // where the cube's own points begin
            cubes.around(cube, [&](std::int32_t i) {
                if (i == cubes.members[first]) own = candidates.index.size();
                candidates.add(i, points + 3 * static_cast<std::size_t>(i), normals + 3 * static_cast<std::size_t>(i), origin);
            });
            candidates.hits.resize(candidates.index.size() + 1);
            for (std::size_t m = first; m < last; ++m)
                signature_of(own + (m - first), candidates, static_cast<float>(radius),
                             result + static_cast<std::size_t>(cubes.members[m]) * signature_size);
        }
    });
}

void match(const std::uint8_t* a, std::size_t count_a, const std::uint8_t* b, std::size_t count_b, int threads,
           std::int32_t* best_of_a, std::int32_t* best_of_b) {
    const std::size_t grain = std::max<std::size_t>(64, (count_a + 15) / 16);
    const std::size_t pieces = (count_a + grain - 1) / grain;
    std::vector<std::vector<Best>> columns(pieces);
    parallel_for(count_a, grain, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<Best>& column = columns[begin / grain];
        column.resize(count_b);
        match_rows(a, begin, end, b, count_b, best_of_a, column.data());
    });
    for (std::size_t j = 0; j < count_b; ++j) {
        Best best;
        for (const auto& column : columns)
            if (column[j].difference < best.difference) best = column[j];
        best_of_b[j] = best.index;
    }
}

}  // namespace graphreg
