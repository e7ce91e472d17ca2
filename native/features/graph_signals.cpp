#include "features/graph_signals.hpp"

#include <algorithm>
#include <limits>

namespace graphreg {

namespace {

// exp(x) for x in [-2, 0] from its Taylor series about -1, good to a few units in the last place.
GRAPHREG_INLINE Four exp_of_weight(Four x) {
    constexpr double over_factorial[] = {1.0,
                                         1.0,
                                         1.0 / 2,
                                         1.0 / 6,
                                         1.0 / 24,
                                         1.0 / 120,
                                         1.0 / 720,
                                         1.0 / 5040,
                                         1.0 / 40320,
                                         1.0 / 362880,
                                         1.0 / 3628800,
                                         1.0 / 39916800,
                                         1.0 / 479001600,
                                         1.0 / 6227020800,
                                         1.0 / 87178291200,
                                         1.0 / 1307674368000,
                                         1.0 / 20922789888000,
                                         1.0 / 355687428096000};
    return polynomial(over_factorial, x + 1.0) * 0.36787944117144233;
}

// Sets the weights of the edges, and returns the degrees: the sums of the weights.
GRAPHREG_INLINE Four set_weights(EdgeBatch& batch, const EqualDistances& equal) {
    const Vectors& last = batch.edge.back().offset;
    const Four farthest = dot(last, last);
    // Which of several neighbours at one distance is the farthest of the k is up to rounding: none of them has a
    // weight.
    const Four as_far = farthest - 2.0 * maximum(equal.relative * farthest, equal.rounding * square_root(farthest));
    const Four coincident = broadcast(equal.rounding * equal.rounding);
    const auto distinct = farthest > coincident;
    const Four scale = distinct ? -2.0 / (distinct ? farthest : broadcast(1.0)) : Four{};
    Four degree{};
    for (EdgeBatch::Edge& edge : batch.edge) {
        const Four squared = dot(edge.offset, edge.offset);
        const Four value = exp_of_weight(maximum(squared * scale, broadcast(-2.0)));
        edge.weight = ((squared < as_far) | (squared <= coincident)) ? value : Four{};
        degree += edge.weight;
    }
    return degree;
}

GRAPHREG_DISPATCHED
void edge_weights_of(const NeighbourGraph& graph, std::size_t begin, std::size_t end, EdgeBatch& batch,
                     double* weights) {
    for (std::size_t p = begin; p < end; p += four_lanes) {
        batch.gather(graph, p, end);
        set_weights(batch, graph.equal);
        for (std::size_t lane = 0; lane < batch.count; ++lane)
            for (std::size_t j = 0; j < graph.k; ++j)
                weights[batch.point[lane] * graph.k + j] = batch.edge[j].weight[lane];
    }
}

GRAPHREG_DISPATCHED
void response_of(const NeighbourGraph& graph, std::size_t begin, std::size_t end, EdgeBatch& batch, double* intensity) {
    for (std::size_t p = begin; p < end; p += four_lanes) {
        batch.gather(graph, p, end);
        const Four degree = set_weights(batch, graph.equal);
        Four x{}, y{}, z{};
        for (const EdgeBatch::Edge& edge : batch.edge) {
            x += edge.weight * edge.offset.x;
            y += edge.weight * edge.offset.y;
            z += edge.weight * edge.offset.z;
        }
        const Four divisor = degree > 0.0 ? degree : broadcast(1.0);
        x /= divisor;
        y /= divisor;
        z /= divisor;
        const Four infinite = broadcast(std::numeric_limits<double>::infinity());
        const Four result = degree > 0.0 ? x * x + y * y + z * z : infinite;
        for (std::size_t lane = 0; lane < batch.count; ++lane) intensity[batch.point[lane]] = result[lane];
    }
}

GRAPHREG_INLINE Vectors gather_vectors(const double* vectors, const std::size_t (&rows)[four_lanes]) {
    return {gather(vectors, 3, 0, rows), gather(vectors, 3, 1, rows), gather(vectors, 3, 2, rows)};
}

// |n_i - n_j|^2 or |n_i + n_j|^2, whichever is smaller.
GRAPHREG_INLINE Four squared_change(const Vectors& a, const Vectors& b) {
    const Vectors difference{a.x - b.x, a.y - b.y, a.z - b.z}, sum{a.x + b.x, a.y + b.y, a.z + b.z};
    return minimum(dot(difference, difference), dot(sum, sum));
}

GRAPHREG_DISPATCHED
void variation_of(const NeighbourGraph& graph, const double* normals, const double* curvature, std::size_t begin,
                  std::size_t end, EdgeBatch& batch, double* result) {
    for (std::size_t p = begin; p < end; p += four_lanes) {
        batch.gather(graph, p, end);
        set_weights(batch, graph.equal);
        const Vectors normal = gather_vectors(normals, batch.point);
        const Four own_curvature = gather(curvature, 1, 0, batch.point);
        Four of_both{}, of_normals{};
        for (std::size_t j = 0; j < graph.k; ++j) {
            std::size_t neighbour[four_lanes];
            neighbours_of(graph, batch, j, neighbour);
            const Four weight = batch.edge[j].weight;
            const Four normal_change = squared_change(normal, gather_vectors(normals, neighbour));
            const Four curvature_change = own_curvature - gather(curvature, 1, 0, neighbour);
            of_both += weight * (normal_change + curvature_change * curvature_change);
            of_normals += square_root(weight) * normal_change;
        }
        for (std::size_t lane = 0; lane < batch.count; ++lane) {
            result[2 * batch.point[lane]] = of_both[lane];
            result[2 * batch.point[lane] + 1] = of_normals[lane];
        }
    }
}

GRAPHREG_DISPATCHED
void shift_of(const NeighbourGraph& graph, const double* weights, const double* signal, std::size_t width,
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

}  // namespace

void edge_weights(const NeighbourGraph& graph, int threads, double* weights) {
    for_batches(graph, threads, [&](std::size_t begin, std::size_t end, EdgeBatch& batch) {
        edge_weights_of(graph, begin, end, batch, weights);
    });
}

void response(const NeighbourGraph& graph, int threads, double* intensity) {
    for_batches(graph, threads, [&](std::size_t begin, std::size_t end, EdgeBatch& batch) {
        response_of(graph, begin, end, batch, intensity);
    });
}

void variation(const NeighbourGraph& graph, const double* normals, const double* curvature, int threads,
               double* result) {
    for_batches(graph, threads, [&](std::size_t begin, std::size_t end, EdgeBatch& batch) {
        variation_of(graph, normals, curvature, begin, end, batch, result);
    });
}

void shift(const NeighbourGraph& graph, const double* weights, const double* signal, std::size_t width, int threads,
           double* result) {
    parallel_for(graph.count, points_per_range, threads, [&](std::size_t begin, std::size_t end) {
        shift_of(graph, weights, signal, width, begin, end, result);
    });
}

}  // namespace graphreg
