// LZF decompression, as in compressed PCD files.
#pragma once

#include <cstdint>
#include <span>

namespace graphreg {

// Decompresses all of `in` to exactly fill `out`; false where the data are invalid or of another size.
bool lzf_decode(std::span<const std::uint8_t> in, std::span<std::uint8_t> out);

}  // namespace graphreg
