// Signals and filters on the k-nearest-neighbour graph: edge weights, response, variation, graph shift.
#pragma once

#include <cstddef>

#include "features/neighbour_graph.hpp"

namespace graphreg {

// Eq. 1: W_ij = exp(-2 r_ij^2 / tau_i^2) for neighbours nearer than tau_i, the farthest of the k; 0 for those at tau_i
// (EqualDistances). A neighbour at the point itself has weight 1. weights: (count, k).
void edge_weights(const NeighbourGraph& graph, int threads, double* weights);

// Definition 1: the squared length of x_i - sum_j A_ij x_j. Infinite where no edge of a point has a weight.
void response(const NeighbourGraph& graph, int threads, double* intensity);

// Theorem 2, without the sign of normals: (count, 2) with
//   sum_j W_ij (|n_i -+ n_j|^2 + (c_i - c_j)^2)    and    sum_j sqrt(W_ij) |n_i -+ n_j|^2
void variation(const NeighbourGraph& graph, const double* normals, const double* curvature, int threads,
               double* result);

// One graph shift: result_i = sum_j weights_ij signal_j for signals of `width` numbers a point.
void shift(const NeighbourGraph& graph, const double* weights, const double* signal, std::size_t width, int threads,
           double* result);

}  // namespace graphreg
