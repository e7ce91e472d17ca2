#include "files/table_parser.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "files/number_parsing.hpp"

namespace graphreg {

namespace {

inline void skip_blanks(const char*& at, const char* stop) {
    while (at < stop && blank(*at)) ++at;
}

}  // namespace

Table TableParser::parse(std::string_view text, std::size_t start, std::size_t rows) const {
    Table table;
    table.columns = static_cast<std::size_t>(
        std::count_if(format_.kinds.begin(), format_.kinds.end(), [](char k) { return k != '-' && k != 'l'; }));
    // A column takes at least one byte, so that the memory never exceeds eight times the text.
    const std::size_t max_rows = (text.size() - start) / std::max<std::size_t>(format_.kinds.size(), 1) + 1;
    table.values.reset(new double[std::min(rows, max_rows) * table.columns]);

    const char* line = text.data() + start;
    const char* const end = text.data() + text.size();
    while (table.rows < rows && line < end) {
        const char* stop = static_cast<const char*>(std::memchr(line, '\n', static_cast<std::size_t>(end - line)));
        if (!stop) break;
        const char* at = line;
        skip_blanks(at, stop);
        if (!ends(at, stop) && (format_.prefix.empty() || take_prefix(at, stop))) {
            if (!format_.kinds.empty() && !parse_line(at, stop, table.values.get() + table.rows * table.columns)) break;
            ++table.rows;
        }
        line = stop + 1;
    }
    table.stop = static_cast<std::size_t>(line - text.data());
    return table;
}

inline bool TableParser::ends(const char* at, const char* stop) const {
    if (at == stop) return true;
    return format_.comments && (*at == '#' || (*at == '/' && at + 1 < stop && at[1] == '/'));
}

inline std::string_view TableParser::take_word(const char*& at, const char* stop) const {
    skip_blanks(at, stop);
    const char* const begin = at;
    while (at < stop && !blank(*at) && (format_.delimiter == 0 || *at != format_.delimiter)) ++at;
    return {begin, static_cast<std::size_t>(at - begin)};
}

bool TableParser::take_prefix(const char*& at, const char* stop) const {
    const std::string_view word = take_word(at, stop);
    return std::equal(word.begin(), word.end(), format_.prefix.begin(), format_.prefix.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

// The next field of the line, without the blanks around it; false where there is none.
inline bool TableParser::take_field(const char*& at, const char* stop, bool first, bool any_text,
                                    std::string_view& field) const {
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
    if (any_text) {  // words with blanks between them, up to the delimiter
        const char* const begin = at;
        while (at < stop && *at != format_.delimiter) ++at;
        field = {begin, static_cast<std::size_t>(at - begin)};
    } else {
        field = ends(at, stop) ? std::string_view(at, 0) : take_word(at, stop);
    }
    return true;
}

template <class Integer>
static bool parse_integer(std::string_view field, double& out) {
    Integer value = 0;
    if (!parse_number(field, value)) return false;
    out = std::bit_cast<double>(value);
    return true;
}

// Writes the number of a column that is not skipped.
inline bool TableParser::parse_field(char kind, std::string_view field, double*& out) const {
    if (kind == 'i') return parse_integer<std::int64_t>(field, *out++);
    if (kind == 'u') return parse_integer<std::uint64_t>(field, *out++);
    if (kind != 'f') return true;
    if (format_.delimiter == 0 || !field.empty()) return parse_number(field, *out++);
    *out++ = std::numeric_limits<double>::quiet_NaN();
    return true;
}

bool TableParser::skip_list(const char*& at, const char* stop, std::string_view length_field) const {
    std::uint64_t length = 0;
    if (!parse_number(length_field, length)) return false;
    for (std::string_view skipped; length > 0; --length)
        if (!take_field(at, stop, false, false, skipped)) return false;
    return true;
}

bool TableParser::parse_line(const char* at, const char* stop, double* out) const {
    bool first = true;
    std::string_view field;
    for (const char kind : format_.kinds) {
        if (!take_field(at, stop, first, kind == '-', field)) return false;
        first = false;
        if (kind == 'l' ? !skip_list(at, stop, field) : !parse_field(kind, field, out)) return false;
    }
    skip_blanks(at, stop);
    return !format_.exact || ends(at, stop);
}

}  // namespace graphreg
