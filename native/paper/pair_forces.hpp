// The forces of all target particles on each source particle: gravity, Coulomb's law with charges from features, and
// the Gaussian of soft assignments are one sum over pairs with different weights.
#pragma once

#include <cstddef>

namespace graphreg {

enum class ForceLaw {
    inverse_square,  // w = 1 / (r^2 + s^2)^(3/2): the force falls with the square of the distance
    gaussian,        // w = exp(-r^2 / (2 s^2))
};

struct ParticleSystem {
    const float* source;           // (sources, 3)
    const float* target;           // (targets, 3)
    const float* source_features;  // (sources, features)
    const float* target_features;  // (targets, features)
    const float* target_mass;      // (targets)
    std::size_t sources, targets, features;
    ForceLaw law;
    float scale;  // s: the softening of the one law, the width of the other
};

// With the charge q_ij = 1 - 2 |f_i - f_j|^2 / sqrt(features), which is 1 without features:
//   force_i  = sum_j m_j q_ij w_ij (y_j - x_i)     (sources, 3)
//   weight_i = sum_j m_j q_ij w_ij                 (sources)
// In single precision, so coordinates must be relative to a common origin.
void pair_forces(const ParticleSystem& system, int threads, double* force, double* weight);

}  // namespace graphreg
