"""The loop of ICP: closest-point correspondences, alignment, and again until convergence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.alignment import align_point_to_plane, align_point_to_point
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.clouds import Floats
from graphreg.poses import transform
from graphreg.robust.losses import Loss, RobustWeights

MIN_CORRESPONDENCES = 3
"""Fewer correspondences do not determine a rigid transform (derived)."""
LOW_SPACING, SCALE_PER_SPACING = 0.1, 3.8
"""A quantile of the distances between nearest neighbours (chosen), and how much larger the scale of residuals between
two random samples of one surface is (derived: 1.4826 times median over quantile of a Rayleigh distribution)."""


@dataclass(frozen=True)
class ClosestPointPairs:
    """Each source point with its nearest target point.

    Attributes
    ----------
    points : (N, 3) ndarray
        The source points, transformed by the current estimate.
    nearest : (N,) ndarray of int32
        Index of the nearest target point.
    squared : (N,) ndarray
        Squared distance to it.
    rows : (K,) ndarray of int64
        The correspondences that are used.
    """

    points: Floats
    nearest: NDArray[np.int32]
    squared: Floats
    rows: NDArray[np.int64]


Rejection = Callable[[Floats], NDArray[np.int64]]
"""From the squared distances of all correspondences to the rows of those that are used."""

Objective = Callable[[ClosestPointPairs], tuple[float, Floats]]
"""From correspondences to the value of the objective and the transform that lowers it."""


def within_distance(distance: float | None) -> Rejection:
    """Use correspondences up to a distance.

    Parameters
    ----------
    distance : float or None
        None: use all.

    Returns
    -------
    Rejection
    """

    def select(squared: Floats) -> NDArray[np.int64]:
        if distance is None:
            return np.arange(len(squared))
        return np.flatnonzero(squared <= distance**2)

    return select


def closest_share(share: float) -> Rejection:
    """Use a share of the correspondences, those with the smallest distances.

    Parameters
    ----------
    share : float
        Above 0, up to 1.

    Returns
    -------
    Rejection
    """

    def select(squared: Floats) -> NDArray[np.int64]:
        count = max(1, round(share * len(squared)))
        return np.arange(len(squared)) if count == len(squared) else np.argpartition(squared, count - 1)[:count]

    return select


def point_to_point(run: BaselineRun, loss: Loss | None = None) -> Objective:
    """Return the mean squared distance of corresponding points as an objective, or the mean of another loss.

    Parameters
    ----------
    run : BaselineRun
    loss : Loss, optional
        Of the distances.

    Returns
    -------
    Objective
    """

    spread = _spread(run.source)
    robust = robust_weights(run, loss)

    def evaluate(pairs: ClosestPointPairs) -> tuple[float, Floats]:
        weights = None
        if robust is None:
            objective = float(pairs.squared[pairs.rows].mean())
        else:
            objective, weights = robust(np.sqrt(pairs.squared[pairs.rows]))
            if not weights.any():
                return objective, np.eye(4)
        if run.has_scale:
            x, y = pairs.points[pairs.rows], run.target[pairs.nearest[pairs.rows]]
            return objective, run.fit(x, y, weights, _spread(pairs.points) / spread if spread else 1.0)
        step = align_point_to_point(pairs.points, run.target, pairs.nearest, pairs.rows, weights, run.threads)
        return objective, step

    return evaluate


def robust_weights(run: BaselineRun, loss: Loss | None) -> RobustWeights | None:
    """Return the weights of a loss, for one sequence of iterations; None without a loss."""
    if loss is None:
        return None
    smallest = float(np.finfo(np.float64).eps * np.linalg.norm(np.ptp(run.source, axis=0)))
    _, squared = _core.Tree(run.target, run.threads).nearest(run.target, 2, run.threads)
    # A distance between nearest neighbours that few outliers have, as these are farther apart.
    low = float(np.sqrt(np.quantile(squared[:, 1], LOW_SPACING)))
    return RobustWeights(loss, smallest, SCALE_PER_SPACING * low)


def _spread(points: Floats) -> float:
    return float(np.sqrt(points.var(axis=0).sum()))


def point_to_plane(run: BaselineRun, normals: Floats, loss: Loss | None = None) -> Objective:
    """Return the mean squared distance to the planes of corresponding points as an objective, or that of another loss.

    Parameters
    ----------
    run : BaselineRun
    normals : (M, 3) ndarray
        Of the target.
    loss : Loss, optional
        Of the distances along the normals.

    Returns
    -------
    Objective
    """
    robust = robust_weights(run, loss)

    def evaluate(pairs: ClosestPointPairs) -> tuple[float, Floats]:
        points, nearest, rows = pairs.points, pairs.nearest, pairs.rows
        if robust is None:
            return align_point_to_plane(points, run.target, normals, nearest, rows, None, run.threads)
        partner = nearest[rows]
        objective, weights = robust(np.einsum("ij,ij->i", normals[partner], points[rows] - run.target[partner]))
        if not weights.any():
            return objective, np.eye(4)
        return objective, align_point_to_plane(points, run.target, normals, nearest, rows, weights, run.threads)[1]

    return evaluate


class PairSearch(Protocol):
    """What finds a correspondence for each source point."""

    def pairs(self, estimate: Floats, select: Rejection) -> ClosestPointPairs:
        """Return the correspondences of the source, transformed by an estimate, and which of them are used."""
        ...


class ClosestPoints:
    """Nearest-neighbour search for a source that moves.

    As long as a point is closer to its correspondence than the second-nearest target point was, less the distance that
    the point has moved since, its nearest neighbour is the same. Only the other points are searched for again: few, as
    soon as steps are small (after M. Greenspan, G. Godin: A nearest neighbor method for efficient ICP. 3DIM 2001).

    Parameters
    ----------
    run : BaselineRun
    """

    def __init__(self, run: BaselineRun) -> None:
        count = len(run.source)
        self._run = run
        self._tree = _core.Tree(run.target, run.threads)
        self._searched_at = np.zeros((count, 3))
        self._second = np.zeros(count)
        self._nearest = np.full((count, 2), -1, np.int32)

    def pairs(self, estimate: Floats, select: Rejection) -> ClosestPointPairs:
        """Find the nearest target point of each source point.

        Parameters
        ----------
        estimate : (4, 4) ndarray
            The current transform from source to target.
        select : Rejection

        Returns
        -------
        ClosestPointPairs
        """
        points = np.ascontiguousarray(transform(estimate, self._run.source))
        squared = self._tree.update_nearest(points, self._searched_at, self._second, self._nearest, self._run.threads)
        return ClosestPointPairs(points, self._nearest[:, 0].copy(), squared, select(squared))


def iterate_closest_points(
    run: BaselineRun,
    closest: PairSearch,
    objective: Objective,
    select: Rejection,
    max_iterations: int,
    tolerance: float,
    start: Floats,
    scale: float = 1.0,
) -> tuple[float, bool]:
    """Alternate between correspondences and alignment, and record each iteration in the run.

    Parameters
    ----------
    run : BaselineRun
    closest : PairSearch
    objective : Objective
    select : Rejection
    max_iterations : int
    tolerance : float
        Converged where neither the square root of the objective nor the number of correspondences changes by more than
        this share.
    start : (4, 4) ndarray
        Initial estimate.
    scale : float, default 1
        The history has the objective times this factor.

    Returns
    -------
    objective : float
        At the end; infinite where there are fewer than `MIN_CORRESPONDENCES` at the start.
    stopped : bool
        Whether the callback has stopped the run.
    """
    estimate = start
    pairs = closest.pairs(estimate, select)
    if len(pairs.rows) < MIN_CORRESPONDENCES:
        return float("inf"), False
    value, step = objective(pairs)
    for _ in range(max_iterations):
        estimate = step @ estimate
        previous, count = value, len(pairs.rows)
        pairs = closest.pairs(estimate, select)
        if len(pairs.rows) < MIN_CORRESPONDENCES:
            break
        value, step = objective(pairs)
        if run.record(estimate, scale * value):
            return value, True
        same_count = abs(len(pairs.rows) - count) <= tolerance * count
        if same_count and abs(np.sqrt(previous) - np.sqrt(value)) <= tolerance * np.sqrt(previous):
            break
    return value, False
