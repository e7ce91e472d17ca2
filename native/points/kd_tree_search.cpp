#include <cmath>

#include "common/dispatch.hpp"
#include "common/parallel.hpp"
#include "points/kd_tree.hpp"
#include "points/kd_tree_collectors.hpp"

namespace graphreg {

// Up to sixteen queries that are close together.
struct QueryBatch {
    alignas(64) double x[leaf_size] = {}, y[leaf_size] = {}, z[leaf_size] = {};
    std::size_t row[leaf_size];  // of the result
    int count = 0;
    std::size_t start;          // the leaf where the search begins
    bool exclude_self = false;  // the queries are the points of that leaf, and must not find themselves
    Box box = empty_box;

    void add(const double* point, std::size_t result_row) {
        x[count] = point[0];
        y[count] = point[1];
        z[count] = point[2];
        row[count++] = result_row;
        enlarge(box, point);
    }
};

namespace {

GRAPHREG_INLINE double squared_gap(const Box& a, const Box& b) {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
        const double gap = std::max(std::max(a.low[i] - b.high[i], b.low[i] - a.high[i]), 0.0);
        sum += gap * gap;
    }
    return sum;
}

// Offers the points of a leaf to all queries of a batch that are near enough to its box. Returns the largest bound.
template <class Collector>
GRAPHREG_INLINE double visit(const QueryBatch& batch, const Leaf& leaf, const Box& box, bool exclude_self,
                             Collector& collector) {
    alignas(64) double gap[leaf_size];
#pragma omp simd
    for (int q = 0; q < leaf_size; ++q) {
        const double dx = std::max(std::max(box.low[0] - batch.x[q], batch.x[q] - box.high[0]), 0.0);
        const double dy = std::max(std::max(box.low[1] - batch.y[q], batch.y[q] - box.high[1]), 0.0);
        const double dz = std::max(std::max(box.low[2] - batch.z[q], batch.z[q] - box.high[2]), 0.0);
        gap[q] = dx * dx + dy * dy + dz * dz;
    }
    for (int q = 0; q < leaf_size; ++q) {
        if (gap[q] > collector.bound[q]) continue;
        alignas(64) double distance[leaf_size];
        const double x = batch.x[q], y = batch.y[q], z = batch.z[q];
#pragma omp simd
        for (int i = 0; i < leaf_size; ++i) {
            const double dx = leaf.x[i] - x, dy = leaf.y[i] - y, dz = leaf.z[i] - z;
            distance[i] = dx * dx + dy * dy + dz * dz;
        }
        if (exclude_self) distance[q] = infinity;
        collector.offer(q, distance, leaf.index);
    }
    return *std::max_element(collector.bound, collector.bound + leaf_size);
}

}  // namespace

// From the batch's first leaf up to the root, and from each node on the path down into its sibling, except for subtrees
// that are too far for all queries. There is one call of visit(), which is inlined: a second one would double the code.
template <class Collector>
GRAPHREG_INLINE void KdTree::search(const QueryBatch& batch, Collector& collector) const {
    std::pair<std::size_t, double> stack[128];  // nodes and their squared gaps; at most two for each level
    double widest = infinity;
    std::size_t ancestor = leaf_node_[batch.start];
    std::size_t next = ancestor;
    for (;;) {
        int depth = 0;
        stack[depth++] = {next, squared_gap(nodes_[next].box, batch.box)};
        while (depth) {
            const auto [number, gap] = stack[--depth];
            if (gap > widest) continue;
            const Node& node = nodes_[number];
            if (node.leaf >= 0) {
                const bool exclude_self = batch.exclude_self && next == ancestor;
                widest = visit(batch, leaves_[node.leaf], node.box, exclude_self, collector);
                continue;
            }
            std::pair near{2 * number, squared_gap(nodes_[2 * number].box, batch.box)};
            std::pair far{2 * number + 1, squared_gap(nodes_[2 * number + 1].box, batch.box)};
            if (far.second < near.second) std::swap(near, far);
            if (far.second <= widest) stack[depth++] = far;
            if (near.second <= widest) stack[depth++] = near;
        }
        if (next != ancestor) ancestor /= 2;
        if (ancestor <= 1) return;
        next = ancestor ^ 1;
    }
}

GRAPHREG_DISPATCHED
void KdTree::search_k_nearest(const KdTree& tree, const QueryBatch& batch, KNearest& collector) {
    collector.begin(batch.count);
    tree.search(batch, collector);
    collector.finish(batch.count);
}

// The caller has begun: the collector may already have candidates.
GRAPHREG_DISPATCHED
void KdTree::search_two_nearest(const KdTree& tree, const QueryBatch& batch, TwoNearest& collector) {
    tree.search(batch, collector);
}

