#include "engine/orientation.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "common/dispatch.hpp"
#include "common/parallel.hpp"

namespace graphreg {

namespace {

using Position = std::array<double, 3>;

constexpr double longest_edge = 2.5;  // in voxels: farther surfels need not be on one surface
// Candidates: spheres about the centroid, with radii in units of the median distance from it.
constexpr struct {
    double radius;
    std::size_t count;
} spheres[] = {{0.4, 16}, {0.8, 32}, {1.3, 48}, {2.0, 48}, {4.0, 48}};
constexpr double first_step = 0.3, step_ratio = 0.6;  // of the pattern search
constexpr std::size_t rounds = 4, directions = 10;
constexpr std::size_t edge_block = 512;  // edges between two looks at the sum
constexpr std::size_t max_edges = 6000;  // more of them change the viewpoint little

// Two neighbouring normals are consistent if `consistency` is positive once both have their signs: one is then similar
// to the mirror image of the other (after Xie, McDonnell and Qin 2004), at folds as well as on smooth surfaces.
struct Edge {
    std::uint32_t i, j;
    float consistency;
};

double dot(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

std::vector<Edge> edges_of(const double* points, const double* normals, const std::int32_t* neighbours,
                           std::size_t count, std::size_t k) {
    std::vector<Edge> edges;
    edges.reserve(count * k / 2);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t n = 0; n < k; ++n) {
            const auto j = static_cast<std::size_t>(neighbours[i * k + n]);
            if (j <= i) continue;  // most are neighbours of each other: once is enough
            const double *p = points + 3 * i, *q = points + 3 * j;
            const double d[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
            const double squared = dot(d, d);
            if (squared == 0 || squared > longest_edge * longest_edge) continue;
            const double *a = normals + 3 * i, *b = normals + 3 * j;
            const double consistency = dot(a, b) - 2 * dot(a, d) * dot(b, d) / squared;
            edges.push_back(
                {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), static_cast<float>(consistency)});
        }
    const std::size_t step = (edges.size() + max_edges - 1) / max_edges;
    if (step < 2) return edges;
    std::vector<Edge> sampled;
    for (std::size_t e = 0; e < edges.size(); e += step) sampled.push_back(edges[e]);
    return sampled;
}

// The planes of surfels, n x = offset, one array a coordinate.
struct Planes {
    Planes(const double* points, const double* normals, std::size_t count) : offset(count) {
        for (int axis = 0; axis < 3; ++axis) {
            normal[axis].resize(count);
            for (std::size_t i = 0; i < count; ++i) normal[axis][i] = normals[3 * i + axis];
        }
        for (std::size_t i = 0; i < count; ++i) offset[i] = dot(normals + 3 * i, points + 3 * i);
    }

    std::array<std::vector<double>, 3> normal;
    std::vector<double> offset;
};

// The total variation: the sum of inconsistencies when every normal points to the viewpoint; any larger number than
// `enough` where it is larger than that.
GRAPHREG_DISPATCHED
double variation(const Position& viewpoint, const Planes& planes, const std::vector<Edge>& edges, double enough,
                 std::vector<float>& signs) {
    const double *nx = planes.normal[0].data(), *ny = planes.normal[1].data(), *nz = planes.normal[2].data();
    const double x = viewpoint[0], y = viewpoint[1], z = viewpoint[2], *offset = planes.offset.data();
    float* sign = signs.data();
    const std::size_t count = signs.size();
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) sign[i] = nx[i] * x + ny[i] * y + nz[i] * z < offset[i] ? -1.0F : 1.0F;
    double sum = 0;
    for (std::size_t begin = 0; begin < edges.size() && sum <= enough; begin += edge_block) {
        const std::size_t end = std::min(edges.size(), begin + edge_block);
        double sums[4] = {};  // additions that do not wait for each other
        for (std::size_t e = begin; e < end; ++e) {
            const float consistency = sign[edges[e].i] * sign[edges[e].j] * edges[e].consistency;
            sums[e % 4] += static_cast<double>(consistency < 0 ? -consistency : 0.0F);
        }
        sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    return sum;
}

// Evenly spread unit vectors (a Fibonacci spiral).
std::vector<Position> unit_vectors(std::size_t count) {
    std::vector<Position> vectors(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double z = 1 - (2 * static_cast<double>(i) + 1) / static_cast<double>(count);
        const double angle = std::acos(-1.0) * (1 + std::sqrt(5.0)) * (static_cast<double>(i) + 0.5);
        const double radius = std::sqrt(1 - z * z);
        vectors[i] = {radius * std::cos(angle), radius * std::sin(angle), z};
    }
    return vectors;
}

Position moved(const Position& from, const Position& direction, double distance) {
    return {from[0] + distance * direction[0], from[1] + distance * direction[1], from[2] + distance * direction[2]};
}

}  // namespace

Position infer_viewpoint(const double* points, const double* normals, const std::int32_t* neighbours, std::size_t count,
                         std::size_t k, int threads) {
    Position centroid = {};
    for (std::size_t i = 0; i < count; ++i)
        for (int axis = 0; axis < 3; ++axis) centroid[axis] += points[3 * i + axis] / static_cast<double>(count);
    std::vector<double> distances(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double* p = points + 3 * i;
        distances[i] = std::hypot(p[0] - centroid[0], p[1] - centroid[1], p[2] - centroid[2]);
    }
    std::nth_element(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(count / 2), distances.end());
    const double size = distances[count / 2];
    const std::vector<Edge> edges = edges_of(points, normals, neighbours, count, k);
    const Planes planes(points, normals, count);

    std::vector<Position> candidates{centroid};
    for (const auto& sphere : spheres)
        for (const Position& direction : unit_vectors(sphere.count))
            candidates.push_back(moved(centroid, direction, sphere.radius * size));

    std::vector<double> variations;
    const auto best_of = [&](const std::vector<Position>& positions) {
        variations.resize(positions.size());
        std::atomic<double> least = std::numeric_limits<double>::infinity();  // an old value costs time, nothing else
        parallel_for(positions.size(), 16, threads, [&](std::size_t begin, std::size_t end) {
            std::vector<float> signs(count);
            for (std::size_t c = begin; c < end; ++c) {
                variations[c] = variation(positions[c], planes, edges, least, signs);
                if (variations[c] < least) least = variations[c];
            }
        });
        return static_cast<std::size_t>(std::min_element(variations.begin(), variations.end()) - variations.begin());
    };
    Position best = candidates[best_of(candidates)];
    const std::vector<Position> pattern = unit_vectors(directions);
    double step = first_step * size;
    for (std::size_t round = 0; round < rounds; ++round, step *= step_ratio) {
        candidates.assign(1, best);
        for (const Position& direction : pattern) candidates.push_back(moved(best, direction, step));
        best = candidates[best_of(candidates)];
    }
    return best;
}

}  // namespace graphreg
