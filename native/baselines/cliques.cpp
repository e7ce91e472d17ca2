#include "baselines/cliques.hpp"

#include <algorithm>
#include <cmath>

#include "baselines/bit_set.hpp"
#include "common/parallel.hpp"

namespace graphreg {

namespace {

using Graph = std::vector<BitSet>;

double distance(const double* a, const double* b) {
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return std::sqrt(x * x + y * y + z * z);
}

Graph consistency_graph(const double* source, const double* target, std::size_t count, double tolerance, int threads) {
    Graph graph(count, BitSet(count));
    parallel_for(count, 16, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = 0; j < count; ++j) {
                const double here = distance(source + 3 * i, source + 3 * j);
                if (i != j && std::abs(here - distance(target + 3 * i, target + 3 * j)) <= tolerance) graph[i].set(j);
            }
    });
    return graph;
}

// The k-core decomposition by a degeneracy ordering.
struct Cores {
    std::vector<std::size_t> order;  // all vertices; each has the fewest neighbours among the remaining ones
    std::vector<std::size_t>
        number;  // core number of each vertex: a clique that contains it has at most one member more
};

Cores core_decomposition(const Graph& graph) {
    const std::size_t count = graph.size();
    std::vector<std::size_t> degree(count);
    for (std::size_t v = 0; v < count; ++v) degree[v] = graph[v].count();
    std::vector<std::vector<std::size_t>> of_degree(count + 1);
    for (std::size_t v = 0; v < count; ++v) of_degree[degree[v]].push_back(v);
    Cores cores{{}, std::vector<std::size_t>(count)};
    std::vector<bool> taken(count);
    std::size_t core = 0;
    for (std::size_t d = 0; cores.order.size() < count;) {
        if (of_degree[d].empty()) {
            ++d;
            continue;
        }
        const std::size_t v = of_degree[d].back();
        of_degree[d].pop_back();
        if (taken[v] || degree[v] != d) continue;  // an outdated entry: its degree has fallen since
        taken[v] = true;
        core = std::max(core, d);
        cores.number[v] = core;
        cores.order.push_back(v);
        graph[v].for_each([&](std::size_t u) {
            if (!taken[u]) of_degree[--degree[u]].push_back(u);
        });
        d = d ? d - 1 : 0;
    }
    return cores;
}

// From each vertex on, adds every vertex that is adjacent to all so far, those of high core number first.
std::vector<std::size_t> greedy_clique(const Graph& graph, const Cores& cores) {
    std::vector<std::size_t> best;
    for (auto v = cores.order.rbegin(); v != cores.order.rend(); ++v) {
        if (cores.number[*v] < best.size()) continue;
        std::vector<std::size_t> clique{*v};
        BitSet candidates = graph[*v];
        for (auto u = cores.order.rbegin(); u != cores.order.rend(); ++u)
            if (candidates.contains(*u)) {
                clique.push_back(*u);
                candidates &= graph[*u];
            }
        if (clique.size() > best.size()) best = clique;
    }
    return best;
}

// Branch and bound: a set that can be coloured with k colours has no clique of more than k members (Tomita, Seki 2003;
// with sets as bits: San Segundo et al. 2011).
class BranchAndBound {
public:
    BranchAndBound(const Graph& graph, std::size_t known_size, std::size_t branch_limit)
        : graph_(graph), best_size_(known_size), branches_left_(branch_limit) {}

    // Whether the search was completed.
    bool run() {
        BitSet all(graph_.size());
        for (std::size_t v = 0; v < graph_.size(); ++v) all.set(v);
        expand(all);
        return !stopped_;
    }

    // Empty where no clique is larger than the known size.
    const std::vector<std::size_t>& best() const { return best_; }

private:
    struct Colouring {
        std::vector<std::size_t> order, colour;  // vertices, colour by colour, from 1
    };

    Colouring greedy_colouring(const BitSet& vertices) const {
        Colouring result;
        BitSet uncoloured = vertices;
        for (std::size_t k = 1; uncoloured.any(); ++k) {
            BitSet free = uncoloured;
            for (std::size_t w = 0; w < free.words(); ++w)
                while (free.word(w)) {
                    const auto bit = static_cast<std::size_t>(std::countr_zero(free.word(w)));
                    const std::size_t v = w * BitSet::word_bits + bit;
                    free.clear(v);
                    free.remove(graph_[v]);
                    uncoloured.clear(v);
                    result.order.push_back(v);
                    result.colour.push_back(k);
                }
        }
        return result;
    }

    void expand(BitSet& candidates) {
        if (!branches_left_) {
            stopped_ = true;
            return;
        }
        --branches_left_;
        const auto [order, colour] = greedy_colouring(candidates);
        for (std::size_t i = order.size(); i-- > 0 && !stopped_;) {
            if (clique_.size() + colour[i] <= best_size_) return;
            const std::size_t v = order[i];
            clique_.push_back(v);
            BitSet next = candidates;
            next &= graph_[v];
            if (next.any()) {
                expand(next);
            } else if (clique_.size() > best_size_) {
                best_ = clique_;
                best_size_ = clique_.size();
            }
            clique_.pop_back();
            candidates.clear(v);
        }
    }

    const Graph& graph_;
    std::size_t best_size_;
    std::size_t branches_left_;
    bool stopped_ = false;
    std::vector<std::size_t> clique_, best_;
};

Graph subgraph(const Graph& graph, const std::vector<std::size_t>& vertices) {
    Graph result(vertices.size(), BitSet(vertices.size()));
    for (std::size_t i = 0; i < vertices.size(); ++i)
        for (std::size_t j = 0; j < vertices.size(); ++j)
            if (graph[vertices[i]].contains(vertices[j])) result[i].set(j);
    return result;
}

}  // namespace

Clique largest_consistent_set(const double* source, const double* target, std::size_t count, double tolerance,
                              std::size_t branch_limit, int threads) {
    const Graph graph = consistency_graph(source, target, count, tolerance, threads);
    const Cores cores = core_decomposition(graph);
    std::vector<std::size_t> best = greedy_clique(graph, cores);
    // Only these can be members of a larger one. High core numbers first.
    std::vector<std::size_t> remaining;
    for (auto v = cores.order.rbegin(); v != cores.order.rend(); ++v)
        if (cores.number[*v] >= best.size()) remaining.push_back(*v);
    const Graph smaller = subgraph(graph, remaining);
    BranchAndBound search(smaller, best.size(), branch_limit);
    const bool proven = search.run();
    if (!search.best().empty()) {
        best.clear();
        for (const std::size_t v : search.best()) best.push_back(remaining[v]);
    }
    Clique found{{best.begin(), best.end()}, proven};
    std::sort(found.members.begin(), found.members.end());
    return found;
}

}  // namespace graphreg