GRAPHREG_DISPATCHED
void KdTree::search_within(const KdTree& tree, const QueryBatch& batch, WithinRadius& collector) {
    collector.begin(batch.count);
    tree.search(batch, collector);
    collector.finish(batch.count);
}

std::size_t KdTree::leaf_of(const double* query) const {
    std::size_t node = 1;
    while (nodes_[node].leaf < 0) node = 2 * node + (query[nodes_[node].axis] >= nodes_[node].cut);
    return static_cast<std::size_t>(nodes_[node].leaf);
}

double KdTree::squared_distance(const double* query, std::int32_t point) const {
    const Leaf& leaf = leaves_[position_[point] / leaf_size];
    const std::size_t i = position_[point] % leaf_size;
    const double dx = leaf.x[i] - query[0], dy = leaf.y[i] - query[1], dz = leaf.z[i] - query[2];
    return dx * dx + dy * dy + dz * dz;
}

// Sorts queries by the leaf that they start at, so that batches are compact, and calls process() with some batches at a
// time.
template <class LeafOf, class Process>
void KdTree::in_batches(const double* queries, std::size_t count, int threads, LeafOf&& start_leaf,
                        Process&& process) const {
    std::vector<std::uint32_t> leaf(count), sorted(count);
    parallel_for(count, 1 << 15, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) leaf[i] = static_cast<std::uint32_t>(start_leaf(i));
    });
    std::vector<std::size_t> offset(leaf_count_ + 1);
    for (std::size_t i = 0; i < count; ++i) ++offset[leaf[i] + 1];
    for (std::size_t l = 0; l < leaf_count_; ++l) offset[l + 1] += offset[l];
    for (std::size_t i = 0; i < count; ++i) sorted[offset[leaf[i]]++] = static_cast<std::uint32_t>(i);
    parallel_for(count, 64 * leaf_size, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<QueryBatch> batches((end - begin + leaf_size - 1) / leaf_size);
        for (std::size_t i = begin; i < end; ++i) {
            QueryBatch& batch = batches[(i - begin) / leaf_size];
            if (!batch.count) batch.start = leaf[sorted[i]];
            batch.add(queries + 3 * std::size_t{sorted[i]}, sorted[i]);
        }
        process(batches);
    });
}

template <class Process>
void KdTree::in_batches(const double* queries, std::size_t count, int threads, Process&& process) const {
    in_batches(queries, count, threads, [&](std::size_t i) { return leaf_of(queries + 3 * i); }, process);
}

// Searches for the neighbours of the points of some leaves, and calls process(q, row) for each point.
template <class Process>
void KdTree::for_leaves(KNearest& collector, std::size_t begin, std::size_t end, Process&& process) const {
    for (std::size_t l = begin; l < end; ++l) {
        const Leaf& leaf = leaves_[l];
        QueryBatch batch;
        batch.start = l;
        batch.exclude_self = true;
        for (int i = 0; i < leaf_size && leaf.index[i] >= 0; ++i) {
            const double point[3] = {leaf.x[i], leaf.y[i], leaf.z[i]};
            batch.add(point, static_cast<std::size_t>(leaf.index[i]));
        }
        search_k_nearest(*this, batch, collector);
        for (int q = 0; q < batch.count; ++q) process(q, batch.row[q]);
    }
}

constexpr std::size_t leaves_per_range = 64;  // that a thread takes at a time

void KdTree::graph(int k, int threads, std::int32_t* indices) const {
    parallel_for(leaf_count_, leaves_per_range, threads, [&](std::size_t begin, std::size_t end) {
        KNearest collector(k);
        for_leaves(collector, begin, end,
                   [&](int q, std::size_t row) { std::copy_n(collector.indices(q), k, indices + row * k); });
    });
}

void KdTree::graph(int k, int threads, std::int32_t* indices, std::vector<std::array<std::int32_t, 2>>& ties) const {
    const Box& box = nodes_[1].box;
    double largest = 0;
    for (int axis = 0; axis < 3; ++axis)
        largest = std::max({largest, std::abs(box.low[axis]), std::abs(box.high[axis])});
    std::vector<std::vector<std::array<std::int32_t, 2>>> of_ranges(leaf_count_ / leaves_per_range + 1);
    parallel_for(leaf_count_, leaves_per_range, threads, [&](std::size_t begin, std::size_t end) {
        auto& pairs = of_ranges[begin / leaves_per_range];
        KNearest collector(k, EqualDistances(largest));
        for_leaves(collector, begin, end, [&](int q, std::size_t row) {
            const std::int32_t* in_order = collector.indices(q);
            std::copy_n(in_order, k, indices + row * k);
            for (std::size_t i = static_cast<std::size_t>(k); i < collector.size(q); ++i)
                pairs.push_back({static_cast<std::int32_t>(row), in_order[i]});
        });
    });
    for (const auto& pairs : of_ranges) ties.insert(ties.end(), pairs.begin(), pairs.end());
}

