"""The pair laws: what every source particle feels from every target particle (Eq. 12 to 14, Sec. III-H).

    f_i = sum_j m_j k_ij (y_j - x_i) / (|y_j - x_i|^2 + s^2)^(3/2)

is Coulomb's law with the charge k_ij from the features of both particles; with k = 1 it is gravity. The sum runs over
all pairs: the paper's text sums over one partner in feature space for each particle, which are close to random, while
the authors' program sums over all of a drawn sample. s keeps particles that meet from flying apart (the text divides
by the distance itself, with y_i printed for y_j). With a Gaussian in the place of the power the same sum gives the soft
assignments of probabilistic methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats

Singles = NDArray[np.float32]


class Law(Enum):
    """How the weight of a pair falls with its distance r."""

    INVERSE_SQUARE = "1 / (r^2 + s^2)^(3/2)"
    GAUSSIAN = "exp(-r^2 / (2 s^2))"


@dataclass(frozen=True)
class Particles:
    """A drawn sample of a cloud.

    points    (N, 3), relative to an origin that both clouds share
    mass      (N,)
    features  (N, F), scaled to [0, 1] over both clouds; F = 0 for particles without charge
    """

    points: Floats
    mass: Floats
    features: Floats

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True)
class Pull:
    """What the source particles feel.

    forces   (N, 3): without the particle's own mass
    weights  (N,): the sum of the weights of its pairs
    """

    forces: Floats
    weights: Floats

    def resting_points(self, points: Floats) -> Floats:
        """Where each particle would come to rest if its weights stayed: the weighted mean of the targets."""
        return np.asarray(points + self.forces / self.weights[:, None])


def pull(source: Particles, target: Particles, law: Law, scale: float, threads: int = 1) -> Pull:
    """Sum over all pairs, in single precision, without an array of their number.

    The charge is k_ij = 2 (1 - |f_i - f_j|^2 / sqrt(F)) - 1, as in the authors' program: 1 for like features, falling
    to 1 - 2 sqrt(F) for features that differ as far as they can. The formula printed in the paper is negative for all.
    """
    forces, weights = _core.pair_forces(
        _single(source.points),
        _single(target.points),
        _single(source.features),
        _single(target.features),
        _single(target.mass),
        law is Law.GAUSSIAN,
        scale,
        threads,
    )
    return Pull(forces, weights)


def _single(values: Floats) -> Singles:
    return np.ascontiguousarray(values, np.float32)
