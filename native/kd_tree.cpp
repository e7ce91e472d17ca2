#include "kd_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Farther than any point and nearer than an empty place.
constexpr double farthest = std::numeric_limits<double>::max();

// A point on its way into the tree. Sixteen of them take the room of one leaf, so that leaves are made in place.
struct Item {
    double at[3];
    std::int64_t index;
};
static_assert(sizeof(Item) * leaf_size == sizeof(Leaf));

// Brings items below the pivot to the front without a branch, and returns where they end.
Item* partition_below(Item* first, Item* last, double pivot, int axis) {
    Item* end = first;
    for (Item* item = first; item != last; ++item) {
        const Item mine = *item;
        *item = *end;
        *end = mine;
        end += mine.at[axis] < pivot;
    }
    return end;
}

// Like std::nth_element. Pivots are drawn from a sample, a little to the side of where the wanted item must be, so that
// it is left in the smaller part: then about one and a half passes over the items are enough.
void select_item(Item* first, Item* wanted, Item* last, int axis) {
    constexpr std::ptrdiff_t sampled = 64, few = 2 * leaf_size;
    for (int round = 0; last - first > few && round < 64; ++round) {
        const std::ptrdiff_t count = last - first, size = std::min(sampled, count / 8);
        double sample[sampled];
        for (std::ptrdiff_t i = 0; i < size; ++i) sample[i] = first[i * count / size].at[axis];
        const double share = static_cast<double>(wanted - first) / static_cast<double>(count);
        const double spread = std::sqrt(share * (1 - share) * static_cast<double>(size));
        const double place = share * static_cast<double>(size) + (share < 0.5 ? spread : -spread);
        double* pivot = sample + std::clamp(static_cast<std::ptrdiff_t>(place), std::ptrdiff_t{0}, size - 1);
        std::nth_element(sample, pivot, sample + size);
        Item* middle = partition_below(first, last, *pivot, axis);
        if (middle == first) {
            // Nothing is below: put all that equals the pivot to the front, there may be any number of them.
            middle = partition_below(first, last, std::nextafter(*pivot, infinity), axis);
            if (wanted < middle) return;
        }
        (wanted < middle ? last : first) = middle;
    }
    std::nth_element(first, wanted, last, [axis](const Item& a, const Item& b) { return a.at[axis] < b.at[axis]; });
}

constexpr Box nothing{{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}};

GRAPHREG_INLINE void enlarge(Box& box, const double* point) {
    for (int a = 0; a < 3; ++a) {
        box.low[a] = std::min(box.low[a], point[a]);
        box.high[a] = std::max(box.high[a], point[a]);
    }
}

GRAPHREG_INLINE double squared_gap(const Box& a, const Box& b) {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
        const double gap = std::max(std::max(a.low[i] - b.high[i], b.low[i] - a.high[i]), 0.0);
        sum += gap * gap;
    }
    return sum;
}

}  // namespace

// Up to sixteen queries that lie close together.
struct KdTree::Batch {
    alignas(64) double x[leaf_size] = {}, y[leaf_size] = {}, z[leaf_size] = {};
    std::size_t row[leaf_size];  // where the answer goes
    int count = 0;
    std::size_t start;           // the leaf where the walk begins
    bool own = false;            // the queries are the points of that leaf, and must not find themselves
    Box box = nothing;

    void add(const double* point, std::size_t answer_row) {
        x[count] = point[0];
        y[count] = point[1];
        z[count] = point[2];
        row[count++] = answer_row;
        enlarge(box, point);
    }
};

// Gathers what may be among the k nearest of each query. Candidates are appended without a branch, and thinned out to
// the best k by counting how many are nearer than each: branches that depend on distances cannot be predicted, and cost
// more than the comparisons they would save.
class KdTree::Nearest {
public:
    alignas(64) double bound[leaf_size];

    explicit Nearest(int k)
        : k_(k), slack_(std::max<std::size_t>(k_ / 2, 8)), room_((k_ + slack_ + leaf_size + 7) / 8 * 8), rank_(room_) {
        for (auto& list : lists_)
            for (auto& half : list.halves) half = {std::vector<double>(room_), std::vector<std::int32_t>(room_)};
    }

