#include "meshes/triangle_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/parallel.hpp"

namespace graphreg {

namespace {

using Vector = std::array<double, 3>;

constexpr std::size_t most_in_leaf = 4;
// A balanced tree over 2^31 triangles is not as deep.
constexpr std::size_t most_depth = 64;
constexpr std::size_t queries_at_a_time = 256;

double dot(const Vector& u, const Vector& v) { return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]; }

Vector minus(const double* u, const double* v) { return {u[0] - v[0], u[1] - v[1], u[2] - v[2]}; }

double squared_distance(const Box& box, const double* query) {
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double beyond = std::max({box.low[axis] - query[axis], query[axis] - box.high[axis], 0.0});
        sum += beyond * beyond;
    }
    return sum;
}

// Queries along a Z-order curve, so that one that follows another is close to it.
std::vector<std::int32_t> along_curve(const double* queries, std::size_t count) {
    Box box = empty_box;
    for (std::size_t i = 0; i < count; ++i) enlarge(box, queries + 3 * i);
    double longest = 0;
    for (int axis = 0; axis < 3; ++axis) longest = std::max(longest, box.high[axis] - box.low[axis]);
    const double scale = longest > 0 ? 1023 / longest : 0;
    const auto spread = [](std::uint32_t bits) {
        bits = (bits | bits << 16) & 0x030000FFu;
        bits = (bits | bits << 8) & 0x0300F00Fu;
        bits = (bits | bits << 4) & 0x030C30C3u;
        return (bits | bits << 2) & 0x09249249u;
    };
    std::vector<std::pair<std::uint32_t, std::int32_t>> keys(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t key = 0;
        for (int axis = 0; axis < 3; ++axis)
            key |= spread(static_cast<std::uint32_t>((queries[3 * i + axis] - box.low[axis]) * scale)) << axis;
        keys[i] = {key, static_cast<std::int32_t>(i)};
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::int32_t> order(count);
    std::transform(keys.begin(), keys.end(), order.begin(), [](const auto& key) { return key.second; });
    return order;
}

}  // namespace

struct TriangleTree::Nearest {
    double squared = infinity;
    std::int32_t triangle = 0;
    Region region = Region::inside;
    Vector from_query{};  // to the closest point
};

TriangleTree::TriangleTree(const double* vertices, const std::int32_t* faces, std::size_t count) {
    triangles_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double* const a = vertices + 3 * faces[3 * i];
        const Vector ab = minus(vertices + 3 * faces[3 * i + 1], a), ac = minus(vertices + 3 * faces[3 * i + 2], a);
        Vector normal{ab[1] * ac[2] - ab[2] * ac[1], ab[2] * ac[0] - ab[0] * ac[2], ab[0] * ac[1] - ab[1] * ac[0]};
        const double length = std::sqrt(dot(normal, normal));
        for (double& value : normal) value /= length;
        triangles_[i] = {{a[0], a[1], a[2]}, ab,          ac,          normal,
                         dot(ab, ab),        dot(ab, ac), dot(ac, ac), static_cast<std::int32_t>(i)};
    }
    nodes_.reserve(count);
    build(0, count);
}

void TriangleTree::build(std::size_t begin, std::size_t end) {
    const std::size_t node = nodes_.size();
    Box box = empty_box, centroids = empty_box;
    const auto centroid = [](const Triangle& t, int axis) { return t.a[axis] + (t.ab[axis] + t.ac[axis]) / 3; };
    for (std::size_t i = begin; i < end; ++i) {
        const Triangle& t = triangles_[i];
        Vector b, c, middle;
        for (int axis = 0; axis < 3; ++axis) {
            b[axis] = t.a[axis] + t.ab[axis];
            c[axis] = t.a[axis] + t.ac[axis];
            middle[axis] = centroid(t, axis);
        }
        for (const Vector& corner : {t.a, b, c}) enlarge(box, corner.data());
        enlarge(centroids, middle.data());
    }
    nodes_.push_back({box, static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end - begin)});
    if (end - begin <= most_in_leaf) return;
    int axis = 0;
    for (int other = 1; other < 3; ++other)
        if (centroids.high[other] - centroids.low[other] > centroids.high[axis] - centroids.low[axis]) axis = other;
    const std::size_t middle = begin + (end - begin) / 2;
    const auto at = [&](std::size_t i) { return triangles_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(begin), at(middle), at(end), [&](const Triangle& s, const Triangle& t) {
        const double first = centroid(s, axis), second = centroid(t, axis);
        return first < second || (first == second && s.face < t.face);
    });
    build(begin, middle);
    nodes_[node].count = 0;
    nodes_[node].begin = static_cast<std::int32_t>(nodes_.size());
    build(middle, end);
}

