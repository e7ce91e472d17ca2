#include "files/packed_records.hpp"

#include <algorithm>
#include <stdexcept>

namespace graphreg {

Records pack_records(std::span<const std::uint8_t> bytes, std::size_t start, std::size_t rows,
                     std::span<const RecordPart> parts, bool big_endian) {
    Records records;
    std::size_t min_size = 0;
    for (const RecordPart& part : parts) {
        records.width += part.fixed;
        min_size += part.fixed + part.count;
    }
    if (min_size == 0) throw std::invalid_argument("records of no size");
    rows = std::min(rows, (bytes.size() - start) / min_size);
    records.bytes.reset(new std::uint8_t[rows * records.width]);
    std::uint8_t* out = records.bytes.get();
    records.stop = start;
    for (; records.rows < rows; ++records.rows) {
        std::size_t at = records.stop;
        for (const RecordPart& part : parts) {
            if (bytes.size() - at < part.fixed + part.count) return records;
            out = std::copy_n(bytes.data() + at, part.fixed, out);
            at += part.fixed;
            std::uint64_t length = 0;
            for (std::size_t i = 0; i < part.count; ++i)
                length = length << 8 | bytes[at + (big_endian ? i : part.count - 1 - i)];
            at += part.count;
            if (part.is_signed && part.count > 0 && (length >> (8 * part.count - 1)) != 0) return records;
            if (part.count > 0 && length > (bytes.size() - at) / part.item) return records;
            at += static_cast<std::size_t>(length) * part.item;
        }
        records.stop = at;
    }
    return records;
}

}  // namespace graphreg
