// Rigid transforms, and the small equations that they are found from.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace graphreg {

struct RigidTransform {
    double r[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double t[3] = {0, 0, 0};

    static RigidTransform from_matrix(const double* m) {
        return {{m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]}, {m[3], m[7], m[11]}};
    }

    void to_matrix(double* m) const {
        for (int row = 0; row < 3; ++row) {
            for (int column = 0; column < 3; ++column) m[4 * row + column] = r[3 * row + column];
            m[4 * row + 3] = t[row];
            m[12 + row] = 0;
        }
        m[15] = 1;
    }

    inline __attribute__((always_inline)) std::array<double, 3> rotated(const double* p) const {
        return {r[0] * p[0] + r[1] * p[1] + r[2] * p[2], r[3] * p[0] + r[4] * p[1] + r[5] * p[2],
                r[6] * p[0] + r[7] * p[1] + r[8] * p[2]};
    }

    inline __attribute__((always_inline)) std::array<double, 3> transformed(const double* p) const {
        const auto q = rotated(p);
        return {q[0] + t[0], q[1] + t[1], q[2] + t[2]};
    }

    // First this transform, then a turn by a rotation vector and a shift: step = (turn, shift).
    RigidTransform then(const std::array<double, 6>& step) const {
        const double angle = std::sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
        const double half = angle / 2, scale = angle > 0 ? std::sin(half) / angle : 0.5;
        const RigidTransform turn = from_quaternion({std::cos(half), step[0] * scale, step[1] * scale, step[2] * scale});
        RigidTransform result;
        for (int row = 0; row < 3; ++row)
            for (int column = 0; column < 3; ++column)
                result.r[3 * row + column] = turn.r[3 * row] * r[column] + turn.r[3 * row + 1] * r[3 + column] +
                                             turn.r[3 * row + 2] * r[6 + column];
        const auto shifted = turn.rotated(t);
        for (int a = 0; a < 3; ++a) result.t[a] = shifted[a] + step[3 + a];
        return result;
    }

    RigidTransform inverse() const {
        RigidTransform back;
        for (int row = 0; row < 3; ++row)
            for (int column = 0; column < 3; ++column) back.r[3 * row + column] = r[3 * column + row];
        const auto carried = back.rotated(t);
        for (int a = 0; a < 3; ++a) back.t[a] = -carried[a];
        return back;
    }

    static RigidTransform from_quaternion(const std::array<double, 4>& q) {
        const double w = q[0], x = q[1], y = q[2], z = q[3];
        const double s = 2 / (w * w + x * x + y * y + z * z);
        RigidTransform m;
        m.r[0] = 1 - s * (y * y + z * z), m.r[1] = s * (x * y - z * w), m.r[2] = s * (x * z + y * w);
        m.r[3] = s * (x * y + z * w), m.r[4] = 1 - s * (x * x + z * z), m.r[5] = s * (y * z - x * w);
        m.r[6] = s * (x * z - y * w), m.r[7] = s * (y * z + x * w), m.r[8] = 1 - s * (x * x + y * y);
        return m;
    }
};

