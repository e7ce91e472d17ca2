// Tables of numbers in text files. Every read is checked against the end of the text, every allocation against its
// size.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace graphreg {

// The columns of a line. `kinds` has one letter for each:
//   f  double      i, u  64-bit integer, its bits stored in place of a double      -  any word, skipped
//   l  a list: its length n, then n words, skipped
struct LineFormat {
    std::string_view kinds;
    char delimiter = 0;       // 0: whitespace only; else this character, and an empty number is nan
    bool exact = true;        // nothing may follow the last column
    bool comments = false;    // # and // begin a comment, to the end of the line
    std::string_view prefix;  // if not empty, only lines whose first word is this one are read; the others are skipped
};

struct Table {
    std::unique_ptr<double[]> values;
    std::size_t rows = 0, columns = 0;
    std::size_t stop = 0;  // where the first unread line begins
};

class TableParser {
public:
    explicit TableParser(const LineFormat& format) : format_(format) {}

    // Reads lines from `start` on, until there are `rows` of them, a line does not match the format, or no complete
    // line (one that has its line end) is left. Blank lines do not count.
    Table parse(std::string_view text, std::size_t start, std::size_t rows) const;

private:
    bool ends(const char* at, const char* stop) const;
    bool take_prefix(const char*& at, const char* stop) const;
    std::string_view take_word(const char*& at, const char* stop) const;
    bool take_field(const char*& at, const char* stop, bool first, bool any_text, std::string_view& field) const;
    bool parse_field(char kind, std::string_view field, double*& out) const;
    bool skip_list(const char*& at, const char* stop, std::string_view length_field) const;
    bool parse_line(const char* at, const char* stop, double* out) const;

    LineFormat format_;
};

}  // namespace graphreg
