#include "local_geometry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

constexpr std::size_t lanes = 4;
constexpr std::size_t grain = 2048;

GRAPHREG_INLINE Four all(double value) { return Four{} + value; }

GRAPHREG_INLINE Four larger(Four a, Four b) { return a > b ? a : b; }

GRAPHREG_INLINE Four smaller(Four a, Four b) { return a < b ? a : b; }

GRAPHREG_INLINE Four root(Four a) { return Four{std::sqrt(a[0]), std::sqrt(a[1]), std::sqrt(a[2]), std::sqrt(a[3])}; }

template <std::size_t Count>
GRAPHREG_INLINE Four polynomial(const double (&coefficients)[Count], Four x) {
    Four sum = all(coefficients[Count - 1]);
    for (std::size_t n = Count - 1; n-- > 0;) sum = sum * x + coefficients[n];
    return sum;
}

// exp(x) for x in [-2, 0] from its Taylor series about -1, good to a few units in the last place.
GRAPHREG_INLINE Four exp_of_weight(Four x) {
    constexpr double over_factorial[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                                         1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600,
                                         1.0 / 6227020800, 1.0 / 87178291200, 1.0 / 1307674368000,
                                         1.0 / 20922789888000, 1.0 / 355687428096000};
    return polynomial(over_factorial, x + 1.0) * 0.36787944117144233;
}

// Four points at a time, one in each lane: the offsets to their neighbours, and the weights of those edges.
struct Edges {
    std::size_t point[lanes];
    std::size_t count;  // lanes in use; the others repeat the last point
    struct Edge {
        Four x, y, z, weight;

        GRAPHREG_INLINE Four squared() const { return x * x + y * y + z * z; }
    };
    std::vector<Edge> edge;

    explicit Edges(std::size_t k) : edge(k) {}

    GRAPHREG_INLINE void gather(const Neighbourhoods& graph, std::size_t position, std::size_t end) {
        count = std::min(lanes, end - position);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const auto i = static_cast<std::size_t>(graph.order[std::min(position + lane, end - 1)]);
            point[lane] = i;
            const double* here = graph.points + 3 * i;
            const std::int32_t* neighbours = graph.neighbours + i * graph.k;
            for (std::size_t j = 0; j < graph.k; ++j) {
                const double* there = graph.points + 3 * static_cast<std::size_t>(neighbours[j]);
                edge[j].x[lane] = there[0] - here[0];
                edge[j].y[lane] = there[1] - here[1];
                edge[j].z[lane] = there[2] - here[2];
            }
        }
    }

    // Returns the degrees: the sums of the weights.
    GRAPHREG_INLINE Four weigh() {
        const Four farthest = edge.back().squared();
        const Four scale = -2.0 / (farthest > 0.0 ? farthest : all(1.0));
        Four degree{};
        for (Edge& e : edge) {
            const Four r = e.squared();
            const Four value = exp_of_weight(larger(r * scale, all(-2.0)));
            e.weight = ((r < farthest) | (r == 0.0)) ? value : Four{};
            degree += e.weight;
        }
        return degree;
    }
};

GRAPHREG_DISPATCHED
void edge_weights_of(const Neighbourhoods& graph, std::size_t begin, std::size_t end, Edges& edges, double* weights) {
    for (std::size_t p = begin; p < end; p += lanes) {
        edges.gather(graph, p, end);
        edges.weigh();
        for (std::size_t lane = 0; lane < edges.count; ++lane)
            for (std::size_t j = 0; j < graph.k; ++j)
                weights[edges.point[lane] * graph.k + j] = edges.edge[j].weight[lane];
    }
}

GRAPHREG_DISPATCHED
void response_of(const Neighbourhoods& graph, std::size_t begin, std::size_t end, Edges& edges, double* intensity) {
    for (std::size_t p = begin; p < end; p += lanes) {
        edges.gather(graph, p, end);
        const Four degree = edges.weigh();
        Four x{}, y{}, z{};
        for (const Edges::Edge& e : edges.edge) {
            x += e.weight * e.x;
            y += e.weight * e.y;
            z += e.weight * e.z;
        }
        const Four divisor = degree > 0.0 ? degree : all(1.0);
        x /= divisor;
        y /= divisor;
        z /= divisor;
        const Four result = degree > 0.0 ? x * x + y * y + z * z : all(std::numeric_limits<double>::infinity());
        for (std::size_t lane = 0; lane < edges.count; ++lane) intensity[edges.point[lane]] = result[lane];
    }
}

struct Vectors {
    Four x, y, z;
};