// The rotation R for which sum_i y_i . R x_i is largest, given h = sum_i x_i y_i^T (row by row): the eigenvector of
// Horn's 4x4 matrix for its largest eigenvalue, as a quaternion, by Jacobi's rotations.
inline RigidTransform best_rotation(const double* h) {
    double a[4][4] = {{h[0] + h[4] + h[8], h[5] - h[7], h[6] - h[2], h[1] - h[3]},
                      {h[5] - h[7], h[0] - h[4] - h[8], h[1] + h[3], h[6] + h[2]},
                      {h[6] - h[2], h[1] + h[3], h[4] - h[0] - h[8], h[5] + h[7]},
                      {h[1] - h[3], h[6] + h[2], h[5] + h[7], h[8] - h[0] - h[4]}};
    double v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    for (int sweep = 0; sweep < 12; ++sweep) {
        double off = 0, on = 0;
        for (int i = 0; i < 4; ++i) {
            on += a[i][i] * a[i][i];
            for (int j = i + 1; j < 4; ++j) off += a[i][j] * a[i][j];
        }
        if (off <= 1e-30 * on) break;
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
    int largest = 0;
    for (int i = 1; i < 4; ++i)
        if (a[i][i] > a[largest][largest]) largest = i;
    return RigidTransform::from_quaternion({v[0][largest], v[1][largest], v[2][largest], v[3][largest]});
}

// What a transform may do: turn about the axes x, y, z through the pivot, shift along x, y, z.
struct DegreesOfFreedom {
    std::array<bool, 6> free = {true, true, true, true, true, true};
    std::array<double, 3> pivot = {0, 0, 0};

    // Whether it matters what it turns about: turns about two points differ by a shift across the axis.
    bool pivoted() const {
        for (int turn = 0; turn < 3; ++turn)
            for (int axis = 0; axis < 3; ++axis)
                if (free[turn] && turn != axis && !free[3 + axis]) return true;
        return false;
    }

    // A turn about the pivot as a transform about the origin.
    void about_pivot(RigidTransform& transform) const {
        const auto rotated = transform.rotated(pivot.data());
        for (int a = 0; a < 3; ++a) transform.t[a] = pivot[a] - rotated[a];
    }
};

// A x = b for a symmetric 6x6 matrix, in the free directions only (the others stay 0). A trace of a millionth of the
// largest entry on the diagonal keeps directions that nothing holds from running away.
inline std::array<double, 6> solve(const double (&a)[6][6], const double (&b)[6], const std::array<bool, 6>& free) {
    double l[6][6] = {}, y[6] = {};
    std::array<double, 6> x{};
    double largest = 0;
    for (int i = 0; i < 6; ++i)
        if (free[i]) largest = std::max(largest, a[i][i]);
    if (!(largest > 0)) return x;
    for (int i = 0; i < 6; ++i) {
        if (!free[i]) continue;
        for (int j = 0; j <= i; ++j) {
            if (!free[j]) continue;
            double sum = a[i][j] + (i == j ? 1e-6 * largest : 0);
            for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12 * largest)) : sum / l[j][j];
        }
        double sum = b[i];
        for (int k = 0; k < i; ++k) sum -= l[i][k] * y[k];
        y[i] = sum / l[i][i];
    }
    for (int i = 6; i-- > 0;) {
        if (!free[i]) continue;
        double sum = y[i];
        for (int k = i + 1; k < 6; ++k) sum -= l[k][i] * x[k];
        x[i] = sum / l[i][i];
    }
    return x;
}

// The step that solves the equations a x = b (a: the lower triangle; turns about the origin, shifts) within the dof,
// after a transform. It turns about where that transform has carried the pivot, so that the pivot is shifted along free axes
// only; or, where that does not matter, about the origin.
inline RigidTransform small_step(const double (&a)[6][6], const double (&b)[6], const DegreesOfFreedom& dof, const RigidTransform& transform,
                         double& largest) {
    const std::array<double, 3> c = dof.pivoted() ? transform.transformed(dof.pivot.data()) : std::array<double, 3>{};
    // A turn w about c is a turn w about the origin and a shift c x w: as a matrix, the columns of `carry`.
    const double carry[3][3] = {{0, -c[2], c[1]}, {c[2], 0, -c[0]}, {-c[1], c[0], 0}};
    double m[6][6], rotated[6][6], g[6];
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) m[i][j] = a[std::max(i, j)][std::min(i, j)];
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) {
            rotated[i][j] = m[i][j];
            if (j < 3)
                for (int k = 0; k < 3; ++k) rotated[i][j] += m[i][3 + k] * carry[k][j];
        }
    for (int j = 0; j < 6; ++j) {
        g[j] = b[j];
        for (int i = 0; i < 6; ++i) m[j][i] = rotated[j][i];
        if (j < 3)
            for (int k = 0; k < 3; ++k) {
                g[j] += carry[k][j] * b[3 + k];
                for (int i = 0; i < 6; ++i) m[j][i] += carry[k][j] * rotated[3 + k][i];
            }
    }
    const auto step = solve(m, g, dof.free);
    largest = 0;
    for (const double entry : step) largest = std::max(largest, std::abs(entry));
    const auto carried = RigidTransform{}.then({step[0], step[1], step[2], 0, 0, 0}).rotated(c.data());
    return transform.then({step[0], step[1], step[2], c[0] - carried[0] + step[3], c[1] - carried[1] + step[4],
                        c[2] - carried[2] + step[5]});
}

}  // namespace graphreg
