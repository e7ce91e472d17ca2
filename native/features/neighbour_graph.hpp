// The k-nearest-neighbour graph as kernels see it: four points at a time, one in each lane, with the offsets to their
// neighbours. Differences are taken first, so that coordinates far from the origin lose no precision.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "common/simd.hpp"
#include "points/equal_distances.hpp"

namespace graphreg {

// Points, their neighbours, nearest first, and the order in which points are visited. Any order gives the same values;
// it is fast if consecutive points are close in space.
struct NeighbourGraph {
    const double* points;            // (count, 3)
    const std::int32_t* neighbours;  // (count, k)
    const std::int32_t* order;       // (count)
    std::size_t count;
    std::size_t k;
    EqualDistances equal{};
};

// Vectors of four points.
struct Vectors {
    Four x, y, z;
};

GRAPHREG_INLINE Four dot(const Vectors& a, const Vectors& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// The edges of up to four points.
struct EdgeBatch {
    struct Edge {
        Vectors offset;  // from each point to its neighbour
        Four weight;     // for kernels that need it
    };
    std::size_t point[four_lanes];
    std::size_t count;       // lanes in use; the others repeat the last point
    std::vector<Edge> edge;  // (k)

    explicit EdgeBatch(std::size_t k) : edge(k) {}

    GRAPHREG_INLINE void gather(const NeighbourGraph& graph, std::size_t position, std::size_t end) {
        count = std::min(four_lanes, end - position);
        for (std::size_t lane = 0; lane < four_lanes; ++lane) {
            const auto i = static_cast<std::size_t>(graph.order[std::min(position + lane, end - 1)]);
            point[lane] = i;
            const double* here = graph.points + 3 * i;
            const std::int32_t* neighbours = graph.neighbours + i * graph.k;
            for (std::size_t j = 0; j < graph.k; ++j) {
                const double* there = graph.points + 3 * static_cast<std::size_t>(neighbours[j]);
                edge[j].offset.x[lane] = there[0] - here[0];
                edge[j].offset.y[lane] = there[1] - here[1];
                edge[j].offset.z[lane] = there[2] - here[2];
            }
        }
    }
};

// The j-th neighbours of four points.
GRAPHREG_INLINE void neighbours_of(const NeighbourGraph& graph, const EdgeBatch& batch, std::size_t j,
                                   std::size_t (&result)[four_lanes]) {
    for (std::size_t lane = 0; lane < four_lanes; ++lane)
        result[lane] = static_cast<std::size_t>(graph.neighbours[batch.point[lane] * graph.k + j]);
}

constexpr std::size_t points_per_range = 2048;  // that a thread takes at a time

// Calls work(begin, end, batch) for ranges of positions in the order.
template <class Work>
void for_batches(const NeighbourGraph& graph, int threads, Work&& work) {
    parallel_for(graph.count, points_per_range, threads, [&](std::size_t begin, std::size_t end) {
        EdgeBatch batch(graph.k);
        work(begin, end, batch);
    });
}

}  // namespace graphreg
