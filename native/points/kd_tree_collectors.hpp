// Collectors of a search in the k-d tree: what is kept of the points that a batch of queries encounters. Each has
//   bound[q]                      the squared distance beyond which query q needs no further point
//   offer(q, distances, indices)  takes the sixteen points of a leaf
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/simd.hpp"
#include "points/equal_distances.hpp"
#include "points/kd_tree.hpp"

namespace graphreg {

// Farther than any point and nearer than an unused entry of a leaf.
constexpr double farthest = std::numeric_limits<double>::max();

// The k nearest points of each query, and on request all others that are as far as the k-th. Candidates are appended
// without a branch, and pruned to the best k by counting how many are nearer than each: branches that depend on
// distances cannot be predicted, and cost more than the comparisons they save.
class KNearest {
public:
    alignas(64) double bound[leaf_size];

    explicit KNearest(int k, std::optional<EqualDistances> ties = std::nullopt)
        : ties_(ties), k_(static_cast<std::size_t>(k)) {
        for (auto& list : lists_) list.reserve(most(k_) + leaf_size);
    }

    GRAPHREG_INLINE void begin(int count) {
        for (int q = 0; q < leaf_size; ++q) {
            bound[q] = q < count ? farthest : -1.0;
            lists_[q].size = 0;
            lists_[q].most = most(k_);
        }
    }

    GRAPHREG_INLINE void offer(int q, const double* distance, const std::int64_t* index) {
        List& list = lists_[q];
        double* d = list.current().squared.data();
        std::int32_t* n = list.current().indices.data();
        const double limit = bound[q];
        std::size_t size = list.size;
        for (int i = 0; i < leaf_size; ++i) {
            d[size] = distance[i];
            n[size] = static_cast<std::int32_t>(index[i]);
            size += distance[i] <= limit;
        }
        list.size = size;
        if ((limit == farthest && size >= k_) || size > list.most) prune(q);
    }

    GRAPHREG_INLINE void finish(int count) {
        for (int q = 0; q < count; ++q) {
            prune(q);
            if (lists_[q].size == k_ + max_ties) lists_[q].size = k_;
        }
    }

    // At least k; more are ties of the k-th.
    std::size_t size(int q) const { return lists_[q].size; }
    const std::int32_t* indices(int q) const { return lists_[q].current().indices.data(); }
    const double* squared(int q) const { return lists_[q].current().squared.data(); }

private:
    struct Half {
        std::vector<double> squared;
        std::vector<std::int32_t> indices;
    };

    // Candidates of one query. Pruning moves them from one half to the other.
    struct List {
        Half halves[2];
        int which = 0;
        std::size_t size = 0;
        std::size_t most = 0;  // candidates before pruning

        void reserve(std::size_t count) {
            const std::size_t padded = (count + 7) / 8 * 8;
            for (auto& half : halves) half.squared.resize(padded), half.indices.resize(padded);
        }

        Half& current() { return halves[which]; }
        const Half& current() const { return halves[which]; }
    };

    static constexpr std::size_t few = 96;  // up to this number, counting is faster than sorting
    // Points with as many ties have none: around a cluster of coincident points the lists would be as long as it.
    static constexpr std::size_t max_ties = 4096;

    GRAPHREG_INLINE void prune(int q) {
        List& list = lists_[q];
        Half &from = list.halves[list.which], &to = list.halves[1 - list.which];
        if (list.size > few || !sort_by_counting(from, to, list.size)) sort_by_comparison(from, to, list.size);
        list.which = 1 - list.which;
        if (list.size < k_) return;
        bound[q] = to.squared[k_ - 1];
        const std::size_t found = list.size;
        list.size = k_;
        if (ties_ && !ties_->vanishes(bound[q])) keep_ties(q, found);
    }

    // Points at the point itself are no ties: all pairs of a cluster of coincident points would be.
    GRAPHREG_INLINE void keep_ties(int q, std::size_t found) {
        List& list = lists_[q];
        const double* d = list.current().squared.data();
        bound[q] = ties_->upper(bound[q]);
        const std::size_t end = std::min(found, k_ + max_ties);
        while (list.size < end && d[list.size] <= bound[q]) ++list.size;
        list.most = most(list.size);
        if (list.most + leaf_size > list.current().squared.size()) list.reserve(2 * (list.most + leaf_size));
    }

    // Candidates that are collected before they are pruned to `kept`.
    static std::size_t most(std::size_t kept) { return kept + std::max<std::size_t>(kept / 2, 8); }

    // Of each candidate, the number of nearer ones.
    GRAPHREG_INLINE void count_nearer(double* d, std::size_t size) {
        std::int64_t* rank = rank_;
        const std::size_t padded = (size + 7) / 8 * 8;
        for (std::size_t i = size; i < padded; ++i) d[i] = infinity;
        for (std::size_t i = 0; i < padded; i += 8) {
            Four a, b;
            std::memcpy(&a, d + i, sizeof a);
            std::memcpy(&b, d + i + 4, sizeof b);
            FourIntegers nearer_a{}, nearer_b{};
            for (std::size_t j = 0; j < size; ++j) {
                const Four other = broadcast(d[j]);
                nearer_a -= other < a;
                nearer_b -= other < b;
            }
            std::memcpy(rank + i, &nearer_a, sizeof nearer_a);
            std::memcpy(rank + i + 4, &nearer_b, sizeof nearer_b);
        }
    }

    // Moves each candidate to its rank. False where two are equally near.
    GRAPHREG_INLINE bool sort_by_counting(Half& from, Half& to, std::size_t size) {
        double* d = from.squared.data();
        count_nearer(d, size);
        const std::int64_t* rank = rank_;
        const std::int32_t* n = from.indices.data();
        double* d_to = to.squared.data();
        std::int32_t* n_to = to.indices.data();
        std::size_t sum = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const auto r = static_cast<std::size_t>(rank[i]);
            d_to[r] = d[i];
            n_to[r] = n[i];
            sum += r;
        }
        return 2 * sum + size == size * size;
    }

    // The k nearest in order, then their ties.
    void sort_by_comparison(const Half& from, Half& to, std::size_t size) {
        pairs_.resize(size);
        for (std::size_t i = 0; i < size; ++i) pairs_[i] = {from.squared[i], from.indices[i]};
        const auto others = pairs_.begin() + static_cast<std::ptrdiff_t>(std::min(size, k_));
        std::partial_sort(pairs_.begin(), others, pairs_.end());
        if (ties_ && size > k_) {
            const double limit = ties_->upper(pairs_[k_ - 1].first);
            std::partition(others, pairs_.end(), [limit](const auto& pair) { return pair.first <= limit; });
        }
        for (std::size_t i = 0; i < size; ++i) std::tie(to.squared[i], to.indices[i]) = pairs_[i];
    }

    std::optional<EqualDistances> ties_;
    std::size_t k_;
    List lists_[leaf_size];
    alignas(64) std::int64_t rank_[few];
    std::vector<std::pair<double, std::int32_t>> pairs_;
};

// The two nearest points of each query, of equal distances the lower index first.
class TwoNearest {
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

// All points within a radius, or only their number.
class WithinRadius {
public:
    alignas(64) double bound[leaf_size];
    std::vector<std::pair<double, std::int32_t>> found[leaf_size];
    std::int64_t counts[leaf_size];

    // The empty slots of a leaf are infinitely far: a radius whose square overflows must not reach them.
    WithinRadius(double radius, bool only_count)
        : squared_(std::min(radius * radius, std::numeric_limits<double>::max())), only_count_(only_count) {}

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

}  // namespace graphreg
