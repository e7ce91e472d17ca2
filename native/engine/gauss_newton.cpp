#include "engine/gauss_newton.hpp"

#include <algorithm>
#include <cmath>

#include "engine/damped_solver.hpp"

namespace graphreg {

namespace {

using Matrix6 = double[6][6];

// The equations in rotations about `centre` instead of the origin: a <- C^T a C, b <- C^T b with C = (1 0; K 1), since
// a rotation w about the centre is one about the origin and a translation K w = centre x w.
void rotate_about(const std::array<double, 3>& centre, const NormalEquations& equations, Matrix6& a, double (&b)[6]) {
    const double k[3][3] = {{0, -centre[2], centre[1]}, {centre[2], 0, -centre[0]}, {-centre[1], centre[0], 0}};
    double full[6][6], right[6][6];  // the symmetric matrix, and its product with C
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) full[i][j] = equations.a[std::max(i, j)][std::min(i, j)];
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) {
            right[i][j] = full[i][j];
            if (j < 3)
                for (int m = 0; m < 3; ++m) right[i][j] += full[i][3 + m] * k[m][j];
        }
    for (int j = 0; j < 6; ++j) {
        b[j] = equations.b[j];
        for (int i = 0; i < 6; ++i) a[j][i] = right[j][i];
        if (j < 3)
            for (int m = 0; m < 3; ++m) {
                b[j] += k[m][j] * equations.b[3 + m];
                for (int i = 0; i < 6; ++i) a[j][i] += k[m][j] * right[3 + m][i];
            }
    }
}

}  // namespace

bool DegreesOfFreedom::needs_pivot() const {
    for (int rotation = 0; rotation < 3; ++rotation)
        for (int axis = 0; axis < 3; ++axis)
            if (free[rotation] && rotation != axis && !free[3 + axis]) return true;
    return false;
}

void DegreesOfFreedom::rotate_about_pivot(RigidTransform& transform) const {
    const auto rotated = transform.rotated(pivot.data());
    for (int axis = 0; axis < 3; ++axis) transform.t[axis] = pivot[axis] - rotated[axis];
}

Step gauss_newton_step(const NormalEquations& equations, const DegreesOfFreedom& dof, const RigidTransform& pose) {
    const auto centre = dof.needs_pivot() ? pose.transformed(dof.pivot.data()) : std::array<double, 3>{};
    double a[6][6], b[6];
    rotate_about(centre, equations, a, b);
    const auto step = solve_damped(a, b, dof.free);
    double size = 0;
    for (const double entry : step) size = std::max(size, std::abs(entry));
    const auto rotated = RigidTransform{}.then({step[0], step[1], step[2], 0, 0, 0}).rotated(centre.data());
    const RigidTransform after = pose.then({step[0], step[1], step[2], centre[0] - rotated[0] + step[3],
                                            centre[1] - rotated[1] + step[4], centre[2] - rotated[2] + step[5]});
    return {after, size};
}

}  // namespace graphreg
