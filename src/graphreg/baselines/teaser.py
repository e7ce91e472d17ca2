"""TEASER++: truncated least squares over correspondences of which most can be outliers; without scale.

H. Yang, J. Shi, L. Carlone: TEASER: fast and certifiable point cloud registration. IEEE Transactions on Robotics
37(2), 2021. Graduated non-convexity: H. Yang, P. Antonante, V. Tzoumas, L. Carlone, IEEE RA-L 5(2), 2020.

    minimise over T    sum_(x,y) min( |y - T x|^2, bound^2 )

over FPFH correspondences (x, y), in three decoupled steps:

1. Rigid transforms preserve lengths: the correspondences are pruned to the maximum clique of those whose pairwise
   distances agree in both clouds.
2. The rotation is estimated from differences of correspondences, which no translation changes, by truncated least
   squares with graduated non-convexity (GNC-TLS).
3. Each coordinate of the translation is estimated by one-dimensional truncated least squares, solved exactly (adaptive
   voting).

The certificate of optimality (Sec. VIII of the paper) is not implemented: a result has graphreg's own verdict instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.fpfh_correspondences import match_fpfh
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import nearest_rotation, pose


@dataclass(frozen=True)
class TeaserConstants:
    """Constants of TEASER++ that are not settings.

    Attributes
    ----------
    differences : int
        Differences of each correspondence with this many others (chosen), so that their number does not grow with the
        square.
    branches : int
        Branches that the search for the maximum clique tries after a greedy clique (chosen).
    """

    differences: int = 32
    branches: int = 2000


CONSTANTS = TeaserConstants()


@dataclass(frozen=True)
class TeaserSettings(BaselineSettings):
    """Settings of TEASER++.

    Parameters
    ----------
    radius : float, default 5
        Radius of FPFH, in voxels.
    noise_bound : float, default 1
        Largest distance of inlier correspondences, in voxels.
    max_matches : int, default 8000
        Of more correspondences, this many are used, evenly spaced: the consistency graph grows with their square.
    max_iterations : int, default 100
        Iterations of graduated non-convexity, as in the authors' program.
    factor : float, default 1.4
        Factor of the control parameter in each of these, as in the authors' program.
    """

    radius: float = 5.0
    noise_bound: float = 1.0
    max_matches: int = 8000
    max_iterations: int = 100
    factor: float = 1.4

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count("max_iterations", "max_matches")
        self._require_positive("radius", "noise_bound")
        self._require("a number above 1", lambda value: 1 < value < np.inf, "factor")


def register_teaser(
    source: Floats,
    target: Floats,
    settings: TeaserSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by TEASER++ without scale (Yang, Shi, Carlone 2021).

    The result does not depend on the initial transform, except for rounding. The energy in the history is the truncated
    least-squares cost of the rotation.

    Parameters
    ----------
    source, target, settings, init, seed, threads, callback
        As in `graphreg.method_interface.RegistrationMethod`. The seed has no effect.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("hare", 10.0, points=2000)
    >>> flipped = pair.source * [1, -1, -1]  # a rotation by 180 degrees about the x axis
    >>> result = graphreg.register(flipped, pair.target, method="teaser")
    >>> result.success
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback, least=settings.required_points)
    matches = match_fpfh(run, settings.radius)
    if len(matches) > settings.max_matches:
        matches = matches[np.linspace(0, len(matches) - 1, settings.max_matches).astype(int)]
    run.finish_features()
    solve_decoupled(run, run.source[matches[:, 0]], run.target[matches[:, 1]], settings)
    return run.outcome()


def solve_decoupled(run: BaselineRun, x: Floats, y: Floats, settings: TeaserSettings) -> None:
    """Estimate clique, rotation and translation from correspondences, and record each iteration in the run.

    Parameters
    ----------
    run : BaselineRun
    x, y : (K, 3) ndarray
        Corresponding points.
    settings : TeaserSettings
    """
    bound = settings.noise_bound * run.voxel
    # Both ends of a difference have an error of up to the bound.
    members, _ = _core.largest_consistent_set(x, y, 2 * bound, CONSTANTS.branches, run.threads)
    if len(members) < 3:
        return
    x, y = x[members], y[members]
    ends = _difference_pairs(len(x))
    a, b = (cloud[ends[:, 1]] - cloud[ends[:, 0]] for cloud in (x, y))
    for rotation, cost in estimate_rotation(a, b, 2 * bound, settings.max_iterations, settings.factor):
        estimate = pose(rotation, [truncated_mean(axis, bound) for axis in (y - x @ rotation.T).T])
        if run.record(estimate, cost):
            return


def estimate_rotation(
    a: Floats, b: Floats, bound: float, max_iterations: int, factor: float
) -> Iterator[tuple[Floats, float]]:
    """Minimise sum_i min(|b_i - R a_i|^2, bound^2) over rotations by graduated non-convexity (GNC-TLS).

    The first surrogate is convex, and each one after it closer to the truncated cost. It ends where all weights are 0
    or 1: then surrogate and cost are the same.

    Parameters
    ----------
    a, b : (D, 3) ndarray
        Differences of source and of target points.
    bound : float
    max_iterations : int
    factor : float
        Growth of the control parameter mu in each iteration.

    Yields
    ------
    rotation : (3, 3) ndarray
    cost : float
        The truncated cost.
    """
    limit = bound**2
    weights = np.ones(len(a))
    control = 0.0
    for _ in range(max_iterations):
        rotation = nearest_rotation((b * weights[:, None]).T @ a)
        squared = ((b - a @ rotation.T) ** 2).sum(axis=1)
        yield rotation, float(np.minimum(squared, limit).sum())
        worst = float(squared.max())
        if control == 0 and worst <= limit:
            return
        control = control * factor if control else limit / (2 * worst - limit)
        previous = weights
        weights = gnc_weights(squared, limit, control)
        if not weights.any() or (np.array_equal(weights, previous) and np.isin(weights, (0, 1)).all()):
            return


def gnc_weights(squared: Floats, limit: float, control: float) -> Floats:
    """Return the weights of GNC-TLS.

    Parameters
    ----------
    squared : (D,) ndarray
        Squared residuals.
    limit : float
        Squared residual at which the cost is truncated.
    control : float
        mu: the larger, the closer the surrogate is to the truncated cost.

    Returns
    -------
    (D,) ndarray
        From 1 for inliers to 0 for outliers.
    """
    low, high = limit * control / (control + 1), limit * (control + 1) / control
    between = np.sqrt(limit * control * (control + 1) / np.maximum(squared, low)) - control
    return np.where(squared <= low, 1.0, np.where(squared >= high, 0.0, between))


def truncated_mean(values: Floats, bound: float) -> float:
    """Return the m that minimises sum_i min((v_i - m)^2, bound^2), exactly (adaptive voting).

    The set of values within the bound of m changes only where m passes v_i - bound or v_i + bound. Between two such
    positions the best m is the mean of that set.

    Parameters
    ----------
    values : (N,) ndarray
    bound : float

    Returns
    -------
    float
    """
    ordered = np.sort(values)
    positions = np.unique(np.concatenate([ordered - bound, ordered + bound]))
    middles = (positions[1:] + positions[:-1]) / 2
    first, last = np.searchsorted(ordered, middles - bound), np.searchsorted(ordered, middles + bound)
    occupied = last > first
    first, last = first[occupied], last[occupied]
    # Relative to the median, so that squares do not cancel.
    centre = ordered[len(ordered) // 2]
    sums = np.concatenate([[0], np.cumsum(ordered - centre)])
    squares = np.concatenate([[0], np.cumsum((ordered - centre) ** 2)])
    count, total = last - first, sums[last] - sums[first]
    cost = squares[last] - squares[first] - total**2 / count + (len(ordered) - count) * bound**2
    best = int(np.argmin(cost))
    return float(centre + total[best] / count[best])


def _difference_pairs(count: int) -> NDArray[np.int64]:
    """(D, 2): pairs of correspondences, each with `differences` others, or with all where there are fewer."""
    strides = np.unique(np.linspace(1, count // 2, CONSTANTS.differences).astype(int))
    first = np.tile(np.arange(count), len(strides))
    return np.column_stack([first, (first + np.repeat(strides, count)) % count])
