// Keys of voxels in hash tables with open addressing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

constexpr std::uint64_t no_voxel_key = ~std::uint64_t{0};
constexpr int axis_bits = 21;
constexpr std::int64_t most_voxels = std::int64_t{1} << (axis_bits - 1);  // from the origin along an axis

// Where to look for a key first, in a table with a power of two of slots.
inline std::size_t slot_of(std::uint64_t key, std::size_t slots) {
    key ^= key >> 29, key *= 0xbf58476d1ce4e5b9ULL;
    key ^= key >> 32;
    return static_cast<std::size_t>(key) & (slots - 1);
}

}  // namespace graphreg
