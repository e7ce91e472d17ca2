"""From forces to one rigid step (Eq. 8 to 11, Sec. III-E to III-G). The time step is 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.poses import pose, rotation_from_vector


@dataclass(frozen=True)
class Step:
    """One motion of a rigid body about its centre of mass.

    shift   phi = a / 2, the displacement
    turn    sigma = alpha / 2, the rotation vector
    energy  E = G |a|^2 / 2 + J |alpha|^2 / 2, the kinetic energy that the forces give it
    """

    shift: Floats
    turn: Floats
    energy: float

    def motion(self, centre: Floats, temperature: float) -> Floats:
        """As a 4x4 matrix, for a body with this centre of mass; angle and displacement times the temperature."""
        rotation = rotation_from_vector(temperature * self.turn)
        return pose(rotation, centre - rotation @ centre + temperature * self.shift)


def rigid_step(points: Floats, mass: Floats, forces: Floats) -> Step:
    """What forces (N, 3) on particles do to the body that they form, in a unit of time."""
    total = mass.sum()
    arms = points - centre_of_mass(points, mass)
    acceleration = np.ones(len(points)) @ forces / total
    # The sum of all r x f is what sum r f^T has off its symmetric part.
    moment = arms.T @ forces
    torque = np.array([moment[1, 2] - moment[2, 1], moment[2, 0] - moment[0, 2], moment[0, 1] - moment[1, 0]])
    inertia = float(np.einsum("i,ij,ij", mass, arms, arms))
    spin = torque / inertia if inertia > 0 else np.zeros(3)
    energy = 0.5 * total * float(acceleration @ acceleration) + 0.5 * inertia * float(spin @ spin)
    return Step(0.5 * acceleration, 0.5 * spin, float(energy))


def centre_of_mass(points: Floats, mass: Floats) -> Floats:
    return np.asarray(mass @ points / mass.sum())
