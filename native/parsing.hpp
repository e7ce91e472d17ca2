// Files from memory: tables of numbers written as text, records with lists inside, LZF. The bytes come from outside and
// may say anything, so every read is checked against the end and every allocation against the number of bytes given.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <locale.h>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

namespace graphreg {

// ---------------------------------------------------------------------------------------------------------- numbers

// Like strtod, but with the point as the decimal mark whatever the process's locale is.
inline bool parse_double_slowly(std::string_view text, double& value) {
    if (text.find_first_of("xX") != text.npos) return false;  // hexadecimal is not a number in any of these files
    const std::string terminated(text);
    char* stop = nullptr;
#if defined(_WIN32)
    static const _locale_t c_locale = _create_locale(LC_ALL, "C");
    value = _strtod_l(terminated.c_str(), &stop, c_locale);
#else
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    value = strtod_l(terminated.c_str(), &stop, c_locale);
#endif
    return stop == terminated.c_str() + terminated.size() && !terminated.empty();
}

// Digits with a point somewhere, as most scans have them. Where the digits are a whole number below 2^53 and the power
// of ten is at most 22, both are exact in double, so their one division rounds correctly (Clinger 1990).
inline bool parse_decimal_quickly(std::string_view text, double& value) {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = !text.empty() && text.front() == '-';
    if (negative) text.remove_prefix(1);
    if (text.size() > 19 || text.empty()) return false;  // so the digits cannot overflow
    std::uint64_t digits = 0;
    std::size_t count = 0, decimals = 0;
    bool point = false;
    for (const char c : text) {
        const unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
        if (digit <= 9) {
            digits = digits * 10 + digit;
            ++count;
            decimals += point;
        } else if (c == '.' && !point) {
            point = true;
        } else {
            return false;
        }
    }
    if (count == 0 || digits >= (std::uint64_t{1} << 53)) return false;
    value = static_cast<double>(digits) / powers[decimals];
    if (negative) value = -value;
    return true;
}

// The whole of `text` is one number: digits, exponent, sign (also +), nan, inf. Too large is infinite, too small is 0.
inline bool parse_number(std::string_view text, double& value) {
    if (!text.empty() && text.front() == '+') {
        text.remove_prefix(1);
        if (!text.empty() && (text.front() == '-' || text.front() == '+')) return false;
    }
    if (text.empty() || static_cast<unsigned char>(text.front()) <= ' ') return false;
    if (parse_decimal_quickly(text, value)) return true;
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (stop != text.data() + text.size()) return false;
    if (problem != std::errc::result_out_of_range) return problem == std::errc();
#endif
    return parse_double_slowly(text, value);
}

// An integer in all its 64 bits; also one written as 255.0 or 1e3, where a double holds it exactly.
template <class Integer>
bool parse_number(std::string_view text, Integer& value) {
    if (!text.empty() && text.front() == '+') {
        text.remove_prefix(1);
        if (!text.empty() && (text.front() == '-' || text.front() == '+')) return false;
    }
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem == std::errc() && stop == text.data() + text.size()) return true;
    if (problem == std::errc::result_out_of_range) return false;
    double number = 0;
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (!parse_number(text, number) || !(std::abs(number) <= exact) || number != std::trunc(number)) return false;
    if (number < 0 && !std::numeric_limits<Integer>::is_signed) return false;
    value = static_cast<Integer>(number);
    return true;
}

// ------------------------------------------------------------------------------------------------------------ table

// What stands in a line. `kinds` has one letter a column:
//   f  double      i, u  64-bit integer, its bits in the place of a double      -  anything, left out
//   l  a list: its length n, then n things, left out
struct LineFormat {
    std::string_view kinds;
    char delimiter = 0;       // 0: blanks alone; else this one, and a number that is left empty is nan
    bool exact = true;        // nothing may follow the last column
    bool comments = false;    // # and // begin a comment, to the end of the line
    std::string_view prefix;  // where given, only lines whose first word is this one count; the others are passed over
};

struct Table {
    std::unique_ptr<double[]> values;
    std::size_t rows = 0, columns = 0;
    std::size_t stop = 0;  // where the first line that was not taken begins
};

class TableParser {
   public:
    explicit TableParser(const LineFormat& format) : format_(format) {}

    // Takes lines from `start` on, until there are `rows` of them, a line does not fit the format, or no whole line
    // (one that has its line end) is left. Blank lines do not count.
    Table parse(std::string_view text, std::size_t start, std::size_t rows) const {
        Table table;
        table.columns = static_cast<std::size_t>(
            std::count_if(format_.kinds.begin(), format_.kinds.end(), [](char k) { return k != '-' && k != 'l'; }));
        // A column takes a byte at least, so what is set aside never exceeds eight times the text.
        const std::size_t most = (text.size() - start) / std::max<std::size_t>(format_.kinds.size(), 1) + 1;
        table.values.reset(new double[std::min(rows, most) * table.columns]);

        const char* line = text.data() + start;
        const char* const end = text.data() + text.size();
        while (table.rows < rows && line < end) {
            const char* stop = static_cast<const char*>(std::memchr(line, '\n', static_cast<std::size_t>(end - line)));
            if (!stop) break;
            const char* at = line;
            skip_blanks(at, stop);
            if (!ends(at, stop) && (format_.prefix.empty() || take_prefix(at, stop))) {
                if (!format_.kinds.empty() && !parse_line(at, stop, table.values.get() + table.rows * table.columns))
                    break;
                ++table.rows;
            }
            line = stop + 1;
        }
        table.stop = static_cast<std::size_t>(line - text.data());
        return table;
    }

