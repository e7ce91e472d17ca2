"""FRICP: fast and robust ICP, Welsch's function minimised with Anderson acceleration.

J. Zhang, Y. Yao, B. Deng: Fast and robust iterative closest point. IEEE TPAMI, 2021.

    minimise over T    sum_i 1 - exp(-d_i^2 / (2 nu^2)),    d_i = min_j |T x_i - y_j|

For a fixed nu, weighting each pair with exp(-d^2 / (2 nu^2)) and moving in closed form can only lower the sum. Anderson
acceleration guesses from the last few such steps where they lead to; a guess that does not lower the sum is dropped.
nu falls by halves, from the distances at the start to the spacing of the target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.baselines.alignment import fit_partners, vector_from_rotation
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, Pairs, within
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import inverse, pose, rotation_from_vector


@dataclass(frozen=True)
class FricpSettings(BaselineSettings):
    """Settings of FRICP, the values being its authors'.

    first_scale     the first nu, as a multiple of the median distance at the start
    last_scale      the last nu, as a multiple of the median distance of a target point to six neighbours
    decay           what nu is multiplied with in between
    memory          how many earlier steps Anderson acceleration looks at; 0: plain steps
    max_iterations  for each nu
    tolerance       a nu is done where a step moves points by no more than this share of the cloud's size
    """

    first_scale: float = 3.0
    last_scale: float = 1 / (3 * np.sqrt(3))
    decay: float = 0.5
    memory: int = 5
    max_iterations: int = 100
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        self._require_count("max_iterations")
        self._require_count("memory", least=0)
        self._require_positive("first_scale", "last_scale", "decay")
        self._require_share("decay", "tolerance")


def register_fricp(
    source: Floats,
    target: Floats,
    settings: FricpSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Nothing is drawn at random: the seed changes nothing. The energy in the history falls for each nu."""
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    closest = ClosestPoints(run)
    everyone = within(None)
    last = settings.last_scale * _spacing(run.target, threads)
    nu = max(settings.first_scale * float(np.sqrt(np.median(closest.pairs(run.motion, everyone).squared))), last)
    size = float(np.linalg.norm(np.ptp(run.source, axis=0)))
    reach = float(np.sqrt((run.source**2).sum(axis=1).mean()))

    while True:
        chart = _Chart(run.motion, reach)
        guess = Anderson(settings.memory)
        tried = plain = run.motion
        before = float("inf")
        for _ in range(settings.max_iterations):
            pairs = closest.pairs(tried, everyone)
            value = _welsch(pairs, nu)
            if value > before:
                tried = plain
                pairs = closest.pairs(tried, everyone)
                value = _welsch(pairs, nu)
                guess.forget()
            weights = np.exp(-pairs.squared / (2 * nu**2))
            if not weights.any():
                return run.outcome()
            plain = fit_partners(pairs.points, run.target, pairs.partner, pairs.rows, weights, threads) @ tried
            # The plain step is at least as good as where it began: what the history holds can only fall.
            if run.step(plain, value):
                return run.outcome()
            here, there = chart.vector(tried), chart.vector(plain)
            if np.linalg.norm(there - here) <= settings.tolerance * size:
                break
            before = value
            tried = chart.motion(guess.next(here, there))
        if nu <= last:
            return run.outcome()
        nu = max(settings.decay * nu, last)


class Anderson:
    """Anderson acceleration of a fixed-point iteration x -> g(x) (D. G. Anderson 1965)."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._seen: list[tuple[Floats, Floats]] = []

    def forget(self) -> None:
        self._seen.clear()

    def next(self, x: Floats, g: Floats) -> Floats:
        """Where to try next, after g(x) = g: the combination of the last few g at which g(x) - x would be smallest."""
        self._seen = [*self._seen, (g - x, g)][-(self._memory + 1) :]
        if len(self._seen) == 1:
            return g
        gaps, images = (np.stack(side, axis=1) for side in zip(*self._seen, strict=True))
        theta = np.linalg.lstsq(np.diff(gaps), gaps[:, -1], rcond=1e-10)[0]
        return np.asarray(g - np.diff(images) @ theta)


class _Chart:
    """Motions near one of them as six numbers, all lengths: its turn, times the cloud's reach, and its shift."""

    def __init__(self, middle: Floats, reach: float) -> None:
        self._middle = middle
        self._reach = reach or 1.0

    def vector(self, motion: Floats) -> Floats:
        apart = motion @ inverse(self._middle)
        return np.concatenate([self._reach * vector_from_rotation(apart[:3, :3]), apart[:3, 3]])

    def motion(self, vector: Floats) -> Floats:
        return np.asarray(pose(rotation_from_vector(vector[:3] / self._reach), vector[3:]) @ self._middle)


def _welsch(pairs: Pairs, nu: float) -> float:
    return float(-np.expm1(-pairs.squared / (2 * nu**2)).mean())


def _spacing(target: Floats, threads: int) -> float:
    _, squared = _core.Tree(target, threads).nearest(target, min(7, len(target)), threads)
    return float(np.median(np.sqrt(squared[:, 1:])))
