#include "cliques.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "parallel.hpp"

namespace graphreg {

namespace {

using Word = std::uint64_t;
constexpr std::size_t word_bits = 64;

class Bits {
public:
    explicit Bits(std::size_t size = 0) : words_((size + word_bits - 1) / word_bits) {}

    void set(std::size_t i) { words_[i / word_bits] |= Word{1} << i % word_bits; }
    void clear(std::size_t i) { words_[i / word_bits] &= ~(Word{1} << i % word_bits); }
    bool holds(std::size_t i) const { return words_[i / word_bits] >> i % word_bits & 1; }
    std::size_t words() const { return words_.size(); }
    Word word(std::size_t w) const { return words_[w]; }

    std::size_t count() const {
        std::size_t total = 0;
        for (const Word word : words_) total += static_cast<std::size_t>(std::popcount(word));
        return total;
    }

    bool any() const {
        return std::any_of(words_.begin(), words_.end(), [](Word word) { return word != 0; });
    }

    Bits& operator&=(const Bits& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
        return *this;
    }

    // All that are in it, in ascending order.
    template <class Visit>
    void each(Visit&& visit) const {
        for (std::size_t w = 0; w < words_.size(); ++w)
            for (Word left = words_[w]; left; left &= left - 1)
                visit(w * word_bits + static_cast<std::size_t>(std::countr_zero(left)));
    }

    void remove(const Bits& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= ~other.words_[w];
    }

private:
    std::vector<Word> words_;
};

using Graph = std::vector<Bits>;

double distance(const double* a, const double* b) {
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return std::sqrt(x * x + y * y + z * z);
}

Graph consistency_graph(const double* source, const double* target, std::size_t count, double tolerance, int threads) {
    Graph graph(count, Bits(count));
    parallel_for(count, 16, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = 0; j < count; ++j) {
                const double here = distance(source + 3 * i, source + 3 * j);
                if (i != j && std::abs(here - distance(target + 3 * i, target + 3 * j)) <= tolerance) graph[i].set(j);
            }
    });
    return graph;
}

struct Peeling {
    std::vector<std::size_t> order;  // all vertices; each has the fewest neighbours among those not yet taken
    std::vector<std::size_t> core;   // of each vertex: a clique that holds it has at most one member more
};

Peeling peel(const Graph& graph) {
    const std::size_t count = graph.size();
    std::vector<std::size_t> degree(count);
    for (std::size_t v = 0; v < count; ++v) degree[v] = graph[v].count();
    std::vector<std::vector<std::size_t>> waiting(count + 1);
    for (std::size_t v = 0; v < count; ++v) waiting[degree[v]].push_back(v);
    Peeling peeled{{}, std::vector<std::size_t>(count)};
    std::vector<bool> taken(count);
    std::size_t core = 0;
    for (std::size_t d = 0; peeled.order.size() < count;) {
        if (waiting[d].empty()) {
            ++d;
            continue;
        }
        const std::size_t v = waiting[d].back();
        waiting[d].pop_back();
        if (taken[v] || degree[v] != d) continue;  // it has moved to another list since
        taken[v] = true;
        core = std::max(core, d);
        peeled.core[v] = core;
        peeled.order.push_back(v);
        graph[v].each([&](std::size_t u) {
            if (!taken[u]) waiting[--degree[u]].push_back(u);
        });
        d = d ? d - 1 : 0;
    }
    return peeled;
}

// From each vertex on, takes whatever still fits, most connected first.
std::vector<std::size_t> greedy_clique(const Graph& graph, const Peeling& peeled) {
    std::vector<std::size_t> best;
    for (auto v = peeled.order.rbegin(); v != peeled.order.rend(); ++v) {
        if (peeled.core[*v] < best.size()) continue;
        std::vector<std::size_t> clique{*v};
        Bits fitting = graph[*v];
        for (auto u = peeled.order.rbegin(); u != peeled.order.rend(); ++u)
            if (fitting.holds(*u)) {
                clique.push_back(*u);
                fitting &= graph[*u];
            }
        if (clique.size() > best.size()) best = clique;
    }
    return best;
}

// Branch and bound: a set that can be coloured with k colours holds no clique of more than k members (Tomita, Seki 2003;
// with sets as bits: San Segundo et al. 2011).
class Search {
public:
    Search(const Graph& graph, std::size_t known, std::size_t branch_limit)
        : graph_(graph), best_size_(known), left_(branch_limit) {}

    bool run() {
        Bits all(graph_.size());
        for (std::size_t v = 0; v < graph_.size(); ++v) all.set(v);
        expand(all);
        return !stopped_;
    }

    const std::vector<std::size_t>& best() const { return best_; }

private:
    void expand(Bits& candidates) {
        if (!left_) {
            stopped_ = true;
            return;
        }
        --left_;
        std::vector<std::size_t> order, colour;
        Bits uncoloured = candidates;
        for (std::size_t k = 1; uncoloured.any(); ++k) {
            Bits free = uncoloured;
            for (std::size_t w = 0; w < free.words(); ++w)
                while (free.word(w)) {
                    const std::size_t v = w * word_bits + static_cast<std::size_t>(std::countr_zero(free.word(w)));
                    free.clear(v);
                    free.remove(graph_[v]);
                    uncoloured.clear(v);
                    order.push_back(v);
                    colour.push_back(k);
                }
        }
        for (std::size_t i = order.size(); i-- > 0 && !stopped_;) {
            if (held_.size() + colour[i] <= best_size_) return;
            const std::size_t v = order[i];
            held_.push_back(v);
            Bits next = candidates;
            next &= graph_[v];
            if (next.any()) {
                expand(next);
            } else if (held_.size() > best_size_) {
                best_ = held_;
                best_size_ = held_.size();
            }
            held_.pop_back();
            candidates.clear(v);
        }
    }

    const Graph& graph_;
    std::size_t best_size_;
    std::size_t left_;
    bool stopped_ = false;
    std::vector<std::size_t> held_, best_;
};

}  // namespace

Clique largest_consistent_set(const double* source, const double* target, std::size_t count, double tolerance,
                              std::size_t branch_limit, int threads) {
    const Graph graph = consistency_graph(source, target, count, tolerance, threads);
    const Peeling peeled = peel(graph);
    std::vector<std::size_t> best = greedy_clique(graph, peeled);
    // Only these can belong to a larger one. Renumbered, the most connected first.
    std::vector<std::size_t> able;
    for (auto v = peeled.order.rbegin(); v != peeled.order.rend(); ++v)
        if (peeled.core[*v] >= best.size()) able.push_back(*v);
    Graph smaller(able.size(), Bits(able.size()));
    for (std::size_t i = 0; i < able.size(); ++i)
        for (std::size_t j = 0; j < able.size(); ++j)
            if (graph[able[i]].holds(able[j])) smaller[i].set(j);
    Search search(smaller, best.size(), branch_limit);
    const bool proven = search.run();
    if (!search.best().empty()) {
        best.clear();
        for (const std::size_t v : search.best()) best.push_back(able[v]);
    }
    Clique found{{best.begin(), best.end()}, proven};
    std::sort(found.members.begin(), found.members.end());
    return found;
}

}  // namespace graphreg
