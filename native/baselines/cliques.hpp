// The maximum clique of the consistency graph of correspondences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

struct Clique {
    std::vector<std::int32_t> members;  // ascending
    bool proven;                        // no larger one exists; else the search was stopped
};

// Two correspondences (a_i, b_i) and (a_j, b_j) are consistent where the lengths |a_i - a_j| and |b_i - b_j| differ by
// at most the tolerance. source, target: (count, 3), paired by row. The search stops after `branch_limit` branches.
Clique largest_consistent_set(const double* source, const double* target, std::size_t count, double tolerance,
                              std::size_t branch_limit, int threads);

}  // namespace graphreg
