"""TEASER++: truncated least squares over correspondences of which most can be outliers.

H. Yang, J. Shi, L. Carlone: TEASER: fast and certifiable point cloud registration. IEEE Transactions on Robotics
37(2), 2021. Graduated non-convexity: H. Yang, P. Antonante, V. Tzoumas, L. Carlone, IEEE RA-L 5(2), 2020.

    minimise over T    sum_(x,y) min( |y - T x|^2, bound^2 )

over FPFH correspondences (x, y), in three decoupled steps, and with `scale` one before them:

0. Neither rotation nor translation changes the relation of lengths |y_i - y_j| / |x_i - x_j|: the scale is estimated
   from these by one-dimensional truncated least squares, each with the bound 2 bound / |x_i - x_j|.

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
from graphreg.baselines.fpfh_correspondences import match_clouds
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome, Scale
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
        Radius of FPFH, or with `features` of the graph descriptors, in voxels.
    noise_bound : float, default 1
        Largest distance of inlier correspondences, in voxels.
    max_matches : int, default 8000
        Of more correspondences, this many are used, evenly spaced: the consistency graph grows with their square.
    max_iterations : int, default 100
        Iterations of graduated non-convexity, as in the authors' program.
    factor : float, default 1.4
        Factor of the control parameter in each of these, as in the authors' program.
    scale : bool or pair of float, default False
        Whether the source has an unknown scale, or the smallest and the largest that it can have. FPFH is computed of
        the source scaled to the target's spread.
    """

    radius: float = 5.0
    noise_bound: float = 1.0
    max_matches: int = 8000
    max_iterations: int = 100
    factor: float = 1.4
    scale: Scale = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count("max_iterations", "max_matches")
        self._require_positive("radius", "noise_bound")
        self._require("a number above 1", lambda value: 1 < value < np.inf, "factor")
        self._require_scale()


def register_teaser(
    source: Floats,
    target: Floats,
    settings: TeaserSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by TEASER++ (Yang, Shi, Carlone 2021).

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
    run = BaselineRun(
        source,
        target,
        settings.voxel,
        init,
        threads,
        callback,
        least=settings.required_points,
        scale=settings.scale,
    )
    matches = match_clouds(run, settings.radius, settings.features)
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
    scale = estimate_scale(x, y, bound, run.scale_limits) if run.has_scale and len(x) > 1 else 1.0
    x = x * scale
    # Both ends of a difference have an error of up to the bound.
    members, _ = _core.largest_consistent_set(x, y, 2 * bound, CONSTANTS.branches, run.threads)
    if len(members) < 3:
        return
    x, y = x[members], y[members]
    ends = _difference_pairs(len(x))
    a, b = (cloud[ends[:, 1]] - cloud[ends[:, 0]] for cloud in (x, y))
    for rotation, cost in estimate_rotation(a, b, 2 * bound, settings.max_iterations, settings.factor):
        translation = [truncated_mean(axis, bound) for axis in (y - x @ rotation.T).T]
        estimate = pose(scale * rotation, translation)
        if run.record(estimate, cost):
            return


def estimate_scale(x: Floats, y: Floats, bound: float, limits: tuple[float, float]) -> float:
    """Minimise sum_ij min((s_ij - s)^2 / b_ij^2, 1) over the scale s, exactly (adaptive voting).

    s_ij = |y_i - y_j| / |x_i - x_j| and b_ij = 2 bound / |x_i - x_j|, over pairs of correspondences.

    Parameters
    ----------
    x, y : (K, 3) ndarray
        Corresponding points.
    bound : float
        Largest error of an inlier.
    limits : pair of float
        Smallest and largest scale.

    Returns
    -------
    float
        1, within the limits, where no lengths are within them.
    """
    ends = _difference_pairs(len(x))
    a, b = (np.linalg.norm(cloud[ends[:, 1]] - cloud[ends[:, 0]], axis=1) for cloud in (x, y))
    # Lengths within the noise say nothing.
    long = np.minimum(a, b) > 2 * bound
    ratios, bounds = b[long] / a[long], 2 * bound / a[long]
    inside = (ratios + bounds >= limits[0]) & (ratios - bounds <= limits[1])
    if not inside.any():
        return float(np.clip(1.0, *limits))
    return float(np.clip(truncated_weighted_mean(ratios[inside], bounds[inside]), *limits))


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


def truncated_weighted_mean(values: Floats, bounds: Floats) -> float:
    """Return the m that minimises sum_i min((v_i - m)^2 / bound_i^2, 1), exactly: `truncated_mean` with many bounds.

    Parameters
    ----------
    values, bounds : (N,) ndarray

    Returns
    -------
    float
    """
    # Relative to the median, so that squares do not cancel.
    centre = float(np.median(values))
    offsets, weights = values - centre, (bounds.min() / bounds) ** 2
    starts, ends = np.argsort(offsets - bounds, kind="stable"), np.argsort(offsets + bounds, kind="stable")
    entering, leaving = (offsets - bounds)[starts], (offsets + bounds)[ends]
    positions = np.unique(np.concatenate([entering, leaving]))
    middles = (positions[1:] + positions[:-1]) / 2
    first, last = np.searchsorted(leaving, middles), np.searchsorted(entering, middles)

    def sums(terms: Floats) -> Floats:
        """Of the values within their bounds of each middle: those that have entered, less those that have left."""
        entered, left = (np.concatenate([[0.0], np.cumsum(terms[order])]) for order in (starts, ends))
        return np.asarray(entered[last] - left[first])

    count, weight, total, squares = (
        sums(terms) for terms in (np.ones(len(values)), weights, weights * offsets, weights * offsets**2)
    )
    occupied = count > 0.5
    weight, total, squares, count = weight[occupied], total[occupied], squares[occupied], count[occupied]
    cost = squares - total**2 / weight + (len(values) - count) * bounds.min() ** 2
    best = int(np.argmin(cost))
    return float(centre + total[best] / weight[best])


def _difference_pairs(count: int) -> NDArray[np.int64]:
    """(D, 2): pairs of correspondences, each with `differences` others, or with all where there are fewer."""
    strides = np.unique(np.linspace(1, count // 2, CONSTANTS.differences).astype(int))
    first = np.tile(np.arange(count), len(strides))
    return np.column_stack([first, (first + np.repeat(strides, count)) % count])
