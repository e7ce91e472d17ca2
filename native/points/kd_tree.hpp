// Nearest neighbours: a balanced k-d tree with leaves of sixteen points. Queries are processed in batches of up to
// sixteen that are close together (for the tree's own graph: a leaf), so that one traversal serves the whole batch and
// distances are computed sixteen at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace graphreg {

constexpr int leaf_size = 16;

// Sixteen points, one coordinate after the other. Unused entries are at infinity, with index -1.
struct alignas(64) Leaf {
    double x[leaf_size], y[leaf_size], z[leaf_size];
    std::int64_t index[leaf_size];
};

struct Box {
    std::array<double, 3> low, high;
};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Box empty_box{{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}};

inline void enlarge(Box& box, const double* point) {
    for (int axis = 0; axis < 3; ++axis) {
        box.low[axis] = std::min(box.low[axis], point[axis]);
        box.high[axis] = std::max(box.high[axis], point[axis]);
    }
}

struct Node {
    Box box;
    double cut;         // no point of the left child is above it, none of the right child below
    std::int32_t axis;  // which coordinate is cut
    std::int32_t leaf;  // number of the leaf, or -1 for a node with children
};

struct QueryBatch;
class KNearest;
class TwoNearest;
class WithinRadius;

class KdTree {
public:
    // points: (count, 3), finite, at least one; they are copied.
    KdTree(const double* points, std::size_t count, int threads);

    std::size_t size() const { return count_; }

    // The k nearest points of every point of the tree, without itself, nearest first; equal distances by ascending
    // index. indices: (count, k). k is less than the number of points.
    void graph(int k, int threads, std::int32_t* indices) const;

    // The same, and in `ties` the pairs (point, other) of all others that are as far as the k-th (EqualDistances).
    void graph(int k, int threads, std::int32_t* indices, std::vector<std::array<std::int32_t, 2>>& ties) const;

    // The k nearest points of the tree for each query (count, 3). indices, squared: (count, k), squared distances. k is
    // at most the number of points.
    void nearest(const double* queries, std::size_t count, int k, int threads, std::int32_t* indices,
                 double* squared) const;

    // The result of the last search for each of a set of moving queries.
    struct SearchState {
        double* searched_at;      // (count, 3): position of the query at that search
        double* second_distance;  // (count): to the second-nearest point
        std::int32_t* nearest;    // (count, 2): the two nearest points; -1 before the first search
    };

    // The nearest point of each query: updates column 0 of `nearest`, by a search only where another point can have
    // become the nearest since the last one (Greenspan, Godin 2001). squared: (count).
    void update_nearest(const double* queries, std::size_t count, int threads, const SearchState& state,
                        double* squared) const;

    // The number of points within the radius of each query, those at the radius included. counts: (count).
    void count_within(const double* queries, std::size_t count, double radius, int threads, std::int64_t* counts) const;

    // These points, nearest first: query i fills indices and squared from offsets[i] to offsets[i + 1].
    void within(const double* queries, std::size_t count, double radius, int threads, const std::int64_t* offsets,
                std::int32_t* indices, double* squared) const;

    // Indices of the points in an order in which neighbours in space are close in memory.
    void order(std::int32_t* indices) const;

private:
    struct Range;

    void build(const Range& range, std::vector<Range>& postponed);
    void make_leaf(const Range& range, const Box& box);
    std::size_t leaf_of(const double* query) const;
    double squared_distance(const double* query, std::int32_t point) const;
    bool still_nearest(const double* query, std::size_t i, const SearchState& state, double* squared) const;

    template <class Collector>
    void search(const QueryBatch& batch, Collector& collector) const;
    template <class Process>
    void for_leaves(KNearest& collector, std::size_t begin, std::size_t end, Process&& process) const;
    static void search_k_nearest(const KdTree& tree, const QueryBatch& batch, KNearest& collector);
    static void search_two_nearest(const KdTree& tree, const QueryBatch& batch, TwoNearest& collector);
    static void search_within(const KdTree& tree, const QueryBatch& batch, WithinRadius& collector);
    template <class LeafOf, class Process>
    void in_batches(const double* queries, std::size_t count, int threads, LeafOf&& start_leaf,
                    Process&& process) const;
    template <class Process>
    void in_batches(const double* queries, std::size_t count, int threads, Process&& process) const;

    std::size_t count_;
    std::size_t leaf_count_;
    std::unique_ptr<Leaf[]> leaves_;
    std::vector<Node> nodes_;              // a heap: the root is 1, the children of i are 2i and 2i + 1
    std::vector<std::size_t> leaf_node_;   // the node of each leaf
    std::vector<std::uint32_t> position_;  // of each point: its leaf times sixteen, plus its entry there
};

}  // namespace graphreg