GRAPHREG_INLINE Vectors cross(const Vectors& a, const Vectors& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

GRAPHREG_INLINE Four dot(const Vectors& a, const Vectors& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

GRAPHREG_INLINE Vectors longer(const Vectors& a, const Vectors& b) {
    const auto first = dot(a, a) >= dot(b, b);
    return {first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z};
}

struct Planes {
    Vectors normal;
    Four curvature;
};

// Four symmetric 3x3 matrices.
struct Covariances {
    Four xx, yy, zz, xy, xz, yz;

    GRAPHREG_INLINE Vectors times(const Vectors& v) const {
        return {xx * v.x + xy * v.y + xz * v.z, xy * v.x + yy * v.y + yz * v.z, xz * v.x + yz * v.y + zz * v.z};
    }
};

// The smallest eigenvalue of a symmetric matrix with trace 1, in closed form: 1/3 + p b, where b is the smallest root of
// b^3 - 3 b = 2 h and h the halved determinant of the matrix shifted to trace 0 and scaled by p. As a function of the root
// of (1 - h) / 2 that b has no singularity near [0, 1], and a polynomial of degree 13 meets it to 6e-13.
GRAPHREG_INLINE Four smallest_eigenvalue(const Covariances& a) {
    constexpr double smallest_root[] = {-1.5320888862375592,   -0.49481813264583135,   0.03101837683414708,
                                        -0.004932705618270595, 0.0010082500007135206,  -0.00023285109406484541,
                                        5.7836195804128485e-05, -1.5081042643614948e-05, 4.082074624989218e-06,
                                        -1.1314274550906182e-06, 3.043692718815044e-07, -8.727806743991096e-08,
                                        3.6762555412548995e-08, -1.0893537754392518e-08};
    const Four dx = a.xx - 1.0 / 3, dy = a.yy - 1.0 / 3, dz = a.zz - 1.0 / 3;
    const Four off = a.xy * a.xy + a.xz * a.xz + a.yz * a.yz;
    const Four p = root((dx * dx + dy * dy + dz * dz + 2.0 * off) / 6.0);
    const Four det =
        dx * (dy * dz - a.yz * a.yz) - a.xy * (a.xy * dz - a.yz * a.xz) + a.xz * (a.xy * a.yz - dy * a.xz);
    const Four cube = larger(2.0 * p * p * p, all(1e-300));
    const Four half = larger(smaller(det / cube, all(1.0)), all(-1.0));
    return 1.0 / 3 + p * polynomial(smallest_root, 2.0 * root((1.0 - half) / 2.0) - 1.0);
}

// Where the smallest eigenvalue stands apart, the closed form is good to rounding. Where it does not, its error grows; but
// the vector found with it has a Rayleigh quotient that is good again, and with that one the vector is found anew.
GRAPHREG_INLINE Planes planes_through(Covariances a) {
    const Four trace = a.xx + a.yy + a.zz;
    const Four divisor = trace > 0.0 ? trace : all(1.0);
    for (Four* entry : {&a.xx, &a.yy, &a.zz, &a.xy, &a.xz, &a.yz}) *entry /= divisor;
    Four value = smallest_eigenvalue(a);
    Vectors normal{};
    for (int round = 0; round < 2; ++round) {
        const Vectors r0{a.xx - value, a.xy, a.xz}, r1{a.xy, a.yy - value, a.yz}, r2{a.xz, a.yz, a.zz - value};
        normal = longer(longer(cross(r0, r1), cross(r0, r2)), cross(r1, r2));
        const Four length = root(dot(normal, normal));
        // About (l1 - l0)(l2 - l0): without a second direction there is no plane.
        const auto stands_out = length > 1e-12;
        const Four scale = stands_out ? 1.0 / (stands_out ? length : all(1.0)) : Four{};
        normal = {normal.x * scale, normal.y * scale, normal.z * scale};
        value = stands_out ? dot(normal, a.times(normal)) : value;
    }
    const Four clamped = larger(smaller(value, all(1.0 / 3)), Four{});
    return {normal, trace > 0.0 ? clamped : Four{}};
}

GRAPHREG_DISPATCHED
void planes_of(const Neighbourhoods& graph, std::size_t begin, std::size_t end, Edges& edges, double* normals,
               double* curvature) {
    const double members = static_cast<double>(graph.k + 1);
    for (std::size_t p = begin; p < end; p += lanes) {
        edges.gather(graph, p, end);
        Four x{}, y{}, z{};
        Covariances sum{};
        for (const Edges::Edge& e : edges.edge) {
            x += e.x, y += e.y, z += e.z;
            sum.xx += e.x * e.x, sum.yy += e.y * e.y, sum.zz += e.z * e.z;
            sum.xy += e.x * e.y, sum.xz += e.x * e.z, sum.yz += e.y * e.z;
        }
        const Four mx = x / members, my = y / members, mz = z / members;
        const Planes planes = planes_through({sum.xx - x * mx, sum.yy - y * my, sum.zz - z * mz, sum.xy - x * my,
                                              sum.xz - x * mz, sum.yz - y * mz});
        for (std::size_t lane = 0; lane < edges.count; ++lane) {
            double* normal = normals + 3 * edges.point[lane];
            normal[0] = planes.normal.x[lane];
            normal[1] = planes.normal.y[lane];
            normal[2] = planes.normal.z[lane];
            curvature[edges.point[lane]] = planes.curvature[lane];
        }
    }
}

GRAPHREG_DISPATCHED
void pooled_planes_of(const Neighbourhoods& graph, const double* weights, const double* moments, std::size_t begin,
                      std::size_t end, Edges& edges, double* normals, double* spread, double* laid) {
    for (std::size_t p = begin; p < end; p += lanes) {
        edges.gather(graph, p, end);
        Four weight{}, x{}, y{}, z{};
        Covariances sum{};
        for (std::size_t j = 0; j <= graph.k; ++j) {
            Four w, m[6];
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const auto other = j == graph.k ? edges.point[lane]
                                                : static_cast<std::size_t>(
                                                      graph.neighbours[edges.point[lane] * graph.k + j]);
                w[lane] = weights[other];
                for (int entry = 0; entry < 6; ++entry) m[entry][lane] = moments[6 * other + entry];
            }
            weight += w;
            sum.xx += m[0], sum.yy += m[1], sum.zz += m[2], sum.xy += m[3], sum.xz += m[4], sum.yz += m[5];
            if (j == graph.k) break;
            const Edges::Edge& e = edges.edge[j];
            x += w * e.x, y += w * e.y, z += w * e.z;
            sum.xx += w * e.x * e.x, sum.yy += w * e.y * e.y, sum.zz += w * e.z * e.z;
            sum.xy += w * e.x * e.y, sum.xz += w * e.x * e.z, sum.yz += w * e.y * e.z;
        }
        const Four mx = x / weight, my = y / weight, mz = z / weight;
        const Covariances pooled{sum.xx - x * mx, sum.yy - y * my, sum.zz - z * mz,
                                 sum.xy - x * my, sum.xz - x * mz, sum.yz - y * mz};
        const Planes planes = planes_through(pooled);
        const Four off = root(planes.curvature * larger((pooled.xx + pooled.yy + pooled.zz) / weight, Four{}));
        for (std::size_t lane = 0; lane < edges.count; ++lane) {
            double* normal = normals + 3 * edges.point[lane];
            normal[0] = planes.normal.x[lane];
            normal[1] = planes.normal.y[lane];
            normal[2] = planes.normal.z[lane];
            spread[edges.point[lane]] = off[lane];
            const double below = mx[lane] * normal[0] + my[lane] * normal[1] + mz[lane] * normal[2];
            for (std::size_t a = 0; a < 3; ++a)
                laid[3 * edges.point[lane] + a] = graph.points[3 * edges.point[lane] + a] + below * normal[a];
        }
    }
}

GRAPHREG_DISPATCHED
void variation_of(const Neighbourhoods& graph, const double* normals, const double* curvature, std::size_t begin,
                  std::size_t end, Edges& edges, double* result) {
    for (std::size_t p = begin; p < end; p += lanes) {
        edges.gather(graph, p, end);
        edges.weigh();
        Vectors here;
        Four bend;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double* n = normals + 3 * edges.point[lane];
            here.x[lane] = n[0], here.y[lane] = n[1], here.z[lane] = n[2];
            bend[lane] = curvature[edges.point[lane]];
        }
        Four both{}, turning{};
        for (std::size_t j = 0; j < graph.k; ++j) {
            Vectors there;
            Four other_bend;
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const auto other = static_cast<std::size_t>(graph.neighbours[edges.point[lane] * graph.k + j]);
                const double* n = normals + 3 * other;
                there.x[lane] = n[0], there.y[lane] = n[1], there.z[lane] = n[2];
                other_bend[lane] = curvature[other];
            }
            const Vectors difference{here.x - there.x, here.y - there.y, here.z - there.z};
            const Vectors sum{here.x + there.x, here.y + there.y, here.z + there.z};
            const Four turn = smaller(dot(difference, difference), dot(sum, sum));
            const Four change = bend - other_bend;
            both += edges.edge[j].weight * (turn + change * change);
            turning += root(edges.edge[j].weight) * turn;
        }
        for (std::size_t lane = 0; lane < edges.count; ++lane) {
            result[2 * edges.point[lane]] = both[lane];
            result[2 * edges.point[lane] + 1] = turning[lane];
        }
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

void fit_pooled_planes(const Neighbourhoods& graph, const double* weights, const double* moments, int threads,
                       double* normals, double* spread, double* laid) {
    parallel_for(graph.count, grain, threads, [&](std::size_t begin, std::size_t end) {
        Edges edges(graph.k);
        pooled_planes_of(graph, weights, moments, begin, end, edges, normals, spread, laid);
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
