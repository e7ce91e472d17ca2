// Sums of Gaussians over all pairs of two clouds (the discrete Gauss transform), for mixture models.
#pragma once

#include <cstddef>

namespace graphreg {

struct GaussianSystem {
    const float* points;  // (count, 3)
    const float* others;  // (other_count, 3)
    const float* mass;    // (other_count)
    std::size_t count, other_count;
    float width;  // s
};

// With w_ij = mass_j exp(-|y_j - x_i|^2 / (2 s^2)) for points x and others y:
//   weight_i = sum_j w_ij                 (count)
//   force_i  = sum_j w_ij (y_j - x_i)     (count, 3), or null where it is not needed
// In single precision, so coordinates must be relative to a common origin; pairs with an exponent below -20 may be left
// out. Any order of the points gives the right sums; where s is small, an order in which consecutive points are close
// in space is fast. Where s is large, fast_gauss_transform() is used.
void gaussian_sums(const GaussianSystem& system, int threads, double* weight, double* force);

}  // namespace graphreg