// Ericson, Real-Time Collision Detection, 2005, Sec. 5.1.5.
void TriangleTree::try_triangle(const Triangle& t, std::int32_t number, const double* query, Nearest& nearest) {
    const Vector ap = minus(query, t.a.data());
    const double d1 = dot(t.ab, ap), d2 = dot(t.ac, ap);
    const double d3 = d1 - t.ab_ab, d4 = d2 - t.ab_ac, d5 = d1 - t.ab_ac, d6 = d2 - t.ac_ac;
    Region region = Region::inside;
    double v = 0, w = 0;  // the closest point is a + v ab + w ac
    if (d1 <= 0 && d2 <= 0) {
        region = Region::corner_a;
    } else if (d3 >= 0 && d4 <= d3) {
        region = Region::corner_b;
        v = 1;
    } else if (d6 >= 0 && d5 <= d6) {
        region = Region::corner_c;
        w = 1;
    } else if (d1 >= 0 && d3 <= 0 && d1 * d4 - d3 * d2 <= 0) {
        region = Region::edge_ab;
        v = d1 / t.ab_ab;
    } else if (d2 >= 0 && d6 <= 0 && d5 * d2 - d1 * d6 <= 0) {
        region = Region::edge_ca;
        w = d2 / t.ac_ac;
    } else if (d4 >= d3 && d5 >= d6 && d3 * d6 - d5 * d4 <= 0) {
        region = Region::edge_bc;
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        v = 1 - w;
    }
    Vector step;
    if (region == Region::inside) {
        const double height = dot(t.normal, ap);
        if (height * height >= nearest.squared) return;
        for (int axis = 0; axis < 3; ++axis) step[axis] = -height * t.normal[axis];
        nearest = {height * height, number, region, step};
        return;
    }
    for (int axis = 0; axis < 3; ++axis) step[axis] = v * t.ab[axis] + w * t.ac[axis] - ap[axis];
    const double squared = dot(step, step);
    if (squared < nearest.squared) nearest = {squared, number, region, step};
}

void TriangleTree::search(const double* query, Nearest& nearest) const {
    struct Postponed {
        std::int32_t node;
        double squared;
    };
    std::array<Postponed, most_depth> stack;
    std::size_t depth = 0;
    std::int32_t current = 0;
    while (true) {
        const TreeNode& node = nodes_[static_cast<std::size_t>(current)];
        if (node.count > 0) {
            for (std::int32_t i = node.begin; i < node.begin + node.count; ++i)
                try_triangle(triangles_[static_cast<std::size_t>(i)], i, query, nearest);
        } else {
            Postponed near{current + 1, squared_distance(nodes_[static_cast<std::size_t>(current) + 1].box, query)};
            Postponed far{node.begin, squared_distance(nodes_[static_cast<std::size_t>(node.begin)].box, query)};
            if (far.squared < near.squared) std::swap(near, far);
            if (far.squared < nearest.squared) stack[depth++] = far;
            if (near.squared < nearest.squared) {
                current = near.node;
                continue;
            }
        }
        while (depth > 0 && stack[depth - 1].squared >= nearest.squared) --depth;
        if (depth == 0) return;
        current = stack[--depth].node;
    }
}

void TriangleTree::closest(const double* queries, std::size_t count, int threads, const Closest& found) const {
    const std::vector<std::int32_t> order = along_curve(queries, count);
    parallel_for(count, queries_at_a_time, threads, [&](std::size_t begin, std::size_t end) {
        Nearest nearest;
        for (std::size_t k = begin; k < end; ++k) {
            const auto i = static_cast<std::size_t>(order[k]);
            const double* const query = queries + 3 * i;
            // The triangle that was closest to the query before is close to this one as well.
            const std::int32_t last = nearest.triangle;
            nearest = {};
            if (k > begin) try_triangle(triangles_[static_cast<std::size_t>(last)], last, query, nearest);
            search(query, nearest);
            found.distances[i] = std::sqrt(nearest.squared);
            found.faces[i] = triangles_[static_cast<std::size_t>(nearest.triangle)].face;
            found.regions[i] = static_cast<std::uint8_t>(nearest.region);
            for (int axis = 0; axis < 3; ++axis) found.points[3 * i + axis] = query[axis] + nearest.from_query[axis];
        }
    });
}

}  // namespace graphreg
