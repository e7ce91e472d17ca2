"""TrICP: ICP on the share of pairs that are closest together.

D. Chetverikov, D. Svirko, D. Stepanov, P. Krsek: The trimmed iterative closest point algorithm. ICPR 2002.

    minimise over T    e(share, T) = mean of the `share` smallest |T x_i - y_c(i)|^2

The share is the overlap of the clouds. Where it is not known, the one is taken that minimises e / share^(1 + lambda).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, iterate, nearest_share, point_distance
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome

GOLDEN = (np.sqrt(5) - 1) / 2
# The overlap is found to so much; finer, e hardly changes.
RESOLUTION = 0.02


@dataclass(frozen=True)
class TricpSettings(BaselineSettings):
    """Settings of TrICP, the values being its authors'.

    overlap           share of the source that lies on the target; by default it is searched for
    smallest_overlap  where that search begins; it ends at 1
    preference        lambda: how much a larger overlap is preferred in that search
    max_iterations    for each overlap that is tried
    tolerance         it ends where the root of the trimmed mean changes by no more than this share
    """

    overlap: float | None = None
    smallest_overlap: float = 0.4
    preference: float = 2.0
    max_iterations: int = 100
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        self._require_count("max_iterations")
        self._require_share("tolerance")
        self._require("a number from 0 on", lambda value: value >= 0, "preference")
        self._require_overlap("smallest_overlap")
        if self.overlap is not None:
            self._require_overlap("overlap")


class _Stopped(Exception):
    """The caller has told the search to stop."""


def register_tricp(
    source: Floats,
    target: Floats,
    settings: TricpSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Nothing is drawn at random: the seed changes nothing.

    The search for the overlap is a golden section, each try beginning at the start. All steps of all tries are in the
    history, their energy being e / share^(1 + lambda); the last entry is the best of them.
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    closest = ClosestPoints(run)
    objective = point_distance(run)
    start = run.motion

    def aligned(share: float) -> tuple[float, Floats]:
        scale = share ** -(1 + settings.preference)
        value, stopped = iterate(
            run, closest, objective, nearest_share(share), settings.max_iterations, settings.tolerance, start, scale
        )
        if stopped:
            raise _Stopped
        return scale * value, run.motion

    try:
        if settings.overlap is not None:
            aligned(settings.overlap)
        else:
            value, motion = _golden_section(aligned, settings.smallest_overlap, 1.0)
            if motion is not run.motion:
                run.step(motion, value)
    except _Stopped:
        pass
    return run.outcome()


def _golden_section(tried: Callable[[float], tuple[float, Floats]], low: float, high: float) -> tuple[float, Floats]:
    """The best of all tries between `low` and `high`."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = tried(left), tried(right)
    tries = [at_left, at_right]
    while high - low > RESOLUTION:
        if at_left[0] < at_right[0]:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = tried(left)
            tries.append(at_left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = tried(right)
            tries.append(at_right)
    return min(tries, key=lambda found: found[0])
