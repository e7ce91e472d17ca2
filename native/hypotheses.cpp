#include "hypotheses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

constexpr double cosine_tolerance = 0.35;
constexpr double shortest = 2;  // in units of the tolerance: nearer points say little of the rotation

// The edge between two matches in one of the clouds: length and the three angles that its normals make.
struct Edge {
    double squared, first, second, between;
};

inline __attribute__((always_inline)) Edge edge(const double* points, const double* normals, std::size_t i,
                                                std::size_t j) {
    const double *p = points + 3 * i, *q = points + 3 * j, *n = normals + 3 * i, *m = normals + 3 * j;
    const double dx = q[0] - p[0], dy = q[1] - p[1], dz = q[2] - p[2];
    return {dx * dx + dy * dy + dz * dz, n[0] * dx + n[1] * dy + n[2] * dz, m[0] * dx + m[1] * dy + m[2] * dz,
            n[0] * m[0] + n[1] * m[1] + n[2] * m[2]};
}

bool compatible(const Matches& matches, std::size_t i, std::size_t j, double tolerance) {
    const Edge a = edge(matches.source, matches.source_normals, i, j);
    const Edge b = edge(matches.target, matches.target_normals, i, j);
    // | |a| - |b| | <= tolerance, without roots for most: a^2 - b^2 = (|a| - |b|)(|a| + |b|)
    const double difference = a.squared - b.squared, both = a.squared + b.squared;
    if (difference * difference > 2 * both * tolerance * tolerance) return false;
    if (std::abs(a.between - b.between) > cosine_tolerance) return false;
    const double p = std::sqrt(a.squared), q = std::sqrt(b.squared);
    if (std::abs(p - q) > tolerance || std::min(p, q) < shortest * tolerance) return false;
    return std::abs(a.first * q - b.first * p) <= cosine_tolerance * p * q &&
           std::abs(a.second * q - b.second * p) <= cosine_tolerance * p * q;
}

// The transform that carries the source ends of some matches to their target ends, normals included.
RigidTransform carried(const Matches& matches, const std::vector<std::size_t>& members, double normal_weight,
               const DegreesOfFreedom& dof) {
    double x[3] = {}, y[3] = {}, h[9] = {};
    for (const std::size_t i : members)
        for (int a = 0; a < 3; ++a) x[a] += matches.source[3 * i + a], y[a] += matches.target[3 * i + a];
    const auto count = static_cast<double>(members.size());
    for (int a = 0; a < 3; ++a) x[a] /= count, y[a] /= count;
    // What cannot be shifted turns about the pivot.
    if (!dof.free[3] && !dof.free[4] && !dof.free[5])
        for (int a = 0; a < 3; ++a) x[a] = y[a] = dof.pivot[a];
    for (const std::size_t i : members)
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b)
                h[3 * a + b] += (matches.source[3 * i + a] - x[a]) * (matches.target[3 * i + b] - y[b]) +
                                normal_weight * matches.source_normals[3 * i + a] * matches.target_normals[3 * i + b];
    RigidTransform transform;
    const auto& free = dof.free;
    if (free[0] && free[1] && free[2]) {
        transform = best_rotation(h);
    } else {
        for (int a = 0; a < 3; ++a) {
            if (!free[a]) continue;
            const int b = (a + 1) % 3, c = (a + 2) % 3;
            const double angle = std::atan2(h[3 * b + c] - h[3 * c + b], h[3 * b + b] + h[3 * c + c]);
            transform.r[3 * b + b] = transform.r[3 * c + c] = std::cos(angle);
            transform.r[3 * c + b] = std::sin(angle);
            transform.r[3 * b + c] = -std::sin(angle);
        }
    }
    dof.about_pivot(transform);
    const auto rotated = transform.rotated(x);
    for (int a = 0; a < 3; ++a)
        if (free[3 + a]) transform.t[a] = y[a] - rotated[a];
    return transform;
}

// For match i, the compatible match with which it shares the most others.
GRAPHREG_DISPATCHED
void best_partner(const std::uint64_t* bits, std::size_t count, std::size_t words, std::size_t i, std::size_t& partner,
                  std::int32_t& support) {
    const std::uint64_t* own = bits + i * words;
    for (std::size_t j = 0; j < count; ++j) {
        if (!(own[j / 64] >> (j % 64) & 1)) continue;
        std::int32_t shared = 2;
        for (std::size_t w = 0; w < words; ++w) shared += __builtin_popcountll(own[w] & bits[j * words + w]);
        if (shared > support) support = shared, partner = j;
    }
}

}  // namespace

std::vector<Hypothesis> hypotheses(const Matches& matches, double tolerance, std::size_t most,
                                   const DegreesOfFreedom& dof, int threads) {
    const std::size_t count = matches.count, words = (count + 63) / 64;
    std::vector<std::uint64_t> bits(count * words);
    parallel_for(count, 32, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = 0; j < count; ++j)
                if (j != i && compatible(matches, std::min(i, j), std::max(i, j), tolerance))
                    bits[i * words + j / 64] |= std::uint64_t{1} << (j % 64);
    });
    std::vector<std::size_t> partner(count);
    std::vector<std::int32_t> support(count);
    parallel_for(count, 32, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) best_partner(bits.data(), count, words, i, partner[i], support[i]);
    });
    std::vector<std::size_t> ranked(count);
    std::iota(ranked.begin(), ranked.end(), std::size_t{0});
    std::stable_sort(ranked.begin(), ranked.end(), [&](std::size_t i, std::size_t j) { return support[i] > support[j]; });
    std::vector<bool> taken(count);
    std::vector<Hypothesis> found;
    for (const std::size_t i : ranked) {
        if (found.size() == most || support[i] == 0) break;
        if (taken[i]) continue;
        const std::size_t j = partner[i];
        std::vector<std::size_t> members{i, j};
        for (std::size_t k = 0; k < count; ++k)
            if (bits[i * words + k / 64] & bits[j * words + k / 64] & std::uint64_t{1} << (k % 64)) members.push_back(k);
        for (const std::size_t k : members) taken[k] = true;
        found.push_back({carried(matches, members, tolerance * tolerance, dof), support[i]});
    }
    return found;
}

}  // namespace graphreg
