"""Iterated closest points: pair every source point with the nearest target point, move, and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.alignment import fit_partners, step_to_planes
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.clouds import Floats
from graphreg.poses import transform


@dataclass(frozen=True)
class Pairs:
    """Source points where they stand, the target points that are nearest to them, and which of these pairs count.

    points   (N, 3): the moved source
    partner  (N,): index of the nearest target point
    squared  (N,): squared distance to it
    rows     (K,): the pairs that count
    """

    points: Floats
    partner: NDArray[np.int32]
    squared: Floats
    rows: NDArray[np.int64]


Choice = Callable[[Floats], NDArray[np.int64]]
"""Which pairs count, given their squared distances."""


def within(distance: float | None) -> Choice:
    """Pairs that are not farther apart than this; None: all."""

    def choose(squared: Floats) -> NDArray[np.int64]:
        if distance is None:
            return np.arange(len(squared))
        return np.flatnonzero(squared <= distance**2)

    return choose


def nearest_share(share: float) -> Choice:
    """This share of the pairs, those that are closest together."""

    def choose(squared: Floats) -> NDArray[np.int64]:
        count = max(1, round(share * len(squared)))
        return np.arange(len(squared)) if count == len(squared) else np.argpartition(squared, count - 1)[:count]

    return choose


Objective = Callable[[Pairs], tuple[float, Floats]]
"""What is minimised, as it is for these pairs, and the motion that lowers it."""


def point_distance(run: BaselineRun) -> Objective:
    """The mean squared distance of the pairs."""

    def look(pairs: Pairs) -> tuple[float, Floats]:
        motion = fit_partners(pairs.points, run.target, pairs.partner, pairs.rows, None, run.threads)
        return float(pairs.squared[pairs.rows].mean()), motion

    return look


def plane_distance(run: BaselineRun, normals: Floats) -> Objective:
    """The mean squared distance of a point to its partner's plane."""

    def look(pairs: Pairs) -> tuple[float, Floats]:
        return step_to_planes(pairs.points, run.target, normals, pairs.partner, pairs.rows, run.threads)

    return look


class ClosestPoints:
    """Finds the nearest target points for a run.

    As long as a point is closer to its partner than the second-nearest target point was, less the way that the point
    has moved since, its partner cannot be another one. Only the others are searched for again: few, once the steps are
    small (after M. Greenspan, G. Godin: A nearest neighbor method for efficient ICP. 3DIM 2001).
    """

    def __init__(self, run: BaselineRun) -> None:
        count = len(run.source)
        self._run = run
        self._tree = _core.Tree(run.target, run.threads)
        self._searched_at = np.zeros((count, 3))
        self._second = np.zeros(count)
        self._nearest = np.full((count, 2), -1, np.int32)

    def pairs(self, motion: Floats, choose: Choice) -> Pairs:
        points = np.ascontiguousarray(transform(motion, self._run.source))
        squared = self._tree.update_nearest(points, self._searched_at, self._second, self._nearest, self._run.threads)
        return Pairs(points, self._nearest[:, 0].copy(), squared, choose(squared))


# Fewer pairs than this leave the motion open.
LEAST_PAIRS = 3


def iterate(
    run: BaselineRun,
    closest: ClosestPoints,
    objective: Objective,
    choose: Choice,
    max_iterations: int,
    tolerance: float,
    start: Floats,
    scale: float = 1.0,
) -> tuple[float, bool]:
    """Pair and move in turns. Returns the objective where it ended, and whether the caller told it to stop.

    tolerance  it ends where neither the root of the objective nor the number of pairs changes by more than this share
    scale      the history holds the objective times this
    """
    motion = start
    pairs = closest.pairs(motion, choose)
    if len(pairs.rows) < LEAST_PAIRS:
        return float("inf"), False
    value, step = objective(pairs)
    for _ in range(max_iterations):
        motion = step @ motion
        before, count = value, len(pairs.rows)
        pairs = closest.pairs(motion, choose)
        if len(pairs.rows) < LEAST_PAIRS:
            break
        value, step = objective(pairs)
        if run.step(motion, scale * value):
            return value, True
        steady = abs(len(pairs.rows) - count) <= tolerance * count
        if steady and abs(np.sqrt(before) - np.sqrt(value)) <= tolerance * np.sqrt(before):
            break
    return value, False