    GRAPHREG_INLINE void begin(int count) {
        for (int q = 0; q < leaf_size; ++q) {
            bound[q] = q < count ? farthest : -1.0;
            lists_[q].held = 0;
        }
    }

    GRAPHREG_INLINE void offer(int q, const double* distance, const std::int64_t* index) {
        List& list = lists_[q];
        double* d = list.now().squared.data();
        std::int32_t* n = list.now().indices.data();
        const double limit = bound[q];
        std::size_t held = list.held;
        for (int i = 0; i < leaf_size; ++i) {
            d[held] = distance[i];
            n[held] = static_cast<std::int32_t>(index[i]);
            held += distance[i] <= limit;
        }
        list.held = held;
        if ((limit == farthest && held >= k_) || held > k_ + slack_) thin(q);
    }

    GRAPHREG_INLINE void finish(int count) {
        for (int q = 0; q < count; ++q) thin(q);
    }

    const std::int32_t* indices(int q) const { return lists_[q].now().indices.data(); }
    const double* squared(int q) const { return lists_[q].now().squared.data(); }

private:
    struct Half {
        std::vector<double> squared;
        std::vector<std::int32_t> indices;
    };

    // Candidates of one query. Thinning moves them from one half into the other.
    struct List {
        Half halves[2];
        int side = 0;
        std::size_t held = 0;

        Half& now() { return halves[side]; }
        const Half& now() const { return halves[side]; }
    };

    static constexpr std::size_t few = 96;  // up to so many, counting beats sorting

    GRAPHREG_INLINE void thin(int q) {
        List& list = lists_[q];
        Half &from = list.halves[list.side], &to = list.halves[1 - list.side];
        if (list.held > few || !counted(from, to, list.held)) sorted(from, to, list.held);
        list.side = 1 - list.side;
        if (list.held >= k_) bound[q] = to.squared[k_ - 1];
        list.held = std::min(list.held, k_);
    }

    // Puts each candidate at the place that is the number of nearer ones. False where two are equally near.
    GRAPHREG_INLINE bool counted(Half& from, Half& to, std::size_t held) {
        double* d = from.squared.data();
        std::int64_t* rank = rank_.data();
        const std::size_t padded = (held + 7) / 8 * 8;
        for (std::size_t i = held; i < padded; ++i) d[i] = infinity;
        for (std::size_t i = 0; i < padded; i += 8) {
            Four a, b;
            std::memcpy(&a, d + i, sizeof a);
            std::memcpy(&b, d + i + 4, sizeof b);
            FourIntegers nearer_a{}, nearer_b{};
            for (std::size_t j = 0; j < held; ++j) {
                const Four other = Four{} + d[j];
                nearer_a -= other < a;
                nearer_b -= other < b;
            }
            std::memcpy(rank + i, &nearer_a, sizeof nearer_a);
            std::memcpy(rank + i + 4, &nearer_b, sizeof nearer_b);
        }
        const std::int32_t* n = from.indices.data();
        double* d_to = to.squared.data();
        std::int32_t* n_to = to.indices.data();
        std::size_t sum = 0;
        for (std::size_t i = 0; i < held; ++i) {
            const auto place = static_cast<std::size_t>(rank[i]);
            d_to[place] = d[i];
            n_to[place] = n[i];
            sum += place;
        }
        return 2 * sum + held == held * held;
    }

    void sorted(const Half& from, Half& to, std::size_t held) {
        pairs_.resize(held);
        for (std::size_t i = 0; i < held; ++i) pairs_[i] = {from.squared[i], from.indices[i]};
        const std::size_t kept = std::min(held, k_);
        std::partial_sort(pairs_.begin(), pairs_.begin() + static_cast<std::ptrdiff_t>(kept), pairs_.end());
        for (std::size_t i = 0; i < kept; ++i) std::tie(to.squared[i], to.indices[i]) = pairs_[i];
    }

    std::size_t k_;
    std::size_t slack_;  // so many more than k are gathered before they are thinned out
    std::size_t room_;
    List lists_[leaf_size];
    std::vector<std::int64_t> rank_;
    std::vector<std::pair<double, std::int32_t>> pairs_;
};