   private:
    static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

    static void skip_blanks(const char*& at, const char* stop) {
        while (at < stop && blank(*at)) ++at;
    }

    bool ends(const char* at, const char* stop) const {
        if (at == stop) return true;
        return format_.comments && (*at == '#' || (*at == '/' && at + 1 < stop && at[1] == '/'));
    }

    bool take_prefix(const char*& at, const char* stop) const {
        const std::string_view word = take_word(at, stop);
        return std::equal(word.begin(), word.end(), format_.prefix.begin(), format_.prefix.end(),
                          [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
    }

    std::string_view take_word(const char*& at, const char* stop) const {
        skip_blanks(at, stop);
        const char* const begin = at;
        while (at < stop && !blank(*at) && (format_.delimiter == 0 || *at != format_.delimiter)) ++at;
        return {begin, static_cast<std::size_t>(at - begin)};
    }

    // The next thing in the line, without the blanks around it; false where there is none.
    bool take_field(const char*& at, const char* stop, bool first, bool anything, std::string_view& field) const {
        skip_blanks(at, stop);
        if (format_.delimiter == 0) {
            if (ends(at, stop)) return false;
            field = take_word(at, stop);
            return true;
        }
        if (!first) {
            if (at == stop || *at != format_.delimiter) return false;
            ++at;
            skip_blanks(at, stop);
        }
        if (anything) {  // words with blanks between them, up to the delimiter
            const char* const begin = at;
            while (at < stop && *at != format_.delimiter) ++at;
            field = {begin, static_cast<std::size_t>(at - begin)};
        } else {
            field = ends(at, stop) ? std::string_view(at, 0) : take_word(at, stop);
        }
        return true;
    }

    bool parse_line(const char* at, const char* stop, double* out) const {
        bool first = true;
        std::string_view field;
        for (const char kind : format_.kinds) {
            if (!take_field(at, stop, first, kind == '-', field)) return false;
            first = false;
            if (kind == 'f') {
                if (format_.delimiter != 0 && field.empty()) {
                    *out++ = std::numeric_limits<double>::quiet_NaN();
                } else if (!parse_number(field, *out++)) {
                    return false;
                }
            } else if (kind == 'i') {
                std::int64_t value = 0;
                if (!parse_number(field, value)) return false;
                *out++ = std::bit_cast<double>(value);
            } else if (kind == 'u') {
                std::uint64_t value = 0;
                if (!parse_number(field, value)) return false;
                *out++ = std::bit_cast<double>(value);
            } else if (kind == 'l') {
                std::uint64_t length = 0;
                if (!parse_number(field, length)) return false;
                for (; length > 0; --length)
                    if (!take_field(at, stop, false, false, field)) return false;
            }
        }
        skip_blanks(at, stop);
        return !format_.exact || ends(at, stop);
    }

    LineFormat format_;
};

// ---------------------------------------------------------------------------------------------------------- records

// `fixed` bytes, then a list: its length in `count` bytes (0: there is no list), then so many items of `item` bytes.
struct RecordPart {
    std::size_t fixed = 0, count = 0, item = 0;
    bool is_signed = false;
};

struct Records {
    std::unique_ptr<std::uint8_t[]> bytes;  // the fixed parts of each record, side by side
    std::size_t rows = 0, width = 0;
    std::size_t stop = 0;
};

// Walks over `rows` records and keeps what is of fixed size. Fewer rows come back where the bytes end too early or a
// list has a negative length.
inline Records pack_records(std::span<const std::uint8_t> bytes, std::size_t start, std::size_t rows,
                            std::span<const RecordPart> parts, bool big_endian) {
    Records records;
    std::size_t least = 0;
    for (const RecordPart& part : parts) {
        records.width += part.fixed;
        least += part.fixed + part.count;
    }
    if (least == 0) throw std::invalid_argument("records of no size");
    rows = std::min(rows, (bytes.size() - start) / least);
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

// -------------------------------------------------------------------------------------------------------------- LZF

// Fills `out` and uses up `in`, or says that the two do not belong together.
inline bool lzf_decode(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) {
    std::size_t from = 0, to = 0;
    while (from < in.size()) {
        const std::size_t control = in[from++];
        if (control < 32) {  // control + 1 bytes as they are
            const std::size_t length = control + 1;
            if (length > in.size() - from || length > out.size() - to) return false;
            std::memcpy(out.data() + to, in.data() + from, length);
            from += length;
            to += length;
            continue;
        }
        std::size_t length = control >> 5;  // a piece of what was written before
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
