"""Pair forces between the particles of two clouds (Eq. 12 to 14, Sec. III-H).

    f_i = sum_j m_j k_ij (y_j - x_i) / (|y_j - x_i|^2 + s^2)^(3/2)

is Coulomb's law with the charge k_ij from the features of both particles; with k = 1 it is gravity.

Deviations from the printed equations: the sum runs over all pairs, as in the authors' program. The text sums over one
nearest neighbour in feature space for each particle, and these are close to random. The softening length s bounds the
force between particles that coincide; the text divides by the distance itself, with y_i printed for y_j.

With a Gaussian instead of the inverse square, the same sums are the soft assignments of probabilistic methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats


class ForceLaw(Enum):
    """Weight of a pair as a function of its distance r and the length scale s."""

    INVERSE_SQUARE = "1 / (r^2 + s^2)^(3/2)"
    GAUSSIAN = "exp(-r^2 / (2 s^2))"


@dataclass(frozen=True)
class Particles:
    """A sample of a cloud, as particles with mass and features.

    Attributes
    ----------
    points : (N, 3) ndarray
        Positions, in a frame that both clouds share.
    mass : (N,) ndarray
        Masses m.
    features : (N, F) ndarray
        Features, scaled to [0, 1] over both clouds; F = 0 for particles without charge.
    """

    points: Floats
    mass: Floats
    features: Floats

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True)
class PairForces:
    """Sums over all pairs of each source particle with the target particles.

    Attributes
    ----------
    forces : (N, 3) ndarray
        sum_j w_ij (y_j - x_i), the force on each source particle for unit mass.
    weights : (N,) ndarray
        sum_j w_ij.
    """

    forces: Floats
    weights: Floats

    def weighted_means(self, points: Floats) -> Floats:
        """Return the weighted mean of the target particles for each source particle.

        Parameters
        ----------
        points : (N, 3) ndarray
            The source particles x_i.

        Returns
        -------
        (N, 3) ndarray
            sum_j w_ij y_j / sum_j w_ij, the soft correspondence of x_i: with these weights no force acts on it there.
        """
        return np.asarray(points + self.forces / self.weights[:, None])


def pair_forces(source: Particles, target: Particles, law: ForceLaw, scale: float, threads: int = 1) -> PairForces:
    """Sum the forces of all target particles on each source particle (Eq. 12 to 14).

    The weight of a pair is w_ij = m_j k_ij law(|y_j - x_i|). The charge is that of the authors' program,

        k_ij = 2 (1 - |f_i - f_j|^2 / sqrt(F)) - 1,

    1 for equal features and down to 1 - 2 sqrt(F) for opposite ones. The formula printed in the paper,
    (sqrt(2) / pi) exp(-|f_i - f_j|^2 / 2) - 1, is negative for all features.

    Parameters
    ----------
    source, target : Particles
        With the same number of features.
    law : ForceLaw
    scale : float
        s: softening length of the inverse square, or width of the Gaussian.
    threads : int, default 1
        Number of threads. The result does not depend on it.

    Returns
    -------
    PairForces
        Computed in single precision. Memory grows with N + M.
    """
    forces, weights = _core.pair_forces(
        _single(source.points),
        _single(target.points),
        _single(source.features),
        _single(target.features),
        _single(target.mass),
        law is ForceLaw.GAUSSIAN,
        scale,
        threads,
    )
    return PairForces(forces, weights)


def _single(values: Floats) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, np.float32)
