// One Gauss-Newton step of a pose, restricted to its degrees of freedom.
#pragma once

#include <array>

#include "engine/normal_equations.hpp"
#include "engine/rigid_transforms.hpp"

namespace graphreg {

// The free rotations about the axes x, y, z through the pivot, and the free translations along x, y, z.
struct DegreesOfFreedom {
    std::array<bool, 6> free = {true, true, true, true, true, true};
    std::array<double, 3> pivot = {0, 0, 0};

    // Whether the pivot matters: rotations about two points differ by a translation across the axis.
    bool needs_pivot() const;

    // Sets the translation that makes the rotation of `transform` one about the pivot.
    void rotate_about_pivot(RigidTransform& transform) const;
};

struct Step {
    RigidTransform transform;  // after the step
    double size;               // the largest entry of the step: radians, units of length
};

// The step that solves the normal equations of a pose within its degrees of freedom. It rotates about the transformed
// pivot, so that the pivot moves along free axes only; where the pivot does not matter, about the origin.
Step gauss_newton_step(const NormalEquations& equations, const DegreesOfFreedom& dof, const RigidTransform& pose);

}  // namespace graphreg
