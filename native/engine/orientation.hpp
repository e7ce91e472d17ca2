// Orientation of normals: a viewpoint towards which all normals can point without contradicting their neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace graphreg {

// On a scan taken from one position, the normals that point to it vary smoothly along the neighbour graph: no visible
// surface turns its back. Of a fixed set of positions around the cloud, refined by a pattern search, the one with the
// least total variation of signs is returned. points, normals: (count, 3), lengths in voxels; neighbours: (count, k).
std::array<double, 3> infer_viewpoint(const double* points, const double* normals, const std::int32_t* neighbours,
                                      std::size_t count, std::size_t k, int threads);

}  // namespace graphreg
