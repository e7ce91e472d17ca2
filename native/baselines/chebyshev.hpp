// Chebyshev interpolation on a cube with twelve nodes along each axis.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "common/simd.hpp"

namespace graphreg {

constexpr std::size_t nodes = 12;
constexpr std::size_t node_vectors = nodes / four_lanes;

// A number for each node along an axis, on a plane, in the cube.
struct NodeRow {
    Four values[node_vectors];

    GRAPHREG_INLINE Four& operator[](std::size_t v) { return values[v]; }
    GRAPHREG_INLINE const Four& operator[](std::size_t v) const { return values[v]; }
    GRAPHREG_INLINE double node(std::size_t n) const { return values[n / four_lanes][n % four_lanes]; }
    GRAPHREG_INLINE void set_node(std::size_t n, double value) { values[n / four_lanes][n % four_lanes] = value; }
};
using NodePlane = std::array<NodeRow, nodes>;
using NodeCube = std::array<NodePlane, nodes>;
using NodeMatrix = std::array<NodeRow, nodes>;  // [from]: a row over all nodes that it maps to

GRAPHREG_INLINE double dot(const NodeRow& a, const NodeRow& b) {
    Four sum{};
    for (std::size_t v = 0; v < node_vectors; ++v) sum += a[v] * b[v];
    return sum_lanes(sum);
}

GRAPHREG_INLINE void clear(NodeCube& cube) {
    for (NodePlane& plane : cube) plane = NodePlane{};
}

// The Chebyshev polynomial T_k at node i; T_1 is the node's position in [-1, 1].
inline double chebyshev_at_node(std::size_t k, std::size_t i) {
    return std::cos(static_cast<double>(k) * (2 * static_cast<double>(i) + 1) * std::numbers::pi / (2 * nodes));
}

// The polynomial that is 1 at node t_i and 0 at all others is (1 + 2 sum_k T_k(t_i) T_k(u)) / nodes.
class LagrangeBasis {
public:
    LagrangeBasis() {
        for (std::size_t k = 0; k < nodes; ++k)
            for (std::size_t i = 0; i < nodes; ++i)
                factors_[k].set_node(i, (k ? 2.0 : 1.0) / nodes * chebyshev_at_node(k, i));
    }

    // The values of these polynomials at u, and their derivatives.
    GRAPHREG_INLINE void evaluate(double u, NodeRow& value, NodeRow& derivative) const {
        double t_before = 1, t = u;    // first kind
        double u_before = 0, u_k = 1;  // second kind: T_k' = k U_(k-1)
        value = factors_[0];
        derivative = NodeRow{};
        for (std::size_t k = 1; k < nodes; ++k) {
            for (std::size_t v = 0; v < node_vectors; ++v) {
                value[v] += factors_[k][v] * t;
                derivative[v] += factors_[k][v] * (static_cast<double>(k) * u_k);
            }
            const double t_next = 2 * u * t - t_before, u_next = 2 * u * u_k - u_before;
            t_before = t;
            t = t_next;
            u_before = u_k;
            u_k = u_next;
        }
    }

private:
    std::array<NodeRow, nodes> factors_;
};

}  // namespace graphreg
