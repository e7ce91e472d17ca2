// Binary records that contain lists, reduced to their parts of fixed size. Every read is checked against the end of the
// data, every allocation against its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace graphreg {

// `fixed` bytes, then a list: its length in `count` bytes (0: no list), then that many items of `item` bytes.
struct RecordPart {
    std::size_t fixed = 0, count = 0, item = 0;
    bool is_signed = false;
};

struct Records {
    std::unique_ptr<std::uint8_t[]> bytes;  // the fixed parts of each record, side by side: (rows, width)
    std::size_t rows = 0, width = 0;
    std::size_t stop = 0;  // where the last record ends
};

// Reads `rows` records. Fewer rows are returned where the data end early or a list has a negative length.
Records pack_records(std::span<const std::uint8_t> bytes, std::size_t start, std::size_t rows,
                     std::span<const RecordPart> parts, bool big_endian);

}  // namespace graphreg
