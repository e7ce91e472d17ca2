#include "meshes/triangulation.hpp"

#include <cmath>
#include <utility>

namespace graphreg {

namespace {

using Polygon = std::span<const std::int32_t>;

// The corners of a polygon, projected along the longest component of its normal.
struct Outline {
    std::vector<double> x, y;

    Outline(const double* vertices, Polygon polygon) {
        double normal[3] = {0, 0, 0};  // Newell's
        const double* const origin = vertices + 3 * polygon[0];
        for (std::size_t i = 0; i < polygon.size(); ++i) {
            const double* const a = vertices + 3 * polygon[i];
            const double* const b = vertices + 3 * polygon[(i + 1) % polygon.size()];
            for (int axis = 0; axis < 3; ++axis) {
                const int u = (axis + 1) % 3, v = (axis + 2) % 3;
                normal[axis] += (a[u] - origin[u]) * (b[v] - origin[v]) - (a[v] - origin[v]) * (b[u] - origin[u]);
            }
        }
        int along = 0;
        for (int axis = 1; axis < 3; ++axis)
            if (std::abs(normal[axis]) > std::abs(normal[along])) along = axis;
        int u = (along + 1) % 3, v = (along + 2) % 3;
        if (normal[along] < 0) std::swap(u, v);
        for (const std::int32_t corner : polygon) {
            x.push_back(vertices[3 * corner + u]);
            y.push_back(vertices[3 * corner + v]);
        }
    }

    // Twice the area of the triangle a, b, c; positive if it turns as the polygon does.
    double turn(std::size_t a, std::size_t b, std::size_t c) const {
        return (x[b] - x[a]) * (y[c] - y[a]) - (x[c] - x[a]) * (y[b] - y[a]);
    }

    bool inside(std::size_t point, std::size_t a, std::size_t b, std::size_t c) const {
        return turn(a, b, point) >= 0 && turn(b, c, point) >= 0 && turn(c, a, point) >= 0;
    }

    bool same_place(std::size_t a, std::size_t b) const { return x[a] == x[b] && y[a] == y[b]; }
};

void add_fan(Polygon polygon, std::vector<std::int32_t>& triangles) {
    for (std::size_t i = 2; i < polygon.size(); ++i)
        triangles.insert(triangles.end(), {polygon[0], polygon[i - 1], polygon[i]});
}

bool convex(const Outline& outline) {
    const std::size_t count = outline.x.size();
    // Seen from the first corner as well, or a star that winds twice would do.
    for (std::size_t i = 0; i < count; ++i)
        if (outline.turn(i, (i + 1) % count, (i + 2) % count) < 0) return false;
    for (std::size_t i = 2; i < count; ++i)
        if (outline.turn(0, i - 1, i) < 0) return false;
    return true;
}

bool is_ear(const Outline& outline, const std::vector<std::size_t>& left, std::size_t i) {
    const std::size_t count = left.size();
    const std::size_t a = left[(i + count - 1) % count], b = left[i], c = left[(i + 1) % count];
    if (outline.turn(a, b, c) < 0) return false;
    for (const std::size_t other : left) {
        if (outline.same_place(other, a) || outline.same_place(other, b) || outline.same_place(other, c)) continue;
        if (outline.inside(other, a, b, c)) return false;
    }
    return true;
}

// False where no ear is found; `triangles` is then as it was.
bool add_ears(const Outline& outline, Polygon polygon, std::vector<std::int32_t>& triangles) {
    const std::size_t before = triangles.size();
    std::vector<std::size_t> left(polygon.size());
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    while (left.size() >= 3) {
        const std::size_t count = left.size();
        std::size_t ear = 0;
        while (ear < count && !is_ear(outline, left, ear)) ++ear;
        if (ear == count) {
            triangles.resize(before);
            return false;
        }
        triangles.insert(triangles.end(), {polygon[left[(ear + count - 1) % count]], polygon[left[ear]],
                                           polygon[left[(ear + 1) % count]]});
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(ear));
    }
    return true;
}

}  // namespace

std::vector<std::int32_t> triangulate(const double* vertices, std::span<const std::int32_t> corners,
                                      std::span<const std::int64_t> sizes) {
    std::vector<std::int32_t> triangles;
    std::size_t begin = 0;
    for (const std::int64_t size : sizes) {
        const Polygon polygon = corners.subspan(begin, static_cast<std::size_t>(size));
        begin += polygon.size();
        if (polygon.size() <= 3) {
            if (polygon.size() == 3) add_fan(polygon, triangles);
            continue;
        }
        const Outline outline(vertices, polygon);
        const bool fan = convex(outline) || polygon.size() > most_corners;
        if (fan || !add_ears(outline, polygon, triangles)) add_fan(polygon, triangles);
    }
    return triangles;
}

}  // namespace graphreg
