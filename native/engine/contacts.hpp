// Contacts: what the surfels that a pose brings together say for it and against it.
#pragma once

#include <cstddef>

#include "engine/descriptor_ranks.hpp"
#include "engine/rigid_transforms.hpp"
#include "engine/surfel_grid.hpp"

namespace graphreg {

// Counts over the surfels of both clouds, each with the nearest surfel of the other.
struct Contacts {
    double facing = 0;       // close, and their normals agree
    double opposing = 0;     // close, and their normals point away from each other
    double crossing = 0;     // close, and their normals do neither
    double in_front = 0;     // floating in front of the other cloud's surface, on the side of its normals
    double behind = 0;       // floating behind it
    double information = 0;  // sum over the facing ones of -log r - 1: zero on average by chance (see DescriptorRanks)
};

// Surfels are close within `max_distance`; normals agree above the cosine `min_cosine`, and oppose each other below its
// negative. A surfel floats if it is farther from its nearest surfel, but not beside it. Every `step`-th surfel is
// counted, `step` times; with a step, only approximately nearest surfels are looked up. contacts: (count).
void count_contacts(const DescriptorRanks& ranks, const SurfelGrid& source, const SurfelGrid& target,
                    const RigidTransform* poses, std::size_t count, double max_distance, double min_cosine,
                    std::size_t step, int threads, Contacts* contacts);

}  // namespace graphreg
