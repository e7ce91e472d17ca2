#include "surfaces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

constexpr std::size_t grain = 2048;

// exp(x) for x in [-2, 0], from its Taylor series about -1: good to a few units in the last place, and it vectorises.
GRAPHREG_INLINE double exp_of_weight(double x) {
    constexpr double over_factorial[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                                         1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600,
                                         1.0 / 6227020800, 1.0 / 87178291200, 1.0 / 1307674368000,
                                         1.0 / 20922789888000, 1.0 / 355687428096000};
    const double u = x + 1.0;
    double sum = over_factorial[17];
    for (int n = 16; n >= 0; --n) sum = sum * u + over_factorial[n];
    return sum * 0.36787944117144233;  // exp(-1)
}

// The offsets from one point to its neighbours, and the weights of those edges.
struct Edges {
    std::vector<double> x, y, z, squared, weight;

    explicit Edges(std::size_t k) : x(k), y(k), z(k), squared(k), weight(k) {}

    GRAPHREG_INLINE void offsets(const Neighbourhoods& graph, std::size_t i) {
        const double* here = graph.points + 3 * i;
        const std::int32_t* neighbours = graph.neighbours + i * graph.k;
        for (std::size_t j = 0; j < graph.k; ++j) {
            const double* there = graph.points + 3 * static_cast<std::size_t>(neighbours[j]);
            x[j] = there[0] - here[0];
            y[j] = there[1] - here[1];
            z[j] = there[2] - here[2];
        }
    }

    // Returns the degree: the sum of the weights.
    GRAPHREG_INLINE double weigh(const Neighbourhoods& graph, std::size_t i) {
        offsets(graph, i);
        const std::size_t k = graph.k;
        double *px = x.data(), *py = y.data(), *pz = z.data(), *r = squared.data(), *w = weight.data();
#pragma omp simd
        for (std::size_t j = 0; j < k; ++j) r[j] = px[j] * px[j] + py[j] * py[j] + pz[j] * pz[j];
        const double farthest = r[k - 1];
        const double scale = farthest > 0 ? -2.0 / farthest : 0.0;
#pragma omp simd
        for (std::size_t j = 0; j < k; ++j) {
            const double value = exp_of_weight(std::max(r[j] * scale, -2.0));
            w[j] = r[j] < farthest || r[j] == 0.0 ? value : 0.0;
        }
        double degree = 0;
        for (std::size_t j = 0; j < k; ++j) degree += w[j];
        return degree;
    }
};

GRAPHREG_DISPATCHED
void edge_weights_of(const Neighbourhoods& graph, std::size_t begin, std::size_t end, Edges& edges, double* weights) {
    for (std::size_t p = begin; p < end; ++p) {
        const auto i = static_cast<std::size_t>(graph.order[p]);
        edges.weigh(graph, i);
        std::copy_n(edges.weight.data(), graph.k, weights + i * graph.k);
    }
}

GRAPHREG_DISPATCHED
void response_of(const Neighbourhoods& graph, std::size_t begin, std::size_t end, Edges& edges, double* intensity) {
    for (std::size_t p = begin; p < end; ++p) {
        const auto i = static_cast<std::size_t>(graph.order[p]);
        const double degree = edges.weigh(graph, i);
        double x = 0, y = 0, z = 0;
        for (std::size_t j = 0; j < graph.k; ++j) {
            x += edges.weight[j] * edges.x[j];
            y += edges.weight[j] * edges.y[j];
            z += edges.weight[j] * edges.z[j];
        }
        x /= degree;
        y /= degree;
        z /= degree;
        intensity[i] = degree > 0 ? x * x + y * y + z * z : std::numeric_limits<double>::infinity();
    }
}

// A symmetric 3x3 matrix.
struct Symmetric {
    double xx, yy, zz, xy, xz, yz;
};

struct Vector {
    double x, y, z;
};

