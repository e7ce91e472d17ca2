#include "features/plane_fitting.hpp"

namespace graphreg {

namespace {

GRAPHREG_INLINE Vectors cross(const Vectors& a, const Vectors& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

GRAPHREG_INLINE Vectors longer(const Vectors& a, const Vectors& b) {
    const auto first = dot(a, a) >= dot(b, b);
    return {first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z};
}

// Four symmetric 3x3 matrices.
struct Covariances {
    Four xx, yy, zz, xy, xz, yz;

    GRAPHREG_INLINE Vectors times(const Vectors& v) const {
        return {xx * v.x + xy * v.y + xz * v.z, xy * v.x + yy * v.y + yz * v.z, xz * v.x + yz * v.y + zz * v.z};
    }
};

GRAPHREG_INLINE void add(Covariances& sum, const Covariances& other) {
    sum.xx += other.xx, sum.yy += other.yy, sum.zz += other.zz;
    sum.xy += other.xy, sum.xz += other.xz, sum.yz += other.yz;
}

// Weighted sums of vectors and of their products.
struct Moments {
    Vectors first{};
    Covariances second{};

    // Second moments about the mean, which is `first` over the sum of weights.
    GRAPHREG_INLINE Covariances central(const Vectors& mean) const {
        const auto& [x, y, z] = first;
        return {second.xx - x * mean.x, second.yy - y * mean.y, second.zz - z * mean.z,
                second.xy - x * mean.y, second.xz - x * mean.z, second.yz - y * mean.z};
    }
};

// The smallest eigenvalue of a symmetric matrix with trace 1, in closed form: 1/3 + p b, where b is the smallest root
// of b^3 - 3 b = 2 h, and h half the determinant of the matrix with its trace removed, scaled by p. As a function of
// the square root of (1 - h) / 2 that b has no singularity near [0, 1], and a polynomial of degree 13 approximates it
// to 6e-13.
GRAPHREG_INLINE Four smallest_eigenvalue(const Covariances& a) {
    constexpr double smallest_root[] = {-1.5320888862375592,     -0.49481813264583135,    0.03101837683414708,
                                        -0.004932705618270595,   0.0010082500007135206,   -0.00023285109406484541,
                                        5.7836195804128485e-05,  -1.5081042643614948e-05, 4.082074624989218e-06,
                                        -1.1314274550906182e-06, 3.043692718815044e-07,   -8.727806743991096e-08,
                                        3.6762555412548995e-08,  -1.0893537754392518e-08};
    const Four dx = a.xx - 1.0 / 3, dy = a.yy - 1.0 / 3, dz = a.zz - 1.0 / 3;
    const Four off = a.xy * a.xy + a.xz * a.xz + a.yz * a.yz;
    const Four p = square_root((dx * dx + dy * dy + dz * dz + 2.0 * off) / 6.0);
    const Four det = dx * (dy * dz - a.yz * a.yz) - a.xy * (a.xy * dz - a.yz * a.xz) + a.xz * (a.xy * a.yz - dy * a.xz);
    const Four cube = maximum(2.0 * p * p * p, broadcast(1e-300));
    const Four half = maximum(minimum(det / cube, broadcast(1.0)), broadcast(-1.0));
    return 1.0 / 3 + p * polynomial(smallest_root, 2.0 * square_root((1.0 - half) / 2.0) - 1.0);
}

// The normal is undetermined where the product of the gaps between eigenvalues is at most 1e-9 (chosen; rounding of
// 1e-16 rotates other normals by at most 1e-7), or 8 times the rounding of coordinates over the root mean square of
// offsets (chosen). All are squared here.
constexpr double least_gaps = 1e-18;
constexpr double roundings_in_gaps = 64;
constexpr double least_pooled_gaps = 1e-24;  // of voxels (chosen)

struct Planes {
    Vectors normal;
    Four curvature;
};

// Where the smallest eigenvalue is well separated, the closed form is exact to rounding. Where it is not, its error
// grows; but the Rayleigh quotient of the vector found with it is accurate again, and gives the vector in a second
// round. There is no unique plane where the squared product of the gaps between it and the two others, of the matrix
// with trace 1, is at most `least`.
GRAPHREG_INLINE Planes planes_from(Covariances a, Four least) {
    const Four trace = a.xx + a.yy + a.zz;
    const Four divisor = trace > 0.0 ? trace : broadcast(1.0);
    for (Four* entry : {&a.xx, &a.yy, &a.zz, &a.xy, &a.xz, &a.yz}) *entry /= divisor;
    Four value = smallest_eigenvalue(a);
    Vectors normal{};
    for (int round = 0; round < 2; ++round) {
        const Vectors r0{a.xx - value, a.xy, a.xz}, r1{a.xy, a.yy - value, a.yz}, r2{a.xz, a.yz, a.zz - value};
        normal = longer(longer(cross(r0, r1), cross(r0, r2)), cross(r1, r2));
        const Four squared = dot(normal, normal);  // about the square of (l1 - l0)(l2 - l0)
        const auto unique = squared > least;
        const Four scale = unique ? 1.0 / square_root(unique ? squared : broadcast(1.0)) : Four{};
        normal = {normal.x * scale, normal.y * scale, normal.z * scale};
        value = unique ? dot(normal, a.times(normal)) : value;
    }
    const Four clamped = maximum(minimum(value, broadcast(1.0 / 3)), Four{});
    return {normal, trace > 0.0 ? clamped : Four{}};
}

GRAPHREG_INLINE void store(const Vectors& vectors, std::size_t lane, double* out) {
    out[0] = vectors.x[lane];
    out[1] = vectors.y[lane];
    out[2] = vectors.z[lane];
}

GRAPHREG_INLINE bool any_ties(const Ties& ties, const EdgeBatch& batch) {
    if (ties.others.empty()) return false;
    std::size_t count = 0;
    for (const std::size_t i : batch.point) count += ties.start[i + 1] - ties.start[i];
    return count > 0;
}

// The moments of the ties of four points, and their numbers. It writes to single lanes, which would keep the caller's
// sums out of registers if it were inlined; by reference alone it may be called for any instruction set.
[[gnu::noinline]] void tie_moments(const NeighbourGraph& graph, const EdgeBatch& batch, const Ties& ties, Moments& sum,
                                   Four& count) {
    for (std::size_t lane = 0; lane < four_lanes; ++lane) {
        const std::size_t i = batch.point[lane];
        const double* here = graph.points + 3 * i;
        for (std::size_t t = ties.start[i]; t < ties.start[i + 1]; ++t) {
            const double* there = graph.points + 3 * static_cast<std::size_t>(ties.others[t]);
            const double x = there[0] - here[0], y = there[1] - here[1], z = there[2] - here[2];
            sum.first.x[lane] += x, sum.first.y[lane] += y, sum.first.z[lane] += z;
            sum.second.xx[lane] += x * x, sum.second.yy[lane] += y * y, sum.second.zz[lane] += z * z;
            sum.second.xy[lane] += x * y, sum.second.xz[lane] += x * z, sum.second.yz[lane] += y * z;
        }
        count[lane] = static_cast<double>(ties.start[i + 1] - ties.start[i]);
    }
}

GRAPHREG_DISPATCHED
void planes_of(const NeighbourGraph& graph, const Ties& ties, std::size_t begin, std::size_t end, EdgeBatch& batch,
               double* normals, double* curvature) {
    const double squared_rounding = graph.equal.rounding * graph.equal.rounding;
    for (std::size_t p = begin; p < end; p += four_lanes) {
        batch.gather(graph, p, end);
        Moments sum;
        for (const EdgeBatch::Edge& edge : batch.edge) {
            const Vectors& e = edge.offset;
            sum.first.x += e.x, sum.first.y += e.y, sum.first.z += e.z;
            sum.second.xx += e.x * e.x, sum.second.yy += e.y * e.y, sum.second.zz += e.z * e.z;
            sum.second.xy += e.x * e.y, sum.second.xz += e.x * e.z, sum.second.yz += e.y * e.z;
        }
        Four members = broadcast(static_cast<double>(graph.k + 1));
        if (any_ties(ties, batch)) {
            Moments tied;
            Four count;
            tie_moments(graph, batch, ties, tied, count);
            members += count;
            sum.first.x += tied.first.x, sum.first.y += tied.first.y, sum.first.z += tied.first.z;
            add(sum.second, tied.second);
        }
        const Vectors mean{sum.first.x / members, sum.first.y / members, sum.first.z / members};
        const Covariances scatter = sum.central(mean);
        const Four trace = maximum(scatter.xx + scatter.yy + scatter.zz, broadcast(1e-300));
        const Four share = squared_rounding * members / trace;
        const Planes planes = planes_from(scatter, maximum(broadcast(least_gaps), roundings_in_gaps * share));
        const Four spread = share < 1.0 ? planes.curvature : Four{};
        for (std::size_t lane = 0; lane < batch.count; ++lane) {
            store(planes.normal, lane, normals + 3 * batch.point[lane]);
            curvature[batch.point[lane]] = spread[lane];
        }
    }
}

GRAPHREG_INLINE Covariances gather_moments(const double* moments, const std::size_t (&rows)[four_lanes]) {
    return {gather(moments, 6, 0, rows), gather(moments, 6, 1, rows), gather(moments, 6, 2, rows),
            gather(moments, 6, 3, rows), gather(moments, 6, 4, rows), gather(moments, 6, 5, rows)};
}

// The moments of all points of the voxels of a batch and of their neighbours, about the voxels' means; returns the sums
// of weights.
GRAPHREG_INLINE Four pool(const NeighbourGraph& graph, const EdgeBatch& batch, const double* weights,
                          const double* moments, Moments& sum) {
    Four weight{};
    for (std::size_t j = 0; j < graph.k; ++j) {
        std::size_t neighbour[four_lanes];
        neighbours_of(graph, batch, j, neighbour);
        const Four w = gather(weights, 1, 0, neighbour);
        const Vectors& e = batch.edge[j].offset;
        weight += w;
        add(sum.second, gather_moments(moments, neighbour));
        sum.first.x += w * e.x, sum.first.y += w * e.y, sum.first.z += w * e.z;
        sum.second.xx += w * e.x * e.x, sum.second.yy += w * e.y * e.y, sum.second.zz += w * e.z * e.z;
        sum.second.xy += w * e.x * e.y, sum.second.xz += w * e.x * e.z, sum.second.yz += w * e.y * e.z;
    }
    add(sum.second, gather_moments(moments, batch.point));
    return weight + gather(weights, 1, 0, batch.point);
}

GRAPHREG_DISPATCHED
void pooled_planes_of(const NeighbourGraph& graph, const double* weights, const double* moments, std::size_t begin,
                      std::size_t end, EdgeBatch& batch, double* normals, double* roughness, double* projected) {
    for (std::size_t p = begin; p < end; p += four_lanes) {
        batch.gather(graph, p, end);
        Moments sum;
        const Four weight = pool(graph, batch, weights, moments, sum);
        const Vectors mean{sum.first.x / weight, sum.first.y / weight, sum.first.z / weight};
        const Covariances pooled = sum.central(mean);
        const Planes planes = planes_from(pooled, broadcast(least_pooled_gaps));
        const Four variance = maximum((pooled.xx + pooled.yy + pooled.zz) / weight, Four{});
        const Four deviation = square_root(planes.curvature * variance);
        for (std::size_t lane = 0; lane < batch.count; ++lane) {
            const std::size_t i = batch.point[lane];
            double* normal = normals + 3 * i;
            store(planes.normal, lane, normal);
            roughness[i] = deviation[lane];
            const double height = mean.x[lane] * normal[0] + mean.y[lane] * normal[1] + mean.z[lane] * normal[2];
            for (std::size_t axis = 0; axis < 3; ++axis)
                projected[3 * i + axis] = graph.points[3 * i + axis] + height * normal[axis];
        }
    }
}

}  // namespace

Ties::Ties(const std::int32_t* pairs, std::size_t pair_count, std::size_t point_count) : others(pair_count) {
    if (!pair_count) return;
    start.resize(point_count + 2);
    for (std::size_t t = 0; t < pair_count; ++t) ++start[static_cast<std::size_t>(pairs[2 * t]) + 2];
    for (std::size_t i = 2; i < start.size(); ++i) start[i] += start[i - 1];
    for (std::size_t t = 0; t < pair_count; ++t)
        others[start[static_cast<std::size_t>(pairs[2 * t]) + 1]++] = pairs[2 * t + 1];
}

void fit_planes(const NeighbourGraph& graph, const Ties& ties, int threads, double* normals, double* curvature) {
    for_batches(graph, threads, [&](std::size_t begin, std::size_t end, EdgeBatch& batch) {
        planes_of(graph, ties, begin, end, batch, normals, curvature);
    });
}

void fit_pooled_planes(const NeighbourGraph& graph, const double* weights, const double* moments, int threads,
                       double* normals, double* roughness, double* projected) {
    for_batches(graph, threads, [&](std::size_t begin, std::size_t end, EdgeBatch& batch) {
        pooled_planes_of(graph, weights, moments, begin, end, batch, normals, roughness, projected);
    });
}

}  // namespace graphreg
