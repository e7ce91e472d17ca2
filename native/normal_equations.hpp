// Refinement: the normal equations of a small step that lays surfaces on each other.
#pragma once

#include <array>
#include <cstddef>

namespace graphreg {

// Pairs of a step_size source point x and a target point y, each with its normal, gathered so that they can be worked on several at
// a time.
struct Pairs {
    static constexpr std::size_t most = 64;

    alignas(32) double x[3][most], nx[3][most], y[3][most], ny[3][most], importance[most];
    std::size_t count = 0;

    inline void add(const std::array<double, 3>& point, const std::array<double, 3>& normal, const double* other,
                    const double* other_normal, double counts) {
        for (int a = 0; a < 3; ++a) {
            x[a][count] = point[a], nx[a][count] = normal[a];
            y[a][count] = other[a], ny[a][count] = other_normal[a];
        }
        importance[count++] = counts;
    }
};

// Sums over pairs. The residual is the offset x - y along the mean of both normals; the step turns and shifts x.
struct NormalEquations {
    double a[6][6] = {};  // the lower triangle
    double b[6] = {};
    double weight = 0;    // sum of weights
    double squared = 0;   // sum of weighted squared residuals

    void add(const NormalEquations& other) {
        for (int row = 0; row < 6; ++row) {
            for (int column = 0; column <= row; ++column) a[row][column] += other.a[row][column];
            b[row] += other.b[row];
        }
        weight += other.weight;
        squared += other.squared;
    }

    // Takes the pairs, and leaves none. Those farther apart than 2.8 times the scale count nothing, nor do the two sides of a
    // thin wall.
    void take(Pairs& pairs, double scale);
};

}  // namespace graphreg