void KdTree::nearest(const double* queries, std::size_t count, int k, int threads, std::int32_t* indices,
                     double* squared) const {
    in_batches(queries, count, threads, [&](const std::vector<QueryBatch>& batches) {
        KNearest collector(k);
        for (const QueryBatch& batch : batches) {
            search_k_nearest(*this, batch, collector);
            for (int q = 0; q < batch.count; ++q) {
                std::copy_n(collector.indices(q), k, indices + batch.row[q] * k);
                std::copy_n(collector.squared(q), k, squared + batch.row[q] * k);
            }
        }
    });
}

void KdTree::count_within(const double* queries, std::size_t count, double radius, int threads,
                          std::int64_t* counts) const {
    in_batches(queries, count, threads, [&](const std::vector<QueryBatch>& batches) {
        WithinRadius collector(radius, true);
        for (const QueryBatch& batch : batches) {
            search_within(*this, batch, collector);
            for (int q = 0; q < batch.count; ++q) counts[batch.row[q]] = collector.counts[q];
        }
    });
}

void KdTree::within(const double* queries, std::size_t count, double radius, int threads, const std::int64_t* offsets,
                    std::int32_t* indices, double* squared) const {
    in_batches(queries, count, threads, [&](const std::vector<QueryBatch>& batches) {
        WithinRadius collector(radius, false);
        for (const QueryBatch& batch : batches) {
            search_within(*this, batch, collector);
            for (int q = 0; q < batch.count; ++q) {
                std::int64_t out = offsets[batch.row[q]];
                for (const auto& [distance, index] : collector.found[q]) {
                    indices[out] = index;
                    squared[out++] = distance;
                }
            }
        }
    });
}

// Updates squared[i], and returns whether the nearest point of the last search must still be the nearest one.
bool KdTree::still_nearest(const double* query, std::size_t i, const SearchState& state, double* squared) const {
    if (state.nearest[2 * i] < 0) return false;
    const double* then = state.searched_at + 3 * i;
    const double x = query[0] - then[0], y = query[1] - then[1], z = query[2] - then[2];
    squared[i] = squared_distance(query, state.nearest[2 * i]);
    // No other point can be nearer than this; a little less, for rounding.
    const double others = state.second_distance[i] * (1 - 1e-12) - std::sqrt(x * x + y * y + z * z);
    return std::sqrt(squared[i]) < others;
}

void KdTree::update_nearest(const double* queries, std::size_t count, int threads, const SearchState& state,
                            double* squared) const {
    std::vector<std::uint32_t> stale;
    std::vector<double> positions;
    for (std::size_t i = 0; i < count; ++i) {
        const double* query = queries + 3 * i;
        if (still_nearest(query, i, state, squared)) continue;
        stale.push_back(static_cast<std::uint32_t>(i));
        positions.insert(positions.end(), query, query + 3);
    }
    // The previous neighbours bound the search, and are where it starts.
    auto previous_leaf = [&](std::size_t i) {
        const std::int32_t previous = state.nearest[2 * stale[i]];
        return previous < 0 ? leaf_of(positions.data() + 3 * i) : position_[previous] / leaf_size;
    };
    in_batches(positions.data(), stale.size(), threads, previous_leaf, [&](const std::vector<QueryBatch>& batches) {
        TwoNearest collector;
        for (const QueryBatch& batch : batches) {
            collector.begin(batch.count);
            for (int q = 0; q < batch.count; ++q)
                for (std::size_t column = 0; column < 2; ++column)
                    if (const std::int32_t previous = state.nearest[2 * stale[batch.row[q]] + column]; previous >= 0)
                        collector.insert(q,
                                         {squared_distance(positions.data() + 3 * batch.row[q], previous), previous});
            search_two_nearest(*this, batch, collector);
            for (int q = 0; q < batch.count; ++q) {
                const std::size_t row = stale[batch.row[q]];
                std::copy_n(positions.data() + 3 * batch.row[q], 3, state.searched_at + 3 * row);
                state.nearest[2 * row] = static_cast<std::int32_t>(collector.best[q].index);
                state.nearest[2 * row + 1] = static_cast<std::int32_t>(collector.second[q].index);
                state.second_distance[row] = std::sqrt(collector.second[q].squared);
                squared[row] = collector.best[q].squared;
            }
        }
    });
}

}  // namespace graphreg
