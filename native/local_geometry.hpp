// What the graph tells about the surface around each point: response, plane, variation; and graph filtering.
//
// All take points (count, 3), their neighbours (count, k) nearest first, and an order to walk in: any order gives the same
// values, one in which neighbours in space come one after another is fast. Differences are taken before anything else,
// so that coordinates far from the origin lose nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

struct Neighbourhoods {
    const double* points;             // (count, 3)
    const std::int32_t* neighbours;   // (count, k)
    const std::int32_t* order;        // (count)
    std::size_t count;
    std::size_t k;
};

// Eq. 1: W_ij = exp(-2 r_ij^2 / tau_i^2) for neighbours nearer than tau_i, the farthest of the k; 0 for those at tau_i.
// A neighbour at the point itself has weight 1. weights: (count, k).
void edge_weights(const Neighbourhoods& graph, int threads, double* weights);

// Definition 1: the squared length of x_i - sum_j A_ij x_j. Infinite where a point has no neighbour with a weight.
void response(const Neighbourhoods& graph, int threads, double* intensity);

// The plane through each point and its neighbours: unit normal (count, 3), its sign arbitrary, zero where no
// plane stands out (on a line, in one place, alike in two directions); curvature (count), the smallest eigenvalue of their
// covariance over the sum of all three.
void fit_planes(const Neighbourhoods& graph, int threads, double* normals, double* curvature);

// The same for cells that stand for many points each: the plane through all points of a cell and of its neighbour cells.
// graph.points: the cells' means; weights (count): of all the points in a cell; moments (count, 6): their weighted second
// moments about the mean, xx yy zz xy xz yz. spread (count): the root of the smallest eigenvalue, how far points lie off
// the plane. laid (count, 3): the means, moved along the normals onto the planes.
void fit_pooled_planes(const Neighbourhoods& graph, const double* weights, const double* moments, int threads,
                       double* normals, double* spread, double* laid);

// Theorem 2, without the sign of normals: (count, 2) with
//   sum_j W_ij (|n_i -+ n_j|^2 + (c_i - c_j)^2)    and    sum_j sqrt(W_ij) |n_i -+ n_j|^2
void variation(const Neighbourhoods& graph, const double* normals, const double* curvature, int threads, double* result);

// One graph shift: result_i = sum_j weights_ij signal_j for signals of `width` numbers a point.
void shift(const Neighbourhoods& graph, const double* weights, const double* signal, std::size_t width, int threads,
           double* result);

}  // namespace graphreg