// Keeps the two nearest of each query, of equal distances the lower index first.
class KdTree::NearestTwo {
public:
    struct Candidate {
        double squared = infinity;
        std::int64_t index = -1;

        bool before(const Candidate& other) const {
            return squared < other.squared || (squared == other.squared && index < other.index);
        }
    };

    alignas(64) double bound[leaf_size];
    Candidate best[leaf_size], second[leaf_size];

    GRAPHREG_INLINE void begin(int count) {
        for (int q = 0; q < leaf_size; ++q) {
            best[q] = second[q] = Candidate{};
            bound[q] = q < count ? farthest : -1.0;
        }
    }

    GRAPHREG_INLINE void offer(int q, const double* distance, const std::int64_t* index) {
        std::int64_t within = 0;
        for (int i = 0; i < leaf_size; ++i) within |= distance[i] <= bound[q];
        if (!within) return;
        for (int i = 0; i < leaf_size; ++i)
            if (distance[i] <= bound[q]) insert(q, {distance[i], index[i]});
    }

    GRAPHREG_INLINE void insert(int q, Candidate found) {
        if (found.index == best[q].index || found.index == second[q].index) return;
        if (found.before(best[q])) {
            second[q] = best[q];
            best[q] = found;
        } else if (found.before(second[q])) {
            second[q] = found;
        }
        bound[q] = std::min(second[q].squared, farthest);
    }
};

// Gathers, or only counts, all that lie within a radius.
class KdTree::Within {
public:
    alignas(64) double bound[leaf_size];
    std::vector<std::pair<double, std::int32_t>> found[leaf_size];
    std::int64_t counts[leaf_size];

    Within(double radius, bool only_count) : squared_(radius * radius), only_count_(only_count) {}

    GRAPHREG_INLINE void begin(int count) {
        for (int q = 0; q < leaf_size; ++q) {
            bound[q] = q < count ? squared_ : -1.0;
            counts[q] = 0;
            found[q].clear();
        }
    }

    GRAPHREG_INLINE void offer(int q, const double* distance, const std::int64_t* index) {
        std::int64_t inside = 0;
        for (int i = 0; i < leaf_size; ++i) inside += distance[i] <= squared_;
        counts[q] += inside;
        if (only_count_ || !inside) return;
        for (int i = 0; i < leaf_size; ++i)
            if (distance[i] <= squared_) found[q].emplace_back(distance[i], static_cast<std::int32_t>(index[i]));
    }

    GRAPHREG_INLINE void finish(int count) {
        for (int q = 0; q < count; ++q) std::sort(found[q].begin(), found[q].end());
    }

private:
    double squared_;
    bool only_count_;
};

// Leads a batch through the tree, from its own leaf outwards, past everything that is too far for all of it.
template <class Sink>
GRAPHREG_INLINE void KdTree::walk(const Batch& batch, Sink& sink) const {
    double widest;
    auto visit = [&](const Leaf& leaf, const Box& box, bool own) __attribute__((always_inline)) {
        alignas(64) double gap[leaf_size];
#pragma omp simd
        for (int q = 0; q < leaf_size; ++q) {
            const double dx = std::max(std::max(box.low[0] - batch.x[q], batch.x[q] - box.high[0]), 0.0);
            const double dy = std::max(std::max(box.low[1] - batch.y[q], batch.y[q] - box.high[1]), 0.0);
            const double dz = std::max(std::max(box.low[2] - batch.z[q], batch.z[q] - box.high[2]), 0.0);
            gap[q] = dx * dx + dy * dy + dz * dz;
        }
        for (int q = 0; q < leaf_size; ++q) {
            if (gap[q] > sink.bound[q]) continue;
            alignas(64) double distance[leaf_size];
            const double x = batch.x[q], y = batch.y[q], z = batch.z[q];
#pragma omp simd
            for (int i = 0; i < leaf_size; ++i) {
                const double dx = leaf.x[i] - x, dy = leaf.y[i] - y, dz = leaf.z[i] - z;
                distance[i] = dx * dx + dy * dy + dz * dz;
            }
            if (own) distance[q] = infinity;
            sink.offer(q, distance, leaf.index);
        }
        widest = *std::max_element(sink.bound, sink.bound + leaf_size);
    };

    std::pair<std::size_t, double> waiting[128];  // nodes and their gaps; two a level at the most
    std::size_t climbed = leaf_node_[batch.start];
    visit(leaves_[batch.start], nodes_[climbed].box, batch.own);
    for (; climbed > 1; climbed /= 2) {
        int depth = 0;
        waiting[depth++] = {climbed ^ 1, squared_gap(nodes_[climbed ^ 1].box, batch.box)};
        while (depth) {
            const auto [number, gap] = waiting[--depth];
            if (gap > widest) continue;
            const Node& node = nodes_[number];
            if (node.leaf >= 0) {
                visit(leaves_[node.leaf], node.box, false);
                continue;
            }
            std::pair near{2 * number, squared_gap(nodes_[2 * number].box, batch.box)};
            std::pair far{2 * number + 1, squared_gap(nodes_[2 * number + 1].box, batch.box)};
            if (far.second < near.second) std::swap(near, far);
            if (far.second <= widest) waiting[depth++] = far;
            if (near.second <= widest) waiting[depth++] = near;
        }
    }
}

