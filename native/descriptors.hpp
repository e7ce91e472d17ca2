// Descriptors: how the surface around a point looks, as numbers that no rigid transform changes, and which points of two
// clouds look alike.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

// Four graph signals in three shells, eight bins each.
constexpr std::size_t descriptor_size = 96;

// The signals on the edge from point i to its neighbour j, with unit direction u:
//   n_i . u,   n_j . u,   n_i . n_j,   (n_i x u) . n_j
// Their distributions over the edges within 0.45, 0.72 and 1 of the radius, each the root of a share, in 255ths.
// points, normals (count, 3), normals of length 1 or 0; result (count, descriptor_size).
void descriptors(const double* points, const double* normals, std::size_t count, double radius, int threads,
                std::uint8_t* result);

// For each descriptor of one cloud the nearest of the other, by the sum of absolute differences; of equals the first.
// best_of_a (count_a), best_of_b (count_b); neither cloud is empty.
void match_descriptors(const std::uint8_t* a, std::size_t count_a, const std::uint8_t* b, std::size_t count_b, int threads,
           std::int32_t* best_of_a, std::int32_t* best_of_b);

}  // namespace graphreg
