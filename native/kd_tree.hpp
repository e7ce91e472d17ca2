// Nearest neighbours: a balanced k-d tree over leaves of sixteen points. Queries travel in batches of up to sixteen that
// lie close together (for a cloud's own graph: a leaf), so that one walk through the tree serves them all and distances
// are computed sixteen at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace graphreg {

constexpr int leaf_size = 16;

// Sixteen points, one coordinate after the other. Empty places lie at infinity.
struct alignas(64) Leaf {
    double x[leaf_size], y[leaf_size], z[leaf_size];
    std::int64_t index[leaf_size];
};

struct Box {
    std::array<double, 3> low, high;
};

struct Node {
    Box box;
    double cut;         // no point of the left child lies above it, none of the right child below
    std::int32_t axis;  // which coordinate is cut
    std::int32_t leaf;  // number of the leaf, or -1 for a node with children
};

class KdTree {
public:
    // points: (count, 3), finite, at least one. The tree keeps its own copy.
    KdTree(const double* points, std::size_t count, int threads);

    std::size_t size() const { return count_; }

    // The k nearest of every point of the tree, without itself, nearest first, of equal distances the lower index first.
    // indices: (count, k); squared: (count, k) squared distances, or null. k is less than the number of points.
    void graph(int k, int threads, std::int32_t* indices, double* squared) const;

    // The same for other points: the k nearest points of the tree for each query. k is at most the number of points.
    void nearest(const double* queries, std::size_t count, int k, int threads, std::int32_t* indices,
                 double* squared) const;

    // What is remembered of points that move a little from call to call.
    struct Followed {
        double* searched_at;    // (count, 3): where each was when its neighbours were searched for
        double* second;         // (count): how far its second-nearest point was then
        std::int32_t* nearest;  // (count, 2): its two nearest points then; at first -1
    };

    // The nearest point of the tree for each query: column 0 of `nearest` is brought up to date, by a search only where
    // another point can have become the nearest since the last one. squared: (count).
    void update_nearest(const double* queries, std::size_t count, int threads, const Followed& state, double* squared) const;

    // How many points of the tree lie within `radius` of each query; those at the radius belong to them.
    void count_within(const double* queries, std::size_t count, double radius, int threads, std::int64_t* counts) const;

    // Those points, nearest first: query i fills indices and squared from offsets[i] to offsets[i + 1].
    void within(const double* queries, std::size_t count, double radius, int threads, const std::int64_t* offsets,
                std::int32_t* indices, double* squared) const;

    // The numbers of the points in an order in which neighbours in space are neighbours in memory.
    void order(std::int32_t* indices) const;

private:
    struct Batch;
    struct Range;
    class Nearest;
    class NearestTwo;
    class Within;

    void build(const Range& range, std::vector<Range>& later);
    std::size_t leaf_of(const double* query) const;
    template <class Sink>
    void walk(const Batch& batch, Sink& sink) const;
    static void seek_nearest(const KdTree& tree, const Batch& batch, Nearest& sink);
    static void seek_two(const KdTree& tree, const Batch& batch, NearestTwo& sink);
    static void seek_within(const KdTree& tree, const Batch& batch, Within& sink);
    template <class LeafOf, class Serve>
    void in_batches(const double* queries, std::size_t count, int threads, LeafOf&& leaf_of_query, Serve&& serve) const;
    template <class Serve>
    void in_batches(const double* queries, std::size_t count, int threads, Serve&& serve) const;
    double squared_distance(const double* query, std::int32_t point) const;

    std::size_t count_;
    std::size_t leaf_count_;
    std::unique_ptr<Leaf[]> leaves_;
    std::vector<Node> nodes_;             // a heap: the root is 1, the children of i are 2i and 2i + 1
    std::vector<std::size_t> leaf_node_;  // the node that holds each leaf
    std::vector<std::uint32_t> place_;    // where each point is: its leaf times sixteen, and its place there
};

}  // namespace graphreg
