"""Priors of the memberships in a mixture: a point belongs rather to components with alike invariants.

The mixture is one in the space of positions and invariants together,

    p(y_j, g_j) = sum_i pi(f_i, g_j) exp(-|y_j - x_i|^2 / (2 s^2)) + outliers

with the invariants in classes, so that sums over pairs are sums over pairs of classes, and pairs of unlike classes are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.features.invariant_features import rank_features

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class PriorParameters:
    """Constants of the membership priors; all chosen on synthetic scans.

    Attributes
    ----------
    classes : int
        Classes of alike points: as many pairs of classes are summed over one by one.
    width : float
        Standard deviation of the difference between the invariants of corresponding points, in ranks.
    least : float
        Factors below this are zero: these pairs are left out.
    """

    classes: int = 4
    width: float = 0.15
    least: float = 0.05


PRIOR = PriorParameters()


@dataclass(frozen=True)
class MembershipPrior:
    """Prior probabilities of memberships by the classes of both points.

    A data point belongs to component i with a probability proportional to factors[class of i, class of the point],
    before its position is known. An outlier is of any class: over all components the mean factor is 1.

    Attributes
    ----------
    components, data : (N,) and (M,) ndarray of int
        Class of each point.
    factors : (K, K) ndarray
    """

    components: NDArray[np.int64]
    data: NDArray[np.int64]
    factors: Floats

    def reversed(self) -> MembershipPrior:
        """Return the same factors with both clouds exchanged."""
        return MembershipPrior(self.data, self.components, np.ascontiguousarray(self.factors.T))


def membership_prior(components: Floats, data: Floats) -> MembershipPrior:
    """Derive priors from invariants: the more alike two points are, the more likely is the membership.

    Classes are equal shares of both clouds by the first invariant. With the distance d of two classes in ranks the
    factor is proportional to exp(-d^2 / (2 width^2)).

    Parameters
    ----------
    components, data : (N, F) and (M, F) ndarray
        Comparable invariants.

    Returns
    -------
    MembershipPrior
    """
    ranks = rank_features(np.concatenate([components[:, :1], data[:, :1]]))[:, 0]
    first, second = np.split((ranks * PRIOR.classes).astype(np.int64), [len(components)])
    apart = np.subtract.outer(np.arange(PRIOR.classes), np.arange(PRIOR.classes)) / PRIOR.classes
    factors = np.exp(-(apart**2) / (2 * PRIOR.width**2))
    factors[factors < PRIOR.least] = 0.0
    shares = np.bincount(first, minlength=PRIOR.classes) / len(first)
    mean = shares @ factors
    return MembershipPrior(first, second, np.asarray(factors / np.where(mean > 0, mean, 1.0)))


def weights_by_class(
    points: Singles, others: Singles, mass: Singles, width: float, threads: int, prior: MembershipPrior | None
) -> Floats:
    """Sum Gaussians over all pairs, each times the prior of its membership: `_core.gaussian_weights` with priors.

    Parameters
    ----------
    points, others : (N, 3) and (M, 3) ndarray of float32
    mass : (M,) ndarray of float32
    width : float
    threads : int
    prior : MembershipPrior or None
        Whose components are `points`; None: without priors.

    Returns
    -------
    (N,) ndarray
    """
    if prior is None:
        return _core.gaussian_weights(points, others, mass, width, threads)
    weights = np.zeros(len(points))
    for rows, alike, of_class in _alike_classes(prior, mass):
        weights[rows] = _core.gaussian_weights(points[rows], others[alike], of_class, width, threads)
    return weights


def forces_by_class(
    points: Singles, others: Singles, mass: Singles, width: float, threads: int, prior: MembershipPrior | None
) -> tuple[Floats, Floats]:
    """Sum Gaussians and offsets over all pairs, each times its prior: `_core.gaussian_forces` with priors.

    Parameters
    ----------
    points, others, mass, width, threads, prior
        As in `weights_by_class`.

    Returns
    -------
    weights : (N,) ndarray
    forces : (N, 3) ndarray
    """
    if prior is None:
        return _core.gaussian_forces(points, others, mass, width, threads)
    weights, forces = np.zeros(len(points)), np.zeros((len(points), 3))
    for rows, alike, of_class in _alike_classes(prior, mass):
        weights[rows], forces[rows] = _core.gaussian_forces(points[rows], others[alike], of_class, width, threads)
    return weights, forces


def _alike_classes(
    prior: MembershipPrior, mass: Singles
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Singles]]:
    """Of each class the components, the data points that are alike, and their masses times the factors."""
    for number, factors in enumerate(prior.factors):
        of_data = factors[prior.data]
        rows, alike = np.flatnonzero(prior.components == number), np.flatnonzero(of_data > 0)
        if len(rows) and len(alike):
            yield rows, alike, np.asarray(mass[alike] * of_data[alike], np.float32)
