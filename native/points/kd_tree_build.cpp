#include <bit>
#include <cmath>
#include <tuple>

#include "common/parallel.hpp"
#include "points/kd_tree.hpp"

namespace graphreg {

namespace {

// A point while the tree is built. Sixteen of them take the memory of one leaf, so that leaves are made in place.
struct Item {
    double at[3];
    std::int64_t index;
};
static_assert(sizeof(Item) * leaf_size == sizeof(Leaf));

// Moves items below the pivot to the front without a branch, and returns where they end.
Item* partition_below(Item* first, Item* last, double pivot, int axis) {
    Item* end = first;
    for (Item* item = first; item != last; ++item) {
        const Item current = *item;
        *item = *end;
        *end = current;
        end += current.at[axis] < pivot;
    }
    return end;
}

// A pivot from a sample, a little to the side of where the wanted item must be, so that it stays in the smaller part:
// then about one and a half passes over the items are enough.
double choose_pivot(const Item* first, const Item* wanted, const Item* last, int axis) {
    constexpr std::ptrdiff_t sampled = 64;
    const std::ptrdiff_t count = last - first, size = std::min(sampled, count / 8);
    double sample[sampled];
    for (std::ptrdiff_t i = 0; i < size; ++i) sample[i] = first[i * count / size].at[axis];
    const double share = static_cast<double>(wanted - first) / static_cast<double>(count);
    const double spread = std::sqrt(share * (1 - share) * static_cast<double>(size));
    const double rank = share * static_cast<double>(size) + (share < 0.5 ? spread : -spread);
    double* pivot = sample + std::clamp(static_cast<std::ptrdiff_t>(rank), std::ptrdiff_t{0}, size - 1);
    std::nth_element(sample, pivot, sample + size);
    return *pivot;
}

// As std::nth_element, by Floyd and Rivest's choice of pivots.
void select_item(Item* first, Item* wanted, Item* last, int axis) {
    constexpr std::ptrdiff_t few = 2 * leaf_size;
    for (int round = 0; last - first > few && round < 64; ++round) {
        const double pivot = choose_pivot(first, wanted, last, axis);
        Item* middle = partition_below(first, last, pivot, axis);
        if (middle == first) {
            // Nothing is below: move all that equals the pivot to the front, there may be any number of them.
            middle = partition_below(first, last, std::nextafter(pivot, infinity), axis);
            if (wanted < middle) return;
        }
        (wanted < middle ? last : first) = middle;
    }
    std::nth_element(first, wanted, last, [axis](const Item& a, const Item& b) { return a.at[axis] < b.at[axis]; });
}

}  // namespace

// A node and its leaves.
struct KdTree::Range {
    std::size_t node, first, last;
};

KdTree::KdTree(const double* points, std::size_t count, int threads)
    : count_(count),
      leaf_count_((count + leaf_size - 1) / leaf_size),
      leaves_(new Leaf[leaf_count_]),
      nodes_(2 * std::bit_ceil(leaf_count_)),
      leaf_node_(leaf_count_),
      position_(count) {
    Item* items = reinterpret_cast<Item*>(leaves_.get());
    parallel_for(count, 1 << 16, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            items[i] = {{points[3 * i], points[3 * i + 1], points[3 * i + 2]}, static_cast<std::int64_t>(i)};
    });
    for (std::vector<Range> level{{1, 0, leaf_count_}}; !level.empty();) {
        std::vector<std::vector<Range>> postponed(level.size());
        parallel_for(level.size(), 1, threads, [&](std::size_t i, std::size_t) { build(level[i], postponed[i]); });
        level.clear();
        for (const auto& ranges : postponed) level.insert(level.end(), ranges.begin(), ranges.end());
    }
    for (std::size_t l = 0; l < leaf_count_; ++l)
        for (int i = 0; i < leaf_size && leaves_[l].index[i] >= 0; ++i)
            position_[leaves_[l].index[i]] = static_cast<std::uint32_t>(l * leaf_size + i);
}

// Splits the leaves of a node at the median of the longest side of its box. The children of large nodes are postponed,
// so that several threads can take them.
void KdTree::build(const Range& range, std::vector<Range>& postponed) {
    constexpr std::size_t large = 512;
    const auto [node, first, last] = range;
    Item* items = reinterpret_cast<Item*>(leaves_.get());
    const std::size_t begin = first * leaf_size, end = std::min(last * leaf_size, count_);
    Box box = empty_box;
    for (std::size_t i = begin; i < end; ++i) enlarge(box, items[i].at);
    if (last - first == 1) {
        make_leaf(range, box);
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
            postponed.push_back(child);
        else
            build(child, postponed);
    }
}

// Rearranges the items of a leaf, in place, coordinate by coordinate.
void KdTree::make_leaf(const Range& range, const Box& box) {
    const std::size_t number = range.first, begin = number * leaf_size, end = std::min(begin + leaf_size, count_);
    const Item* items = reinterpret_cast<const Item*>(leaves_.get());
    Item copy[leaf_size];
    std::fill(std::copy(items + begin, items + end, copy), copy + leaf_size, Item{{infinity, infinity, infinity}, -1});
    Leaf& leaf = leaves_[number];
    for (int i = 0; i < leaf_size; ++i) {
        std::tie(leaf.x[i], leaf.y[i], leaf.z[i]) = std::tie(copy[i].at[0], copy[i].at[1], copy[i].at[2]);
        leaf.index[i] = copy[i].index;
    }
    nodes_[range.node] = {box, 0, 0, static_cast<std::int32_t>(number)};
    leaf_node_[number] = range.node;
}

void KdTree::order(std::int32_t* indices) const {
    for (std::size_t l = 0; l < leaf_count_; ++l)
        for (int i = 0; i < leaf_size && leaves_[l].index[i] >= 0; ++i)
            *indices++ = static_cast<std::int32_t>(leaves_[l].index[i]);
}

}  // namespace graphreg
