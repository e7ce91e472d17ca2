// Symmetric 3x3 matrices, as xx yy zz xy xz yz.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace graphreg {

// R a R^T, with r row by row.
inline std::array<double, 6> rotated(const double* a, const double* r) {
    const double m[3][3] = {{a[0], a[3], a[4]}, {a[3], a[1], a[5]}, {a[4], a[5], a[2]}};
    double right[3][3];  // a R^T
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) right[i][j] = m[i][0] * r[3 * j] + m[i][1] * r[3 * j + 1] + m[i][2] * r[3 * j + 2];
    auto entry = [&](int i, int j) {
        return r[3 * i] * right[0][j] + r[3 * i + 1] * right[1][j] + r[3 * i + 2] * right[2][j];
    };
    return {entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)};
}

// v^T a v.
inline double quadratic_form(const double* a, const std::array<double, 3>& v) {
    return a[0] * v[0] * v[0] + a[1] * v[1] * v[1] + a[2] * v[2] * v[2] +
           2 * (a[3] * v[0] * v[1] + a[4] * v[0] * v[2] + a[5] * v[1] * v[2]);
}

struct SmallestEigenvector {
    std::array<double, 3> values;  // ascending
    std::array<double, 3> vector;  // of the first
};

// By cyclic Jacobi rotations.
inline SmallestEigenvector smallest_eigenvector(const std::array<double, 6>& matrix) {
    double a[3][3] = {
        {matrix[0], matrix[3], matrix[4]}, {matrix[3], matrix[1], matrix[5]}, {matrix[4], matrix[5], matrix[2]}};
    double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int sweep = 0; sweep < 8; ++sweep) {
        const double off = a[0][1] * a[0][1] + a[0][2] * a[0][2] + a[1][2] * a[1][2];
        if (off <= 1e-24 * (a[0][0] * a[0][0] + a[1][1] * a[1][1] + a[2][2] * a[2][2])) break;
        for (int i = 0; i < 2; ++i)
            for (int j = i + 1; j < 3; ++j) {
                if (a[i][j] == 0) continue;
                const double theta = (a[j][j] - a[i][i]) / (2 * a[i][j]);
                const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
                const double c = 1 / std::sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 3; ++k) {
                    const double first = a[k][i], second = a[k][j];
                    a[k][i] = c * first - s * second, a[k][j] = s * first + c * second;
                }
                for (int k = 0; k < 3; ++k) {
                    const double first = a[i][k], second = a[j][k];
                    a[i][k] = c * first - s * second, a[j][k] = s * first + c * second;
                }
                for (int k = 0; k < 3; ++k) {
                    const double first = v[k][i], second = v[k][j];
                    v[k][i] = c * first - s * second, v[k][j] = s * first + c * second;
                }
            }
    }
    int order[3] = {0, 1, 2};
    for (const auto& [i, j] : {std::pair{0, 1}, {1, 2}, {0, 1}})
        if (a[order[j]][order[j]] < a[order[i]][order[i]]) std::swap(order[i], order[j]);
    return {{a[order[0]][order[0]], a[order[1]][order[1]], a[order[2]][order[2]]},
            {v[0][order[0]], v[1][order[0]], v[2][order[0]]}};
}

}  // namespace graphreg
