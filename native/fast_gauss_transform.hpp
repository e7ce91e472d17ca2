// Sums of Gaussians so wide that a box of about a width holds many points. Such a sum is smooth: a polynomial for each
// box stands for all its points.
#pragma once

#include "gaussian_sums.hpp"

namespace graphreg {

// As gaussian_sums, in double precision: weights are off by at most 3e-9 of all mass, forces by 1e-7 s of it. Returns
// false, and leaves weight and force as they are, where it costs less to sum over pairs.
bool wide_gaussian_sums(const MixtureSystem& system, int threads, double* weight, double* force);

}  // namespace graphreg
