#include "engine/rigid_transforms.hpp"

#include <cmath>

namespace graphreg {

RigidTransform RigidTransform::from_quaternion(const std::array<double, 4>& q) {
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double s = 2 / (w * w + x * x + y * y + z * z);
    RigidTransform m;
    m.r[0] = 1 - s * (y * y + z * z), m.r[1] = s * (x * y - z * w), m.r[2] = s * (x * z + y * w);
    m.r[3] = s * (x * y + z * w), m.r[4] = 1 - s * (x * x + z * z), m.r[5] = s * (y * z - x * w);
    m.r[6] = s * (x * z - y * w), m.r[7] = s * (y * z + x * w), m.r[8] = 1 - s * (x * x + y * y);
    return m;
}

void RigidTransform::to_matrix(double* m) const {
    for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) m[4 * row + column] = r[3 * row + column];
        m[4 * row + 3] = t[row];
        m[12 + row] = 0;
    }
    m[15] = 1;
}

RigidTransform RigidTransform::inverse() const {
    RigidTransform result;
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column) result.r[3 * row + column] = r[3 * column + row];
    const auto translation = result.rotated(t);
    for (int axis = 0; axis < 3; ++axis) result.t[axis] = -translation[axis];
    return result;
}

RigidTransform RigidTransform::after(const RigidTransform& first) const {
    RigidTransform result;
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column)
            result.r[3 * row + column] = r[3 * row] * first.r[column] + r[3 * row + 1] * first.r[3 + column] +
                                         r[3 * row + 2] * first.r[6 + column];
    const auto translation = transformed(first.t);
    for (int axis = 0; axis < 3; ++axis) result.t[axis] = translation[static_cast<std::size_t>(axis)];
    return result;
}

RigidTransform RigidTransform::then(const std::array<double, 6>& step) const {
    const double angle = std::sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    const double half = angle / 2, scale = angle > 0 ? std::sin(half) / angle : 0.5;
    const RigidTransform rotation =
        from_quaternion({std::cos(half), step[0] * scale, step[1] * scale, step[2] * scale});
    RigidTransform result = rotation.after(*this);
    for (int axis = 0; axis < 3; ++axis) result.t[axis] += step[3 + axis];
    return result;
}

namespace {

using Matrix4 = double[4][4];

// One sweep of Jacobi rotations over the symmetric matrix a; the columns of v follow.
void jacobi_sweep(Matrix4& a, Matrix4& v) {
    for (int i = 0; i < 3; ++i)
        for (int j = i + 1; j < 4; ++j) {
            if (a[i][j] == 0) continue;
            const double theta = (a[j][j] - a[i][i]) / (2 * a[i][j]);
            const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
            const double c = 1 / std::sqrt(t * t + 1), s = t * c;
            for (int k = 0; k < 4; ++k) {
                const double p = a[k][i], q = a[k][j];
                a[k][i] = c * p - s * q, a[k][j] = s * p + c * q;
            }
            for (int k = 0; k < 4; ++k) {
                const double p = a[i][k], q = a[j][k];
                a[i][k] = c * p - s * q, a[j][k] = s * p + c * q;
                const double pv = v[k][i], qv = v[k][j];
                v[k][i] = c * pv - s * qv, v[k][j] = s * pv + c * qv;
            }
        }
}

bool is_diagonal(const Matrix4& a) {
    double off = 0, on = 0;
    for (int i = 0; i < 4; ++i) {
        on += a[i][i] * a[i][i];
        for (int j = i + 1; j < 4; ++j) off += a[i][j] * a[i][j];
    }
    return off <= 1e-30 * on;
}

}  // namespace

// The quaternion is the eigenvector of Horn's 4x4 matrix that belongs to its largest eigenvalue.
RigidTransform best_rotation(const double* h) {
    Matrix4 a = {{h[0] + h[4] + h[8], h[5] - h[7], h[6] - h[2], h[1] - h[3]},
                 {h[5] - h[7], h[0] - h[4] - h[8], h[1] + h[3], h[6] + h[2]},
                 {h[6] - h[2], h[1] + h[3], h[4] - h[0] - h[8], h[5] + h[7]},
                 {h[1] - h[3], h[6] + h[2], h[5] + h[7], h[8] - h[0] - h[4]}};
    Matrix4 v = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    for (int sweep = 0; sweep < 12 && !is_diagonal(a); ++sweep) jacobi_sweep(a, v);
    int largest = 0;
    for (int i = 1; i < 4; ++i)
        if (a[i][i] > a[largest][largest]) largest = i;
    return RigidTransform::from_quaternion({v[0][largest], v[1][largest], v[2][largest], v[3][largest]});
}

}  // namespace graphreg
