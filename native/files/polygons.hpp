// Faces of meshes in files: lists of vertex numbers, in text or binary. Every read is checked against the end of the
// data; whether the numbers are those of vertices is for the caller to check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "files/packed_records.hpp"

namespace graphreg {

struct Polygons {
    std::vector<std::int64_t> corners;  // vertex numbers from 0 on, one face after the other
    std::vector<std::int64_t> sizes;    // corners of each face
    std::size_t stop = 0;               // where the first unread line or record begins
};

// Lines that hold a list. `kinds` has one letter for each column: p for the list of corners (its length n, then n
// numbers), l for another list, - for any other word. What follows the last column is ignored, as are blank lines and
// comments (#). Stops at the first line that is something else or incomplete, or after `rows` lines.
Polygons parse_list_faces(std::string_view text, std::size_t start, std::size_t rows, std::string_view kinds);

// The lines "f a b c ..." of an OBJ file, each corner a vertex number from 1 on, or from the last vertex before the
// line if negative, with or without "/" and other numbers behind it. Stops at a face that is something else, or has
// fewer than three corners. The last line has a line end as well.
Polygons parse_obj_faces(std::string_view text);

// Binary records with lists, as `pack_records` reads them; that of part number `list` has the corners, which are
// signed or unsigned integers. Stops at the first record that is incomplete, or after `rows` records.
Polygons unpack_faces(std::span<const std::uint8_t> bytes, std::size_t start, std::size_t rows,
                      std::span<const RecordPart> parts, std::size_t list, bool signed_corners, bool big_endian);

}  // namespace graphreg
