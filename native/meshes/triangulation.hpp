// Triangles of polygons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace graphreg {

// Divides each polygon of `corners` (one after the other, `sizes` corners each) into triangles with the same
// orientation. Those with fewer than three corners have none. Convex polygons become fans, others lose one ear after
// the other (Meisters 1975); the few that have none, because their sides cross, become fans as well, and so do those
// with more than `most_corners`, for which ears would take too long.
std::vector<std::int32_t> triangulate(const double* vertices, std::span<const std::int32_t> corners,
                                      std::span<const std::int64_t> sizes);

constexpr std::size_t most_corners = 500;

}  // namespace graphreg