GRAPHREG_INLINE Vector cross(const Vector& a, const Vector& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

GRAPHREG_INLINE double squared_length(const Vector& a) { return a.x * a.x + a.y * a.y + a.z * a.z; }

// The eigenvector of the smallest eigenvalue, and that eigenvalue over the trace. The trigonometric solution for the
// eigenvalue is good to rounding where it stands apart, also when the other two are equal (a round, flat neighbourhood);
// where it does not, its error grows, but the vector found with it has a Rayleigh quotient that is good again, and with
// that one the vector is found anew.
GRAPHREG_INLINE void plane_of(Symmetric a, double* normal, double* curvature) {
    normal[0] = normal[1] = normal[2] = *curvature = 0;
    const double trace = a.xx + a.yy + a.zz;
    if (!(trace > 0)) return;
    for (double* entry : {&a.xx, &a.yy, &a.zz, &a.xy, &a.xz, &a.yz}) *entry /= trace;
    const double off = a.xy * a.xy + a.xz * a.xz + a.yz * a.yz;
    const double dx = a.xx - 1.0 / 3, dy = a.yy - 1.0 / 3, dz = a.zz - 1.0 / 3;
    const double p = std::sqrt((dx * dx + dy * dy + dz * dz + 2 * off) / 6);
    *curvature = 1.0 / 3;
    if (p < 1e-14) return;
    const double det = dx * (dy * dz - a.yz * a.yz) - a.xy * (a.xy * dz - a.yz * a.xz) + a.xz * (a.xy * a.yz - dy * a.xz);
    const double half = std::clamp(det / (2 * p * p * p), -1.0, 1.0);
    double smallest = 1.0 / 3 + 2 * p * std::cos((std::acos(half) + 2 * std::numbers::pi) / 3);
    Vector n{};
    for (int round = 0; round < 2; ++round) {
        *curvature = std::clamp(smallest, 0.0, 1.0 / 3);
        const Vector r0{a.xx - smallest, a.xy, a.xz}, r1{a.xy, a.yy - smallest, a.yz}, r2{a.xz, a.yz, a.zz - smallest};
        const Vector candidates[3] = {cross(r0, r1), cross(r0, r2), cross(r1, r2)};
        n = candidates[0];
        for (const Vector& c : candidates)
            if (squared_length(c) > squared_length(n)) n = c;
        // About (l1 - l0)(l2 - l0), in parts of the trace: without a second direction there is no plane.
        const double length = std::sqrt(squared_length(n));
        if (length < 1e-12) return;
        n = {n.x / length, n.y / length, n.z / length};
        smallest = n.x * (a.xx * n.x + a.xy * n.y + a.xz * n.z) + n.y * (a.xy * n.x + a.yy * n.y + a.yz * n.z) +
                   n.z * (a.xz * n.x + a.yz * n.y + a.zz * n.z);
    }
    *curvature = std::clamp(smallest, 0.0, 1.0 / 3);
    normal[0] = n.x;
    normal[1] = n.y;
    normal[2] = n.z;
}

GRAPHREG_DISPATCHED
void planes_of(const Neighbourhoods& graph, std::size_t begin, std::size_t end, Edges& edges, double* normals,
               double* curvature) {
    const double members = static_cast<double>(graph.k + 1);
    for (std::size_t p = begin; p < end; ++p) {
        const auto i = static_cast<std::size_t>(graph.order[p]);
        edges.offsets(graph, i);
        double x = 0, y = 0, z = 0, xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;
        for (std::size_t j = 0; j < graph.k; ++j) {
            const double ax = edges.x[j], ay = edges.y[j], az = edges.z[j];
            x += ax, y += ay, z += az;
            xx += ax * ax, yy += ay * ay, zz += az * az;
            xy += ax * ay, xz += ax * az, yz += ay * az;
        }
        plane_of({xx - x * x / members, yy - y * y / members, zz - z * z / members, xy - x * y / members,
                  xz - x * z / members, yz - y * z / members},
                 normals + 3 * i, curvature + i);
    }
}

GRAPHREG_DISPATCHED
void variation_of(const Neighbourhoods& graph, const double* normals, const double* curvature, std::size_t begin,
                  std::size_t end, Edges& edges, double* result) {
    for (std::size_t p = begin; p < end; ++p) {
        const auto i = static_cast<std::size_t>(graph.order[p]);
        edges.weigh(graph, i);
        const double* n = normals + 3 * i;
        double both = 0, turning = 0;
        for (std::size_t j = 0; j < graph.k; ++j) {
            const auto other = static_cast<std::size_t>(graph.neighbours[i * graph.k + j]);
            const double* m = normals + 3 * other;
            const double sign = n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < 0 ? -1.0 : 1.0;
            const double dx = n[0] - sign * m[0], dy = n[1] - sign * m[1], dz = n[2] - sign * m[2];
            const double dc = curvature[i] - curvature[other];
            const double turn = dx * dx + dy * dy + dz * dz;
            both += edges.weight[j] * (turn + dc * dc);
            turning += std::sqrt(edges.weight[j]) * turn;
        }
        result[2 * i] = both;
        result[2 * i + 1] = turning;
    }
}

GRAPHREG_DISPATCHED
void shift_of(const Neighbourhoods& graph, const double* weights, const double* signal, std::size_t width,
              std::size_t begin, std::size_t end, double* result) {
    for (std::size_t p = begin; p < end; ++p) {
        const auto i = static_cast<std::size_t>(graph.order[p]);
        double* out = result + i * width;
        std::fill_n(out, width, 0.0);
        for (std::size_t j = 0; j < graph.k; ++j) {
            const double weight = weights[i * graph.k + j];
            const double* in = signal + static_cast<std::size_t>(graph.neighbours[i * graph.k + j]) * width;
            for (std::size_t f = 0; f < width; ++f) out[f] += weight * in[f];
        }
    }
}

template <class Work>
void for_points(const Neighbourhoods& graph, int threads, Work&& work) {
    parallel_for(graph.count, grain, threads, [&](std::size_t begin, std::size_t end) {
        Edges edges(graph.k);
        work(begin, end, edges);
    });
}

}  // namespace

void edge_weights(const Neighbourhoods& graph, int threads, double* weights) {
    for_points(graph, threads, [&](std::size_t begin, std::size_t end, Edges& edges) {
        edge_weights_of(graph, begin, end, edges, weights);
    });
}

void response(const Neighbourhoods& graph, int threads, double* intensity) {
    for_points(graph, threads, [&](std::size_t begin, std::size_t end, Edges& edges) {
        response_of(graph, begin, end, edges, intensity);
    });
}

void fit_planes(const Neighbourhoods& graph, int threads, double* normals, double* curvature) {
    for_points(graph, threads, [&](std::size_t begin, std::size_t end, Edges& edges) {
        planes_of(graph, begin, end, edges, normals, curvature);
    });
}

void variation(const Neighbourhoods& graph, const double* normals, const double* curvature, int threads,
               double* result) {
    for_points(graph, threads, [&](std::size_t begin, std::size_t end, Edges& edges) {
        variation_of(graph, normals, curvature, begin, end, edges, result);
    });
}

void shift(const Neighbourhoods& graph, const double* weights, const double* signal, std::size_t width, int threads,
           double* result) {
    parallel_for(graph.count, grain, threads, [&](std::size_t begin, std::size_t end) {
        shift_of(graph, weights, signal, width, begin, end, result);
    });
}

}  // namespace graphreg
