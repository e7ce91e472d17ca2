// The fast Gauss transform by Chebyshev interpolation, for Gaussians so wide that a box of about a width contains many
// points: the sum is smooth there, and a polynomial for each box represents all its points.
#pragma once

#include "baselines/gaussian_sums.hpp"

namespace graphreg {

// As gaussian_sums(), in double precision: weights are off by at most 3e-9 of the total mass, forces by 1e-7 s of it.
// Returns false, and leaves weight and force as they are, where it costs less to sum over pairs.
bool fast_gauss_transform(const GaussianSystem& system, int threads, double* weight, double* force);

}  // namespace graphreg
