#include "engine/normal_orientation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace graphreg {

namespace {

// Cosine between the normal of j and the mirror image of that of i in the plane between them; 0 for equal points.
double mirrored_cosine(const double* points, const double* normals, std::size_t i, std::size_t j) {
    const double *p = points + 3 * i, *q = points + 3 * j, *n = normals + 3 * i, *m = normals + 3 * j;
    const double u[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
    const double squared = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    if (!(squared > 0)) return 0;
    const double along = n[0] * u[0] + n[1] * u[1] + n[2] * u[2], other = m[0] * u[0] + m[1] * u[1] + m[2] * u[2];
    return n[0] * m[0] + n[1] * m[1] + n[2] * m[2] - 2 * along * other / squared;
}

// Sets of surfels, each with its sign relative to the representative of its set.
class SignedSets {
public:
    explicit SignedSets(std::size_t count) : parent_(count), flipped_(count) {
        for (std::size_t i = 0; i < count; ++i) parent_[i] = i;
    }

    // The representative of i, and whether the sign of i differs from its own. Halves the paths on the way.
    std::pair<std::size_t, bool> find(std::size_t i) {
        bool flipped = false;
        while (parent_[i] != i) {
            const std::size_t above = parent_[i];
            flipped_[i] = flipped_[i] != flipped_[above];
            parent_[i] = parent_[above];
            flipped ^= static_cast<bool>(flipped_[i]);
            i = parent_[i];
        }
        return {i, flipped};
    }

    // Joins the sets of i and j so that their signs are equal, or opposite. The lower representative stays.
    void join(std::size_t i, std::size_t j, bool opposite) {
        auto [a, a_flipped] = find(i);
        auto [b, b_flipped] = find(j);
        if (a == b) return;
        if (b < a) std::swap(a, b);
        parent_[b] = a;
        flipped_[b] = (a_flipped != b_flipped) != opposite;
    }

private:
    std::vector<std::size_t> parent_;
    std::vector<char> flipped_;
};

}  // namespace

void orient_consistently(const double* points, double* normals, const std::int32_t* neighbours, std::size_t count,
                         std::size_t k) {
    struct Edge {
        float cosine;
        std::int32_t i, j;
    };
    std::vector<Edge> edges;
    edges.reserve(count * k);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t n = 0; n < k; ++n) {
            const auto j = static_cast<std::size_t>(neighbours[i * k + n]);
            const auto low = std::min(i, j), high = std::max(i, j);
            edges.push_back({static_cast<float>(mirrored_cosine(points, normals, low, high)),
                             static_cast<std::int32_t>(low), static_cast<std::int32_t>(high)});
        }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
        const float x = std::abs(a.cosine), y = std::abs(b.cosine);
        return x != y ? x > y : a.i != b.i ? a.i < b.i : a.j < b.j;
    });
    SignedSets sets(count);
    for (const Edge& edge : edges)
        sets.join(static_cast<std::size_t>(edge.i), static_cast<std::size_t>(edge.j), edge.cosine < 0);
    for (std::size_t i = 0; i < count; ++i)
        if (sets.find(i).second)
            for (int axis = 0; axis < 3; ++axis) normals[3 * i + static_cast<std::size_t>(axis)] *= -1;
}

}  // namespace graphreg
