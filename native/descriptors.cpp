#include "descriptors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

constexpr int shells = 3, signals = 4, bins = 8;
constexpr double shell_ends[shells] = {0.45, 0.72, 1.0};
static_assert(shells * signals * bins == descriptor_size);

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

// What a descriptor needs to know of points that may be neighbours, one array for each number.
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

// Signals are counted in bins of a quarter of the width first, and then shared between the two bins whose middles they
// lie between: by integers, which is exact, and once for all neighbours.
constexpr int parts = 4, narrow = parts * bins;
constexpr int share_in_eighths[parts] = {5, 7, 7, 5};  // of the bin that a narrow one lies in; the rest goes next door

GRAPHREG_INLINE void into_bins(const std::int32_t* counts, float members, std::uint8_t* out) {
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

GRAPHREG_DISPATCHED
void descriptor_of(std::size_t own, Candidates& c, float radius, std::uint8_t* out) {
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
    std::int32_t counts[shells][signals][narrow] = {};
    constexpr std::size_t most = 64;
    for (std::size_t begin = 0; begin < found; begin += most) {
        const std::size_t here = std::min(most, found - begin);
        float dx[most], dy[most], dz[most], mx[most], my[most], mz[most];
        std::int32_t shell[most], place[signals][most];
        for (std::size_t h = 0; h < here; ++h) {
            const auto j = static_cast<std::size_t>(c.hits[begin + h]);
            dx[h] = c.x[j] - px, dy[h] = c.y[j] - py, dz[h] = c.z[j] - pz;
            mx[h] = c.nx[j], my[h] = c.ny[j], mz[h] = c.nz[j];
        }
#pragma omp simd
        for (std::size_t h = 0; h < here; ++h) {
            const float squared = dx[h] * dx[h] + dy[h] * dy[h] + dz[h] * dz[h];
            const float scale = 1 / std::sqrt(squared);
            const float ux = dx[h] * scale, uy = dy[h] * scale, uz = dz[h] * scale;
            shell[h] = (squared > limits[0]) + (squared > limits[1]);
            const float signal[signals] = {
                nx * ux + ny * uy + nz * uz, mx[h] * ux + my[h] * uy + mz[h] * uz,
                nx * mx[h] + ny * my[h] + nz * mz[h],
                (ny * uz - nz * uy) * mx[h] + (nz * ux - nx * uz) * my[h] + (nx * uy - ny * ux) * mz[h]};
            for (int s = 0; s < signals; ++s)
                place[s][h] = static_cast<std::int32_t>(
                    std::min(std::max((signal[s] + 1) * (narrow / 2), 0.0F), static_cast<float>(narrow - 1)));
        }
        for (std::size_t h = 0; h < here; ++h)
            for (int s = 0; s < signals; ++s) ++counts[shell[h]][s][place[s][h]];
    }
    for (auto& of_shell : counts) {
        std::int32_t members = 0;
        for (const std::int32_t each : of_shell[0]) members += each;
        for (const auto& of_signal : of_shell) {
            into_bins(of_signal, static_cast<float>(members), out);
            out += bins;
        }
    }
}

// A difference above the index of what differs: of two such numbers the smaller one is the better match, or the earlier.
using Ranked = std::int64_t;
constexpr Ranked worst = std::numeric_limits<Ranked>::max();

inline Ranked ranked(int difference, std::size_t index) {
    return static_cast<Ranked>(difference) << 32 | static_cast<Ranked>(index);
}

inline std::int32_t index_of(Ranked match) { return static_cast<std::int32_t>(match); }

GRAPHREG_INLINE int difference(const std::uint8_t* a, const std::uint8_t* b) {
    int sum = 0;
    for (std::size_t f = 0; f < descriptor_size; ++f) sum += std::abs(static_cast<int>(a[f]) - static_cast<int>(b[f]));
    return sum;
}

// Rows begin to end of a against columns from first on of b, each with what is best for it so far.
void match_rows(const std::uint8_t* a, std::size_t begin, std::size_t end, const std::uint8_t* b, std::size_t first,
                std::size_t count_b, Ranked* best_of_row, Ranked* best_of_column) {
    for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = first; j < count_b; ++j) {
            const int d = difference(a + i * descriptor_size, b + j * descriptor_size);
            best_of_row[i] = std::min(best_of_row[i], ranked(d, j));
            best_of_column[j] = std::min(best_of_column[j], ranked(d, i));
        }
}

#if defined(__x86_64__)
constexpr std::size_t together = 4, chunk = 8, chunks = descriptor_size / chunk;

