// Least-squares planes of the points around each point: normals and curvature.
#pragma once

#include "features/neighbour_graph.hpp"

namespace graphreg {

// The plane of each point and its neighbours: unit normal (count, 3), its sign arbitrary, zero where there is no unique
// plane (all on a line, at one point, or isotropic in two directions); curvature (count), the smallest eigenvalue of
// their covariance over the sum of all three.
void fit_planes(const NeighbourGraph& graph, int threads, double* normals, double* curvature);

// The same for voxels: the plane of all points of a voxel and of its neighbouring voxels. graph.points: the voxels'
// means; weights (count): sum over the points of a voxel; moments (count, 6): their weighted second moments about the
// mean, xx yy zz xy xz yz. roughness (count): the standard deviation of the points along the normal. projected (count,
// 3): the means, projected onto the planes.
void fit_pooled_planes(const NeighbourGraph& graph, const double* weights, const double* moments, int threads,
                       double* normals, double* roughness, double* projected);

}  // namespace graphreg
