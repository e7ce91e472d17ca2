#include "files/lzf.hpp"

#include <cstddef>
#include <cstring>

namespace graphreg {

bool lzf_decode(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) {
    std::size_t from = 0, to = 0;
    while (from < in.size()) {
        const std::size_t control = in[from++];
        if (control < 32) {  // control + 1 literal bytes
            const std::size_t length = control + 1;
            if (length > in.size() - from || length > out.size() - to) return false;
            std::memcpy(out.data() + to, in.data() + from, length);
            from += length;
            to += length;
            continue;
        }
        std::size_t length = control >> 5;  // a copy of earlier output
        if (length == 7) {
            if (from == in.size()) return false;
            length += in[from++];
        }
        length += 2;
        if (from == in.size()) return false;
        const std::size_t back = ((control & 31) << 8) + in[from++] + 1;
        if (back > to || length > out.size() - to) return false;
        for (; length > 0; --length, ++to) out[to] = out[to - back];  // may overlap: byte by byte repeats
    }
    return to == out.size();
}

}  // namespace graphreg
