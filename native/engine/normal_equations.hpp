// The normal equations of symmetric point-to-plane ICP (after Rusinkiewicz 2019).
#pragma once

#include <array>
#include <cstddef>

namespace graphreg {

// Correspondences of transformed source points x and target points y with their normals, collected for SIMD.
struct CorrespondenceBatch {
    static constexpr std::size_t capacity = 64;

    alignas(32) double x[3][capacity], nx[3][capacity], y[3][capacity], ny[3][capacity], weight[capacity];
    std::size_t count = 0;

    inline void add(const std::array<double, 3>& source, const std::array<double, 3>& source_normal,
                    const double* target, const double* target_normal, double weight_of_pair) {
        for (int axis = 0; axis < 3; ++axis) {
            x[axis][count] = source[axis], nx[axis][count] = source_normal[axis];
            y[axis][count] = target[axis], ny[axis][count] = target_normal[axis];
        }
        weight[count++] = weight_of_pair;
    }
};

// Sums over correspondences. The residual is (x - y) . n with n the normalised sum of both normals; the unknowns are a
// rotation vector about the origin and a translation of x.
struct NormalEquations {
    double a[6][6] = {};  // the lower triangle
    double b[6] = {};
    double weight = 0;            // sum of weights
    double squared_residual = 0;  // weighted sum

    void add(const NormalEquations& other);

    // Adds the correspondences and empties the batch. The weight of a correspondence is the product of its own, of a
    // kernel that falls to 0 at a distance of 2.8 `scale`, and of one that falls with the angle between the normals; it
    // is 0 where they point away from each other, as on the two sides of a thin wall.
    void add(CorrespondenceBatch& batch, double scale);
};

}  // namespace graphreg
