#include "engine/hypotheses.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "common/dispatch.hpp"
#include "common/parallel.hpp"

namespace graphreg {

namespace {

constexpr double cosine_tolerance = 0.35;
constexpr double min_distance = 2;  // in units of the tolerance: nearer points determine the rotation badly

// Points and normals of one cloud, one array a coordinate.
struct CoordinateArrays {
    CoordinateArrays(const double* points, const double* normals, std::size_t count) {
        for (int axis = 0; axis < 3; ++axis) {
            point[axis].resize(count), normal[axis].resize(count);
            for (std::size_t i = 0; i < count; ++i)
                point[axis][i] = points[3 * i + axis], normal[axis][i] = normals[3 * i + axis];
        }
    }

    std::array<std::vector<double>, 3> point, normal;
};

// The edge between two correspondences in one of the clouds: its length, and dot products of it and the two normals.
struct Edge {
    double squared, first, second, between;
};

GRAPHREG_INLINE Edge edge(const CoordinateArrays& cloud, std::size_t i, std::size_t j) {
    const auto &p = cloud.point, &n = cloud.normal;
    const double dx = p[0][j] - p[0][i], dy = p[1][j] - p[1][i], dz = p[2][j] - p[2][i];
    return {dx * dx + dy * dy + dz * dz, n[0][i] * dx + n[1][i] * dy + n[2][i] * dz,
            n[0][j] * dx + n[1][j] * dy + n[2][j] * dz, n[0][i] * n[0][j] + n[1][i] * n[1][j] + n[2][i] * n[2][j]};
}

// Whether one rigid transform can align both edges; without branches, so that many are compared at once.
GRAPHREG_INLINE bool compatible(const Edge& a, const Edge& b, double tolerance) {
    const double p = std::sqrt(a.squared), q = std::sqrt(b.squared);
    return (std::abs(p - q) <= tolerance) & (std::min(p, q) >= min_distance * tolerance) &
           (std::abs(a.between - b.between) <= cosine_tolerance) &
           (std::abs(a.first * q - b.first * p) <= cosine_tolerance * p * q) &
           (std::abs(a.second * q - b.second * p) <= cosine_tolerance * p * q);
}

// Which of the correspondences `begin` to `begin + 64` are compatible with i, one bit each.
GRAPHREG_DISPATCHED
std::uint64_t compatible_bits(const CoordinateArrays& source, const CoordinateArrays& target, std::size_t i,
                              std::size_t begin, std::size_t count, double tolerance) {
    std::array<std::uint64_t, 64> is_compatible = {};
    const std::size_t size = std::min<std::size_t>(64, count - begin);
#pragma omp simd
    for (std::size_t k = 0; k < size; ++k)
        is_compatible[k] = compatible(edge(source, i, begin + k), edge(target, i, begin + k), tolerance) ? 1 : 0;
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < size; ++k) bits |= is_compatible[k] << k;
    return bits;
}

// The consistency graph: which correspondences are compatible, one bit each.
class CompatibilityGraph {
public:
    CompatibilityGraph(const OrientedCorrespondences& pairs, double tolerance, int threads)
        : count_(pairs.count), words_((count_ + 63) / 64), bits_(count_ * words_) {
        const CoordinateArrays source(pairs.source, pairs.source_normals, count_);
        const CoordinateArrays target(pairs.target, pairs.target_normals, count_);
        parallel_for(count_, 32, threads, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                for (std::size_t word = 0; word < words_; ++word)
                    bits_[i * words_ + word] = compatible_bits(source, target, i, 64 * word, count_, tolerance);
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
