// Hypotheses: poses that many matches agree on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rigid_transforms.hpp"

namespace graphreg {

// Pairs of points that look alike, with normals whose sign is the same convention in both clouds: each (count, 3).
struct Matches {
    const double *source, *source_normals, *target, *target_normals;
    std::size_t count;
};

struct Hypothesis {
    RigidTransform transform;
    std::int32_t support;  // how many matches it was found from
};

// Two matches are compatible if one rigid transform can carry both: their distances agree within `tolerance`, and so do the
// angles of their normals. A pair of compatible matches is supported by all others that are compatible with both. Each
// match proposes the pair in which it has most support; the best proposal is taken with all that support it, then the
// best of the remaining ones, up to `most`. The transform may turn about all axes, one or none.
std::vector<Hypothesis> hypotheses(const Matches& matches, double tolerance, std::size_t most,
                                   const DegreesOfFreedom& dof, int threads);

}  // namespace graphreg