// Groups of four descriptors, interleaved by chunks of eight bytes: one instruction then takes a chunk from all four, and
// leaves their differences apart.
std::vector<std::uint8_t> interleaved(const std::uint8_t* descriptors, std::size_t groups) {
    std::vector<std::uint8_t> result(groups * together * descriptor_size);
    std::uint8_t* out = result.data();
    for (std::size_t g = 0; g < groups; ++g)
        for (std::size_t c = 0; c < chunks; ++c)
            for (std::size_t s = 0; s < together; ++s, out += chunk)
                std::copy_n(descriptors + (g * together + s) * descriptor_size + c * chunk, chunk, out);
    return result;
}

__attribute__((target("avx2"))) void match_groups(const std::uint8_t* a, std::size_t begin, std::size_t end,
                                                  const std::uint8_t* groups, std::size_t count, Ranked* best_of_row,
                                                  Ranked* best_of_column) {
    for (std::size_t i = begin; i < end; ++i) {
        __m256i row[chunks];
        for (std::size_t c = 0; c < chunks; ++c) {
            long long bytes;
            std::memcpy(&bytes, a + i * descriptor_size + c * chunk, chunk);
            row[c] = _mm256_set1_epi64x(bytes);
        }
        const __m256i own = _mm256_set1_epi64x(static_cast<long long>(i));
        __m256i best = _mm256_set1_epi64x(worst), columns = _mm256_setr_epi64x(0, 1, 2, 3);
        for (std::size_t g = 0; g < count; ++g) {
            const auto* group = reinterpret_cast<const __m256i*>(groups + g * together * descriptor_size);
            __m256i even = _mm256_setzero_si256(), odd = even;
            for (std::size_t c = 0; c < chunks; c += 2) {
                even = _mm256_add_epi64(even, _mm256_sad_epu8(row[c], _mm256_loadu_si256(group + c)));
                odd = _mm256_add_epi64(odd, _mm256_sad_epu8(row[c + 1], _mm256_loadu_si256(group + c + 1)));
            }
            const __m256i differences = _mm256_slli_epi64(_mm256_add_epi64(even, odd), 32);
            const __m256i for_row = _mm256_or_si256(differences, columns);
            best = _mm256_blendv_epi8(best, for_row, _mm256_cmpgt_epi64(best, for_row));
            auto* place = reinterpret_cast<__m256i*>(best_of_column + g * together);
            const __m256i before = _mm256_loadu_si256(place), for_column = _mm256_or_si256(differences, own);
            _mm256_storeu_si256(place,
                                _mm256_blendv_epi8(before, for_column, _mm256_cmpgt_epi64(before, for_column)));
            columns = _mm256_add_epi64(columns, _mm256_set1_epi64x(together));
        }
        alignas(32) Ranked lanes[together];
        _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), best);
        for (const Ranked lane : lanes) best_of_row[i] = std::min(best_of_row[i], lane);
    }
}
#endif

}  // namespace

void descriptors(const double* points, const double* normals, std::size_t count, double radius, int threads,
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
                descriptor_of(own + (m - first), candidates, static_cast<float>(radius),
                             result + static_cast<std::size_t>(cubes.members[m]) * descriptor_size);
        }
    });
}

void match_descriptors(const std::uint8_t* a, std::size_t count_a, const std::uint8_t* b, std::size_t count_b, int threads,
           std::int32_t* best_of_a, std::int32_t* best_of_b) {
    const std::size_t grain = std::max<std::size_t>(64, (count_a + 15) / 16);
    std::vector<Ranked> rows(count_a, worst);
    std::vector<std::vector<Ranked>> columns((count_a + grain - 1) / grain);
#if defined(__x86_64__)
    const std::size_t groups = __builtin_cpu_supports("avx2") ? count_b / together : 0;
    const std::vector<std::uint8_t> grouped = interleaved(b, groups);
#endif
    parallel_for(count_a, grain, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<Ranked>& column = columns[begin / grain];
        column.assign(count_b, worst);
        std::size_t first = 0;
#if defined(__x86_64__)
        match_groups(a, begin, end, grouped.data(), groups, rows.data(), column.data());
        first = groups * together;
#endif
        match_rows(a, begin, end, b, first, count_b, rows.data(), column.data());
    });
    for (std::size_t i = 0; i < count_a; ++i) best_of_a[i] = index_of(rows[i]);
    for (std::size_t j = 0; j < count_b; ++j) {
        Ranked best = worst;
        for (const auto& column : columns) best = std::min(best, column[j]);
        best_of_b[j] = index_of(best);
    }
}

}  // namespace graphreg