GRAPHREG_DISPATCHED
void KdTree::seek_nearest(const KdTree& tree, const Batch& batch, Nearest& sink) {
    sink.begin(batch.count);
    tree.walk(batch, sink);
    sink.finish(batch.count);
}

// The sink has begun: it holds what was guessed.
GRAPHREG_DISPATCHED
void KdTree::seek_two(const KdTree& tree, const Batch& batch, NearestTwo& sink) {
    tree.walk(batch, sink);
}

GRAPHREG_DISPATCHED
void KdTree::seek_within(const KdTree& tree, const Batch& batch, Within& sink) {
    sink.begin(batch.count);
    tree.walk(batch, sink);
    sink.finish(batch.count);
}

struct KdTree::Range {
    std::size_t node, first, last;  // a node and its leaves
};

KdTree::KdTree(const double* points, std::size_t count, int threads)
    : count_(count), leaf_count_((count + leaf_size - 1) / leaf_size), leaves_(new Leaf[leaf_count_]),
      nodes_(2 * std::bit_ceil(leaf_count_)), leaf_node_(leaf_count_), place_(count) {
    Item* items = reinterpret_cast<Item*>(leaves_.get());
    parallel_for(count, 1 << 16, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            items[i] = {{points[3 * i], points[3 * i + 1], points[3 * i + 2]}, static_cast<std::int64_t>(i)};
    });
    for (std::vector<Range> level{{1, 0, leaf_count_}}; !level.empty();) {
        std::vector<std::vector<Range>> later(level.size());
        parallel_for(level.size(), 1, threads,
                     [&](std::size_t i, std::size_t) { build(level[i], later[i]); });
        level.clear();
        for (const auto& ranges : later) level.insert(level.end(), ranges.begin(), ranges.end());
    }
    for (std::size_t l = 0; l < leaf_count_; ++l)
        for (int i = 0; i < leaf_size && leaves_[l].index[i] >= 0; ++i)
            place_[leaves_[l].index[i]] = static_cast<std::uint32_t>(l * leaf_size + i);
}

// Halves the leaves of a node at the median of its longest side. The children of large nodes are left for later, when
// several threads can take them.
void KdTree::build(const Range& range, std::vector<Range>& later) {
    constexpr std::size_t large = 512;
    const auto [node, first, last] = range;
    Item* items = reinterpret_cast<Item*>(leaves_.get());
    const std::size_t begin = first * leaf_size, end = std::min(last * leaf_size, count_);
    Box box = nothing;
    for (std::size_t i = begin; i < end; ++i) enlarge(box, items[i].at);
    if (last - first == 1) {
        Item mine[leaf_size];
        std::fill(std::copy(items + begin, items + end, mine), mine + leaf_size,
                  Item{{infinity, infinity, infinity}, -1});
        Leaf& leaf = leaves_[first];
        for (int i = 0; i < leaf_size; ++i) {
            std::tie(leaf.x[i], leaf.y[i], leaf.z[i]) = std::tie(mine[i].at[0], mine[i].at[1], mine[i].at[2]);
            leaf.index[i] = mine[i].index;
        }
        nodes_[node] = {box, 0, 0, static_cast<std::int32_t>(first)};
        leaf_node_[first] = node;
        return;
    }
    int axis = 0;
    for (int a = 1; a < 3; ++a)
        if (box.high[a] - box.low[a] > box.high[axis] - box.low[axis]) axis = a;
    const std::size_t middle = first + (last - first) / 2;
    select_item(items + begin, items + middle * leaf_size, items + end, axis);
    nodes_[node] = {box, items[middle * leaf_size].at[axis], axis, -1};
    for (const Range& child : {Range{2 * node, first, middle}, Range{2 * node + 1, middle, last}}) {
        if (last - first > large)
            later.push_back(child);
        else
            build(child, later);
    }
}

