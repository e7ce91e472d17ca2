"""Rigid-body dynamics: from the forces on particles to one rigid step (Eq. 8 to 11, Sec. III-E to III-G).

The time step is 1, and the body starts each step at rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.poses import pose, rotation_from_vector


@dataclass(frozen=True)
class RigidStep:
    """The rigid displacement of a body in one time step.

    Attributes
    ----------
    translation : (3,) ndarray
        phi = a / 2, of the centre of mass.
    rotation : (3,) ndarray
        sigma = alpha / 2, as a rotation vector about the centre of mass: axis times angle in radians.
    energy : float
        E = G |a|^2 / 2 + J |alpha|^2 / 2, the kinetic energy after the step.
    """

    translation: Floats
    rotation: Floats
    energy: float

    def transform(self, centre: Floats, temperature: float) -> Floats:
        """Return the step as a rigid transform, with angle and displacement scaled by the temperature.

        Parameters
        ----------
        centre : (3,) ndarray
            Centre of mass of the body.
        temperature : float
            T.

        Returns
        -------
        (4, 4) ndarray
        """
        rotation = rotation_from_vector(temperature * self.rotation)
        return pose(rotation, centre - rotation @ centre + temperature * self.translation)


def rigid_step(points: Floats, mass: Floats, forces: Floats) -> RigidStep:
    """Compute the displacement of a rigid body in one time step (Eq. 8 to 11).

    With the arms r_i = x_i - centre of mass:

        G = sum_i m_i                   mass
        a = sum_i f_i / G               acceleration
        L = sum_i r_i x f_i             torque
        J = sum_i m_i |r_i|^2           moment of inertia, as printed
        alpha = L / J                   angular acceleration
        phi = a / 2,  sigma = alpha / 2

    Parameters
    ----------
    points : (N, 3) ndarray
        Particles x_i of the body.
    mass : (N,) ndarray
        Masses m_i.
    forces : (N, 3) ndarray
        Forces f_i on the particles.

    Returns
    -------
    RigidStep
        Without rotation where all particles are at the centre of mass.
    """
    total = mass.sum()
    arms = points - centre_of_mass(points, mass)
    acceleration = np.ones(len(points)) @ forces / total
    # The torque sum r x f is the antisymmetric part of sum r f^T.
    moment = arms.T @ forces
    torque = np.array([moment[1, 2] - moment[2, 1], moment[2, 0] - moment[0, 2], moment[0, 1] - moment[1, 0]])
    inertia = float(np.einsum("i,ij,ij", mass, arms, arms))
    angular = torque / inertia if inertia > 0 else np.zeros(3)
    energy = 0.5 * total * float(acceleration @ acceleration) + 0.5 * inertia * float(angular @ angular)
    return RigidStep(0.5 * acceleration, 0.5 * angular, float(energy))


def centre_of_mass(points: Floats, mass: Floats) -> Floats:
    """Return the centre of mass, sum_i m_i x_i / sum_i m_i.

    Parameters
    ----------
    points : (N, 3) ndarray
    mass : (N,) ndarray

    Returns
    -------
    (3,) ndarray
    """
    return np.asarray(mass @ points / mass.sum())
