// The closest point of a triangle mesh: a bounding-volume tree with leaves of up to four triangles, cut at the median
// of their centroids along the longest axis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "points/kd_tree.hpp"

namespace graphreg {

// What of a triangle a, b, c a closest point is on.
enum class Region : std::uint8_t { inside, edge_ab, edge_bc, edge_ca, corner_a, corner_b, corner_c };

class TriangleTree {
public:
    // vertices (.., 3), faces (count, 3) with numbers of vertices; at least one face, none without area.
    TriangleTree(const double* vertices, const std::int32_t* faces, std::size_t count);

    std::size_t size() const { return triangles_.size(); }

    struct Closest {
        double* distances;      // (count)
        std::int32_t* faces;    // (count): the face that it is on
        std::uint8_t* regions;  // (count): a Region
        double* points;         // (count, 3)
    };

    // The closest point of the mesh for each query (count, 3).
    void closest(const double* queries, std::size_t count, int threads, const Closest& found) const;

private:
    using Vector = std::array<double, 3>;

    struct Triangle {
        Vector a, ab, ac, normal;  // a unit normal
        double ab_ab, ab_ac, ac_ac;
        std::int32_t face;
    };

    struct TreeNode {
        Box box;
        std::int32_t begin;  // of a leaf, its first triangle; of another node, its right child, the left one being next
        std::int32_t count;  // triangles of a leaf, else 0
    };

    struct Nearest;

    void build(std::size_t begin, std::size_t end);
    static void try_triangle(const Triangle& triangle, std::int32_t number, const double* query, Nearest& nearest);
    void search(const double* query, Nearest& nearest) const;

    std::vector<Triangle> triangles_;
    std::vector<TreeNode> nodes_;
};

}  // namespace graphreg
