// Solves the normal equations of a Gauss-Newton step.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace graphreg {

// The solution of a x = b by Cholesky's factors, in the free directions only (the others stay 0); of the symmetric
// matrix a the lower triangle. A millionth of the largest diagonal entry is added to the diagonal: it damps steps in
// degenerate directions.
template <std::size_t n>
std::array<double, n> solve_damped(const double (&a)[n][n], const double (&b)[n], const std::array<bool, n>& free) {
    double l[n][n] = {}, y[n] = {};
    std::array<double, n> x{};
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (free[i]) largest = std::max(largest, a[i][i]);
    if (!(largest > 0)) return x;
    for (std::size_t i = 0; i < n; ++i) {
        if (!free[i]) continue;
        for (std::size_t j = 0; j <= i; ++j) {
            if (!free[j]) continue;
            double sum = a[i][j] + (i == j ? 1e-6 * largest : 0);
            for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12 * largest)) : sum / l[j][j];
        }
        double sum = b[i];
        for (std::size_t k = 0; k < i; ++k) sum -= l[i][k] * y[k];
        y[i] = sum / l[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
        if (!free[i]) continue;
        double sum = y[i];
        for (std::size_t k = i + 1; k < n; ++k) sum -= l[k][i] * x[k];
        x[i] = sum / l[i][i];
    }
    return x;
}

}  // namespace graphreg
