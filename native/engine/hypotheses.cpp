#include "engine/hypotheses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/dispatch.hpp"
#include "common/parallel.hpp"

namespace graphreg {

namespace {

constexpr double cosine_tolerance = 0.35;
constexpr double min_distance = 2;  // in units of the tolerance: nearer points determine the rotation badly

// The edge between two correspondences in one of the clouds: its length, and dot products of it and the two normals.
struct Edge {
    double squared, first, second, between;
};

GRAPHREG_INLINE Edge edge(const double* points, const double* normals, std::size_t i, std::size_t j) {
    const double *p = points + 3 * i, *q = points + 3 * j, *n = normals + 3 * i, *m = normals + 3 * j;
    const double dx = q[0] - p[0], dy = q[1] - p[1], dz = q[2] - p[2];
    return {dx * dx + dy * dy + dz * dz, n[0] * dx + n[1] * dy + n[2] * dz, m[0] * dx + m[1] * dy + m[2] * dz,
            n[0] * m[0] + n[1] * m[1] + n[2] * m[2]};
}

bool compatible(const OrientedCorrespondences& pairs, std::size_t i, std::size_t j, double tolerance) {
    const Edge a = edge(pairs.source, pairs.source_normals, i, j);
    const Edge b = edge(pairs.target, pairs.target_normals, i, j);
    // | |a| - |b| | <= tolerance, without square roots for most: a^2 - b^2 = (|a| - |b|)(|a| + |b|)
    const double difference = a.squared - b.squared, both = a.squared + b.squared;
    if (difference * difference > 2 * both * tolerance * tolerance) return false;
    if (std::abs(a.between - b.between) > cosine_tolerance) return false;
    const double p = std::sqrt(a.squared), q = std::sqrt(b.squared);
    if (std::abs(p - q) > tolerance || std::min(p, q) < min_distance * tolerance) return false;
    return std::abs(a.first * q - b.first * p) <= cosine_tolerance * p * q &&
           std::abs(a.second * q - b.second * p) <= cosine_tolerance * p * q;
}

// The consistency graph: which correspondences are compatible, one bit each.
class CompatibilityGraph {
public:
    CompatibilityGraph(const OrientedCorrespondences& pairs, double tolerance, int threads)
        : count_(pairs.count), words_((count_ + 63) / 64), bits_(count_ * words_) {
        parallel_for(count_, 32, threads, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                for (std::size_t j = 0; j < count_; ++j)
                    if (j != i && compatible(pairs, std::min(i, j), std::max(i, j), tolerance))
                        bits_[i * words_ + j / 64] |= std::uint64_t{1} << (j % 64);
        });
    }

    std::size_t count() const { return count_; }
    std::size_t words() const { return words_; }
    const std::uint64_t* row(std::size_t i) const { return bits_.data() + i * words_; }

    // i, j, and all that are compatible with both.
    std::vector<std::size_t> supporters(std::size_t i, std::size_t j) const {
        std::vector<std::size_t> members{i, j};
        for (std::size_t k = 0; k < count_; ++k)
            if (row(i)[k / 64] & row(j)[k / 64] & std::uint64_t{1} << (k % 64)) members.push_back(k);
        return members;
    }

private:
    std::size_t count_, words_;
    std::vector<std::uint64_t> bits_;
};

// The neighbour of i with which it has most neighbours in common, and their number with i and it.
GRAPHREG_DISPATCHED
void best_partner(const CompatibilityGraph& graph, std::size_t i, std::size_t& partner, std::int32_t& support) {
    const std::uint64_t* own = graph.row(i);
    const std::size_t count = graph.count(), words = graph.words();
    for (std::size_t j = 0; j < count; ++j) {
        if (!(own[j / 64] >> (j % 64) & 1)) continue;
        const std::uint64_t* other = graph.row(j);
        std::int32_t shared = 2;
        for (std::size_t w = 0; w < words; ++w) shared += __builtin_popcountll(own[w] & other[w]);
        if (shared > support) support = shared, partner = j;
    }
}

// The rotation within the degrees of freedom that maximises the trace of R h.
RigidTransform best_free_rotation(const double* h, const std::array<bool, 6>& free) {
    if (free[0] && free[1] && free[2]) return best_rotation(h);
    RigidTransform rotation;
    for (int axis = 0; axis < 3; ++axis) {
        if (!free[axis]) continue;
        const int b = (axis + 1) % 3, c = (axis + 2) % 3;
        const double angle = std::atan2(h[3 * b + c] - h[3 * c + b], h[3 * b + b] + h[3 * c + c]);
        rotation.r[3 * b + b] = rotation.r[3 * c + c] = std::cos(angle);
        rotation.r[3 * c + b] = std::sin(angle);
        rotation.r[3 * b + c] = -std::sin(angle);
    }
    return rotation;
}

// The least-squares pose of some correspondences, points and normals (Kabsch).
RigidTransform fit_pose(const OrientedCorrespondences& pairs, const std::vector<std::size_t>& members,
                        double normal_weight, const DegreesOfFreedom& dof) {
    double x[3] = {}, y[3] = {}, h[9] = {};
    for (const std::size_t i : members)
        for (int a = 0; a < 3; ++a) x[a] += pairs.source[3 * i + a], y[a] += pairs.target[3 * i + a];
    const auto count = static_cast<double>(members.size());
    for (int a = 0; a < 3; ++a) x[a] /= count, y[a] /= count;
    // Without any free translation the rotation is about the pivot.
    if (!dof.free[3] && !dof.free[4] && !dof.free[5])
        for (int a = 0; a < 3; ++a) x[a] = y[a] = dof.pivot[a];
    for (const std::size_t i : members)
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b)
                h[3 * a + b] += (pairs.source[3 * i + a] - x[a]) * (pairs.target[3 * i + b] - y[b]) +
                                normal_weight * pairs.source_normals[3 * i + a] * pairs.target_normals[3 * i + b];
    RigidTransform pose = best_free_rotation(h, dof.free);
    dof.rotate_about_pivot(pose);
    const auto rotated = pose.rotated(x);
    for (int a = 0; a < 3; ++a)
        if (dof.free[3 + a]) pose.t[a] = y[a] - rotated[a];
    return pose;
}

}  // namespace

std::vector<Hypothesis> hypotheses(const OrientedCorrespondences& pairs, double tolerance, std::size_t max_count,
                                   const DegreesOfFreedom& dof, int threads) {
    const std::size_t count = pairs.count;
    const CompatibilityGraph graph(pairs, tolerance, threads);
    std::vector<std::size_t> partner(count), ranked(count);
    std::vector<std::int32_t> support(count);
    parallel_for(count, 32, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) best_partner(graph, i, partner[i], support[i]);
    });
    std::iota(ranked.begin(), ranked.end(), std::size_t{0});
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](std::size_t i, std::size_t j) { return support[i] > support[j]; });
    std::vector<bool> taken(count);
    std::vector<Hypothesis> found;
    for (const std::size_t i : ranked) {
        if (found.size() == max_count || support[i] == 0) break;
        if (taken[i]) continue;
        const std::vector<std::size_t> members = graph.supporters(i, partner[i]);
        for (const std::size_t k : members) taken[k] = true;
        found.push_back({fit_pose(pairs, members, tolerance * tolerance, dof), support[i]});
    }
    return found;
}

}  // namespace graphreg
