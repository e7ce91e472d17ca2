// Refinement: the normal equations of a small step that lays surfaces on each other.
#pragma once

#include <array>
#include <cmath>

#include "motions.hpp"

namespace graphreg {

// How far two normals may differ by mere noise, as 1 - cos: pairs that differ by more lose their weight.
constexpr double normal_noise = 0.02;

// Sums over pairs of a moved source point x and a target point y, each with its normal. The residual is the offset
// x - y along the mean of both normals; the step turns and shifts x.
struct NormalEquations {
    double a[6][6] = {};  // the lower triangle
    double b[6] = {};
    double weight = 0;    // sum of weights
    double squared = 0;   // sum of weighted squared residuals

    inline __attribute__((always_inline)) void add(const std::array<double, 3>& x, const std::array<double, 3>& nx,
                                                   const double* y, const double* ny, double inverse_scale,
                                                   double importance) {
        const double d[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]};
        // (1 - d^2 / 8 s^2)^4: close to the Gaussian of width s, and 0 beyond 2.8 s.
        const double near = 1 - (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) * inverse_scale;
        if (!(near > 0)) return;
        const double cosine = nx[0] * ny[0] + nx[1] * ny[1] + nx[2] * ny[2];
        if (!(cosine > 0)) return;  // the two sides of a thin wall
        double q[3] = {nx[0] + ny[0], nx[1] + ny[1], nx[2] + ny[2]};
        const double length = 2 + 2 * cosine;  // squared, of unit normals
        const double scale = 1 / std::sqrt(length);
        for (double& entry : q) entry *= scale;
        const double m[3] = {x[0] - 0.5 * d[0], x[1] - 0.5 * d[1], x[2] - 0.5 * d[2]};
        const double j[6] = {m[1] * q[2] - m[2] * q[1], m[2] * q[0] - m[0] * q[2], m[0] * q[1] - m[1] * q[0],
                             q[0], q[1], q[2]};
        const double residual = d[0] * q[0] + d[1] * q[1] + d[2] * q[2];
        const double w = importance * (near * near) * (near * near) / (1 - cosine + normal_noise);
        for (int row = 0; row < 6; ++row) {
            const double wj = w * j[row];
            for (int column = 0; column <= row; ++column) a[row][column] += wj * j[column];
            b[row] -= wj * residual;
        }
        weight += w;
        squared += w * residual * residual;
    }

    void add(const NormalEquations& other) {
        for (int row = 0; row < 6; ++row) {
            for (int column = 0; column <= row; ++column) a[row][column] += other.a[row][column];
            b[row] += other.b[row];
        }
        weight += other.weight;
        squared += other.squared;
    }
};

}  // namespace graphreg