std::size_t KdTree::leaf_of(const double* query) const {
    std::size_t node = 1;
    while (nodes_[node].leaf < 0) node = 2 * node + (query[nodes_[node].axis] >= nodes_[node].cut);
    return static_cast<std::size_t>(nodes_[node].leaf);
}

void KdTree::graph(int k, int threads, std::int32_t* indices, double* squared) const {
    parallel_for(leaf_count_, 64, threads, [&](std::size_t begin, std::size_t end) {
        Nearest sink(k);
        for (std::size_t l = begin; l < end; ++l) {
            const Leaf& leaf = leaves_[l];
            Batch batch;
            batch.start = l;
            batch.own = true;
            for (int i = 0; i < leaf_size && leaf.index[i] >= 0; ++i) {
                const double point[3] = {leaf.x[i], leaf.y[i], leaf.z[i]};
                batch.add(point, static_cast<std::size_t>(leaf.index[i]));
            }
            seek_nearest(*this, batch, sink);
            for (int q = 0; q < batch.count; ++q) {
                std::copy_n(sink.indices(q), k, indices + batch.row[q] * k);
                if (squared) std::copy_n(sink.squared(q), k, squared + batch.row[q] * k);
            }
        }
    });
}

// Sorts queries by the leaf they begin at, so that batches lie close together, and calls serve() on pieces of them.
template <class LeafOf, class Serve>
void KdTree::in_batches(const double* queries, std::size_t count, int threads, LeafOf&& leaf_of_query,
                      Serve&& serve) const {
    std::vector<std::uint32_t> leaf(count), sorted(count);
    parallel_for(count, 1 << 15, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) leaf[i] = static_cast<std::uint32_t>(leaf_of_query(i));
    });
    std::vector<std::size_t> place(leaf_count_ + 1);
    for (std::size_t i = 0; i < count; ++i) ++place[leaf[i] + 1];
    for (std::size_t l = 0; l < leaf_count_; ++l) place[l + 1] += place[l];
    for (std::size_t i = 0; i < count; ++i) sorted[place[leaf[i]]++] = static_cast<std::uint32_t>(i);
    parallel_for(count, 64 * leaf_size, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<Batch> batches((end - begin + leaf_size - 1) / leaf_size);
        for (std::size_t i = begin; i < end; ++i) {
            Batch& batch = batches[(i - begin) / leaf_size];
            if (!batch.count) batch.start = leaf[sorted[i]];
            batch.add(queries + 3 * std::size_t{sorted[i]}, sorted[i]);
        }
        serve(batches);
    });
}

template <class Serve>
void KdTree::in_batches(const double* queries, std::size_t count, int threads, Serve&& serve) const {
    in_batches(queries, count, threads, [&](std::size_t i) { return leaf_of(queries + 3 * i); }, serve);
}

void KdTree::nearest(const double* queries, std::size_t count, int k, int threads, std::int32_t* indices,
                   double* squared) const {
    in_batches(queries, count, threads, [&](const std::vector<Batch>& batches) {
        Nearest sink(k);
        for (const Batch& batch : batches) {
            seek_nearest(*this, batch, sink);
            for (int q = 0; q < batch.count; ++q) {
                std::copy_n(sink.indices(q), k, indices + batch.row[q] * k);
                std::copy_n(sink.squared(q), k, squared + batch.row[q] * k);
            }
        }
    });
}

