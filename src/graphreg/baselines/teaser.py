"""TEASER++: truncated least squares over matches, of which most may be wrong; without scale.

H. Yang, J. Shi, L. Carlone: TEASER: fast and certifiable point cloud registration. IEEE Transactions on Robotics
37(2), 2021. Graduated non-convexity: H. Yang, P. Antonante, V. Tzoumas, L. Carlone, IEEE RA-L 5(2), 2020.

    minimise over T    sum_(x,y) min( |y - T x|^2, bound^2 )

over pairs of points that are alike by their FPFH, in three decoupled steps. Lengths do not change under a rigid motion:
of all matches the largest set is kept in which any two agree on their distance (the largest clique). The rotation comes
from differences of matches, which no shift changes, by truncated least squares with graduated non-convexity. Then each
coordinate of the shift comes from one-dimensional truncated least squares, which is solved exactly.

The certificate of optimality (Sec. VIII of the paper) is left out: a result carries graphreg's own verdict instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.fpfh_correspondences import feature_matches
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import nearest_rotation, pose

# Differences are taken between each match and so many others, so that their number does not grow with the square.
DIFFERENCES = 32
# The search for the clique begins with a greedy one and tries so many branches to better it.
BRANCHES = 2000


@dataclass(frozen=True)
class TeaserSettings(BaselineSettings):
    """Settings of TEASER++.

    radius          of the FPFH, in voxels
    noise_bound     how far apart a right match can be at most, in voxels
    max_matches     of more matches, so many are taken, evenly spread: the graph of those that agree grows with their
                    square
    max_iterations  of graduated non-convexity, as in its authors' program
    factor          by which the function becomes less convex in each of these, as in its authors' program
    """

    radius: float = 5.0
    noise_bound: float = 1.0
    max_matches: int = 8000
    max_iterations: int = 100
    factor: float = 1.4

    def __post_init__(self) -> None:
        self._require_count("max_iterations", "max_matches")
        self._require_positive("radius", "noise_bound")
        self._require("a number above 1", lambda value: value > 1, "factor")


def register_teaser(
    source: Floats,
    target: Floats,
    settings: TeaserSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Global: the answer does not depend on the start, but for rounding. Nothing is drawn at random."""
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    matches = feature_matches(run, settings.radius)
    if len(matches) > settings.max_matches:
        matches = matches[np.linspace(0, len(matches) - 1, settings.max_matches).astype(int)]
    run.described()
    align_robustly(run, run.source[matches[:, 0]], run.target[matches[:, 1]], settings)
    return run.outcome()


def align_robustly(run: BaselineRun, x: Floats, y: Floats, settings: TeaserSettings) -> None:
    """The three steps, for pairs (x, y)."""
    bound = settings.noise_bound * run.voxel
    # Both ends of a difference can be off by the bound.
    members, _ = _core.largest_consistent_set(x, y, 2 * bound, BRANCHES, run.threads)
    if len(members) < 3:
        return
    x, y = x[members], y[members]
    apart = _differences(len(x))
    before, after = (cloud[apart[:, 1]] - cloud[apart[:, 0]] for cloud in (x, y))
    for rotation, cost in rotations(before, after, 2 * bound, settings.max_iterations, settings.factor):
        motion = pose(rotation, [truncated_mean(axis, bound) for axis in (y - x @ rotation.T).T])
        if run.step(motion, cost):
            return


def rotations(
    before: Floats, after: Floats, bound: float, max_iterations: int, factor: float
) -> Iterator[tuple[Floats, float]]:
    """Rotations that come ever closer to the minimum of sum_i min(|b_i - R a_i|^2, bound^2), each with that sum.

    Graduated non-convexity: the first function is convex, and each one after it closer to the sum itself. Ends where
    every weight is 0 or 1: then both are the same.
    """
    limit = bound**2
    weights = np.ones(len(before))
    control = 0.0
    for _ in range(max_iterations):
        rotation = nearest_rotation((after * weights[:, None]).T @ before)
        squared = ((after - before @ rotation.T) ** 2).sum(axis=1)
        yield rotation, float(np.minimum(squared, limit).sum())
        worst = float(squared.max())
        if control == 0 and worst <= limit:
            return
        control = control * factor if control else limit / (2 * worst - limit)
        former = weights
        weights = truncation_weights(squared, limit, control)
        if not weights.any() or (np.array_equal(weights, former) and np.isin(weights, (0, 1)).all()):
            return


def truncation_weights(squared: Floats, limit: float, control: float) -> Floats:
    """Weights of graduated non-convexity for squared residuals truncated at `limit`; the larger control, the harder."""
    low, high = limit * control / (control + 1), limit * (control + 1) / control
    between = np.sqrt(limit * control * (control + 1) / np.maximum(squared, low)) - control
    return np.where(squared <= low, 1.0, np.where(squared >= high, 0.0, between))


def truncated_mean(values: Floats, bound: float) -> float:
    """The m that minimises sum_i min((v_i - m)^2, bound^2), exactly (adaptive voting).

    Which values lie within the bound of m changes only where m passes v_i - bound or v_i + bound. Between two such
    places the best m is the mean of those within.
    """
    ordered = np.sort(values)
    places = np.unique(np.concatenate([ordered - bound, ordered + bound]))
    middles = (places[1:] + places[:-1]) / 2
    first, last = np.searchsorted(ordered, middles - bound), np.searchsorted(ordered, middles + bound)
    held = last > first
    first, last = first[held], last[held]
    # Relative to the middle value, so that the squares do not drown the differences.
    centre = ordered[len(ordered) // 2]
    sums = np.concatenate([[0], np.cumsum(ordered - centre)])
    squares = np.concatenate([[0], np.cumsum((ordered - centre) ** 2)])
    count, total = last - first, sums[last] - sums[first]
    cost = squares[last] - squares[first] - total**2 / count + (len(ordered) - count) * bound**2
    best = int(np.argmin(cost))
    return float(centre + total[best] / count[best])


def _differences(count: int) -> NDArray[np.int64]:
    """(D, 2): pairs of matches, each with DIFFERENCES others, or with all where there are not more."""
    strides = np.unique(np.linspace(1, count // 2, DIFFERENCES).astype(int))
    one = np.tile(np.arange(count), len(strides))
    return np.column_stack([one, (one + np.repeat(strides, count)) % count])
