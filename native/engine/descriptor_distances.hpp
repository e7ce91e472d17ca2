// Distances of descriptors in the L1 norm, and matches ranked by them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "common/dispatch.hpp"
#include "engine/descriptors.hpp"

namespace graphreg {

GRAPHREG_INLINE int l1_distance(const std::uint8_t* a, const std::uint8_t* b) {
    int sum = 0;
    for (std::size_t f = 0; f < descriptor_size; ++f) sum += std::abs(static_cast<int>(a[f]) - static_cast<int>(b[f]));
    return sum;
}

// A distance above an index: the smaller of two such numbers is the better match, or the earlier of equal ones.
using Ranked = std::int64_t;
constexpr Ranked worst_match = std::numeric_limits<Ranked>::max();

GRAPHREG_INLINE Ranked ranked(int distance, std::size_t index) {
    return static_cast<Ranked>(distance) << 32 | static_cast<Ranked>(index);
}

#if defined(__x86_64__)
constexpr std::size_t group_size = 4, chunk = 8, chunks = descriptor_size / chunk;

// Groups of four descriptors, interleaved by chunks of eight bytes: one instruction then sums the differences of a
// chunk of each of the four.
inline std::vector<std::uint8_t> interleaved(const std::uint8_t* descriptors, std::size_t groups) {
    std::vector<std::uint8_t> result(groups * group_size * descriptor_size);
    std::uint8_t* out = result.data();
    for (std::size_t g = 0; g < groups; ++g)
        for (std::size_t c = 0; c < chunks; ++c)
            for (std::size_t s = 0; s < group_size; ++s, out += chunk)
                std::copy_n(descriptors + (g * group_size + s) * descriptor_size + c * chunk, chunk, out);
    return result;
}
#endif

}  // namespace graphreg