double KdTree::squared_distance(const double* query, std::int32_t point) const {
    const Leaf& leaf = leaves_[place_[point] / leaf_size];
    const std::size_t i = place_[point] % leaf_size;
    const double dx = leaf.x[i] - query[0], dy = leaf.y[i] - query[1], dz = leaf.z[i] - query[2];
    return dx * dx + dy * dy + dz * dz;
}

void KdTree::update_nearest(const double* queries, std::size_t count, int threads, const Followed& state, double* squared) const {
    std::vector<std::uint32_t> stale;
    std::vector<double> places;
    for (std::size_t i = 0; i < count; ++i) {
        const double* now = queries + 3 * i;
        if (state.nearest[2 * i] >= 0) {
            const double* then = state.searched_at + 3 * i;
            const double x = now[0] - then[0], y = now[1] - then[1], z = now[2] - then[2];
            squared[i] = squared_distance(now, state.nearest[2 * i]);
            // Since then, no other point can have come closer than this; a little less, for rounding.
            const double others = state.second[i] * (1 - 1e-12) - std::sqrt(x * x + y * y + z * z);
            if (std::sqrt(squared[i]) < others) continue;
        }
        stale.push_back(static_cast<std::uint32_t>(i));
        places.insert(places.end(), now, now + 3);
    }
    // A point's former neighbours bound the search, and are where it begins.
    auto former_leaf = [&](std::size_t i) {
        const std::int32_t former = state.nearest[2 * stale[i]];
        return former < 0 ? leaf_of(places.data() + 3 * i) : place_[former] / leaf_size;
    };
    in_batches(places.data(), stale.size(), threads, former_leaf, [&](const std::vector<Batch>& batches) {
        NearestTwo sink;
        for (const Batch& batch : batches) {
            sink.begin(batch.count);
            for (int q = 0; q < batch.count; ++q)
                for (std::size_t column = 0; column < 2; ++column)
                    if (const std::int32_t former = state.nearest[2 * stale[batch.row[q]] + column]; former >= 0)
                        sink.insert(q, {squared_distance(places.data() + 3 * batch.row[q], former), former});
            seek_two(*this, batch, sink);
            for (int q = 0; q < batch.count; ++q) {
                const std::size_t row = stale[batch.row[q]];
                std::copy_n(places.data() + 3 * batch.row[q], 3, state.searched_at + 3 * row);
                state.nearest[2 * row] = static_cast<std::int32_t>(sink.best[q].index);
                state.nearest[2 * row + 1] = static_cast<std::int32_t>(sink.second[q].index);
                state.second[row] = std::sqrt(sink.second[q].squared);
                squared[row] = sink.best[q].squared;
            }
        }
    });
}

void KdTree::count_within(const double* queries, std::size_t count, double radius, int threads,
                        std::int64_t* counts) const {
    in_batches(queries, count, threads, [&](const std::vector<Batch>& batches) {
        Within sink(radius, true);
        for (const Batch& batch : batches) {
            seek_within(*this, batch, sink);
            for (int q = 0; q < batch.count; ++q) counts[batch.row[q]] = sink.counts[q];
        }
    });
}

void KdTree::within(const double* queries, std::size_t count, double radius, int threads, const std::int64_t* offsets,
                  std::int32_t* indices, double* squared) const {
    in_batches(queries, count, threads, [&](const std::vector<Batch>& batches) {
        Within sink(radius, false);
        for (const Batch& batch : batches) {
            seek_within(*this, batch, sink);
            for (int q = 0; q < batch.count; ++q) {
                std::int64_t place = offsets[batch.row[q]];
                for (const auto& [distance, index] : sink.found[q]) {
                    indices[place] = index;
                    squared[place++] = distance;
                }
            }
        }
    });
}

void KdTree::order(std::int32_t* indices) const {
    for (std::size_t l = 0; l < leaf_count_; ++l)
        for (int i = 0; i < leaf_size && leaves_[l].index[i] >= 0; ++i)
            *indices++ = static_cast<std::int32_t>(leaves_[l].index[i]);
}

}  // namespace graphreg
