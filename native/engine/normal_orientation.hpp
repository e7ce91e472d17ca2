// Normals of one sign on each connected surface.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

// Flips normals (count, 3) so that they agree along a maximum spanning forest of the graph with neighbours (count, k).
// On an arc through two surfels one normal is the mirror image of the other in the plane between them; the better this
// holds up to the sign, the earlier the edge is taken (Koenig and Gumhold 2009). The first surfel of each tree keeps
// its normal.
void orient_consistently(const double* points, double* normals, const std::int32_t* neighbours, std::size_t count,
                         std::size_t k);

}  // namespace graphreg
