#include "files/polygons.hpp"

#include "files/number_parsing.hpp"

namespace graphreg {

namespace {

// The words of a line, up to a comment.
class Words {
public:
    explicit Words(std::string_view line) : rest_(line.substr(0, line.find('#'))) {}

    // The next word; empty at the end of the line.
    std::string_view next() {
        std::size_t begin = 0;
        while (begin < rest_.size() && blank(rest_[begin])) ++begin;
        std::size_t end = begin;
        while (end < rest_.size() && !blank(rest_[end])) ++end;
        const std::string_view word = rest_.substr(begin, end - begin);
        rest_.remove_prefix(end);
        return word;
    }

private:
    std::string_view rest_;
};

// Calls use(line) for each complete line from `start` on while it returns true; returns where the first line begins for
// which it did not.
template <class Use>
std::size_t for_each_line(std::string_view text, std::size_t start, Use&& use) {
    while (start < text.size()) {
        const std::size_t end = text.find('\n', start);
        if (end == text.npos || !use(text.substr(start, end - start))) return start;
        start = end + 1;
    }
    return start;
}

bool parse_list_face(std::string_view line, std::string_view kinds, Polygons& found) {
    Words words(line);
    const std::size_t before = found.corners.size();
    for (const char kind : kinds) {
        const std::string_view word = words.next();
        if (word.empty()) return false;
        if (kind == '-') continue;
        std::uint64_t length = 0;
        if (!parse_number(word, length)) return false;
        for (std::uint64_t i = 0; i < length; ++i) {
            const std::string_view item = words.next();
            if (item.empty()) return false;
            if (kind != 'p') continue;
            std::int64_t corner = 0;
            if (!parse_number(item, corner)) return false;
            found.corners.push_back(corner);
        }
    }
    found.sizes.push_back(static_cast<std::int64_t>(found.corners.size() - before));
    return true;
}

bool parse_obj_face(Words& words, std::int64_t vertices, Polygons& found) {
    const std::size_t before = found.corners.size();
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        std::int64_t corner = 0;
        if (!parse_number(word.substr(0, word.find('/')), corner)) return false;
        found.corners.push_back(corner < 0 ? vertices + corner : corner - 1);
    }
    const std::size_t size = found.corners.size() - before;
    if (size < 3) return false;
    found.sizes.push_back(static_cast<std::int64_t>(size));
    return true;
}

std::uint64_t integer_at(const std::uint8_t* bytes, std::size_t size, bool big_endian) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes[big_endian ? i : size - 1 - i];
    return value;
}

std::int64_t with_sign(std::uint64_t value, std::size_t size) {
    const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
    return static_cast<std::int64_t>((value ^ sign) - sign);
}

}  // namespace

Polygons parse_list_faces(std::string_view text, std::size_t start, std::size_t rows, std::string_view kinds) {
    Polygons found;
    found.stop = for_each_line(text, start, [&](std::string_view line) {
        if (found.sizes.size() == rows) return false;
        if (Words(line).next().empty()) return true;
        const std::size_t before = found.corners.size();
        const bool valid = parse_list_face(line, kinds, found);
        if (!valid) found.corners.resize(before);
        return valid;
    });
    return found;
}

Polygons parse_obj_faces(std::string_view text) {
    Polygons found;
    std::int64_t vertices = 0;
    found.stop = for_each_line(text, 0, [&](std::string_view line) {
        Words words(line);
        const std::string_view keyword = words.next();
        if (keyword == "v" || keyword == "V") ++vertices;
        if (keyword != "f" && keyword != "F") return true;
        const std::size_t before = found.corners.size();
        const bool valid = parse_obj_face(words, vertices, found);
        if (!valid) found.corners.resize(before);
        return valid;
    });
    return found;
}

Polygons unpack_faces(std::span<const std::uint8_t> bytes, std::size_t start, std::size_t rows,
                      std::span<const RecordPart> parts, std::size_t list, bool signed_corners, bool big_endian) {
    Polygons found;
    found.stop = start;
    while (found.sizes.size() < rows) {
        std::size_t at = found.stop;
        const std::size_t before = found.corners.size();
        bool complete = true;
        for (std::size_t i = 0; i < parts.size() && complete; ++i) {
            const RecordPart& part = parts[i];
            complete = bytes.size() - at >= part.fixed + part.count;
            if (!complete || part.count == 0) {
                at += complete ? part.fixed : 0;
                continue;
            }
            at += part.fixed;
            const std::uint64_t length = integer_at(bytes.data() + at, part.count, big_endian);
            at += part.count;
            complete =
                !(part.is_signed && with_sign(length, part.count) < 0) && length <= (bytes.size() - at) / part.item;
            if (!complete) continue;
            for (std::uint64_t j = 0; i == list && j < length; ++j) {
                const std::uint64_t corner = integer_at(bytes.data() + at + j * part.item, part.item, big_endian);
                found.corners.push_back(signed_corners ? with_sign(corner, part.item)
                                                       : static_cast<std::int64_t>(corner));
            }
            at += static_cast<std::size_t>(length) * part.item;
        }
        if (!complete || at == found.stop) {
            found.corners.resize(before);
            break;
        }
        found.sizes.push_back(static_cast<std::int64_t>(found.corners.size() - before));
        found.stop = at;
    }
    return found;
}

}  // namespace graphreg
