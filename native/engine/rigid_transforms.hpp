// Rigid transforms: elements of SE(3).
#pragma once

#include <array>

#include "common/dispatch.hpp"

namespace graphreg {

struct RigidTransform {
    double r[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};  // row by row
    double t[3] = {0, 0, 0};

    // m: a 4x4 matrix, row by row.
    static RigidTransform from_matrix(const double* m) {
        return {{m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]}, {m[3], m[7], m[11]}};
    }

    // q = (w, x, y, z), of any length but 0.
    static RigidTransform from_quaternion(const std::array<double, 4>& q);

    void to_matrix(double* m) const;

    GRAPHREG_INLINE std::array<double, 3> rotated(const double* p) const {
        return {r[0] * p[0] + r[1] * p[1] + r[2] * p[2], r[3] * p[0] + r[4] * p[1] + r[5] * p[2],
                r[6] * p[0] + r[7] * p[1] + r[8] * p[2]};
    }

    GRAPHREG_INLINE std::array<double, 3> transformed(const double* p) const {
        const auto q = rotated(p);
        return {q[0] + t[0], q[1] + t[1], q[2] + t[2]};
    }

    RigidTransform inverse() const;

    // First the other transform, then this one.
    RigidTransform after(const RigidTransform& first) const;

    // First this transform, then a rotation about the origin and a translation: step = (rotation vector, translation).
    RigidTransform then(const std::array<double, 6>& step) const;
};

// The rotation R that maximises sum_i y_i . R x_i, from h = sum_i x_i y_i^T (row by row; Horn 1987).
RigidTransform best_rotation(const double* h);

}  // namespace graphreg
