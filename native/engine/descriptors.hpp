// Descriptors of surfels: histograms of the angles between normals and edges, which no rigid transform changes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

// Four graph signals in three shells, eight bins each.
constexpr std::size_t descriptor_size = 96;

// The signals on the edge from point i to its neighbour j, with unit direction u:
//   n_i . u,   n_j . u,   n_i . n_j,   (n_i x u) . n_j
// Their distributions over the edges within 0.45, 0.72 and 1 of the radius: square roots of shares, in 255ths.
// points, normals (count, 3), normals of length 1 or 0; result (count, descriptor_size).
void descriptors(const double* points, const double* normals, std::size_t count, double radius, int threads,
                 std::uint8_t* result);

}  // namespace graphreg
