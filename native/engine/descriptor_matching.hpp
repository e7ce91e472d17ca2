// Correspondences by descriptor: nearest neighbours of all descriptors of two clouds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

// For each descriptor of one cloud the nearest of the other in the L1 norm; of equal ones the first.
// best_of_a (count_a), best_of_b (count_b); neither cloud is empty.
void match_descriptors(const std::uint8_t* a, std::size_t count_a, const std::uint8_t* b, std::size_t count_b,
                       int threads, std::int32_t* best_of_a, std::int32_t* best_of_b);

// The same among pairs alone: row i of a with near[offsets[i]] to near[offsets[i + 1]] of b; -1 for rows without one.
void match_near_descriptors(const std::uint8_t* a, std::size_t count_a, const std::uint8_t* b, std::size_t count_b,
                            const std::int64_t* offsets, const std::int32_t* near, std::int32_t* best_of_a,
                            std::int32_t* best_of_b);

}  // namespace graphreg
