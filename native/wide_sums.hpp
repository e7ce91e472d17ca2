// Sums of Gaussians so wide that a box of one width holds many points: such a sum is smooth, and a polynomial for each box
// stands for all pairs of points in two boxes.
#pragma once

#include "mixtures.hpp"

namespace graphreg {

// As gaussian_sums, off by at most a ten-millionth of all mass; false where summing over pairs costs less, which leaves
// weight and force as they are.
bool wide_gaussian_sums(const MixtureSystem& system, int threads, double* weight, double* force);

}  // namespace graphreg
