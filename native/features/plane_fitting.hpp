// Least-squares planes of the points around each point: normals and curvature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/neighbour_graph.hpp"

namespace graphreg {

// Points that are as far as the k-th neighbour of a point, but not among its k.
struct Ties {
    std::vector<std::size_t> start;  // those of point i are from start[i] to start[i + 1]; empty where there are none
    std::vector<std::int32_t> others;

    // From pairs (pair_count, 2) of point and other, in any order.
    Ties(const std::int32_t* pairs, std::size_t pair_count, std::size_t point_count);
};

// The plane of each point, its neighbours and their ties: unit normal (count, 3), its sign arbitrary, zero where there
// is no unique plane (all on a line, at one point, or isotropic in two directions); curvature (count), the smallest
// eigenvalue of their covariance over the sum of all three.
void fit_planes(const NeighbourGraph& graph, const Ties& ties, int threads, double* normals, double* curvature);

// The same for voxels: the plane of all points of a voxel and of its neighbouring voxels. graph.points: the voxels'
// means; weights (count): sum over the points of a voxel; moments (count, 6): their weighted second moments about the
// mean, xx yy zz xy xz yz. roughness (count): the standard deviation of the points along the normal. projected (count,
// 3): the means, projected onto the planes.
void fit_pooled_planes(const NeighbourGraph& graph, const double* weights, const double* moments, int threads,
                       double* normals, double* roughness, double* projected);

}  // namespace graphreg
