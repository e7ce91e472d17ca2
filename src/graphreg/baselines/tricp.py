"""TrICP, trimmed ICP: least squares over the correspondences with the smallest distances.

D. Chetverikov, D. Svirko, D. Stepanov, P. Krsek: The trimmed iterative closest point algorithm. ICPR 2002.

    minimise over T    e(xi, T) = mean of the smallest |T x_i - y_c(i)|^2, a share xi of them all

xi is the overlap of the clouds. Where it is not known, the one that minimises psi(xi) = e / xi^(1 + lambda) is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphreg.baselines.alike_points import attract_alike_points
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, closest_share, iterate_closest_points, point_to_point
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.robust.losses import Loss

OVERLAP_TOLERANCE = 0.02
"""The search for the overlap ends at this width of the bracket (chosen): below it, e hardly changes."""


@dataclass(frozen=True)
class TricpSettings(BaselineSettings):
    """Settings of TrICP, with the values of its authors.

    Parameters
    ----------
    overlap : float, optional
        xi: share of the source that overlaps the target. By default it is searched for.
    smallest_overlap : float, default 0.4
        Lower bound of that search; the upper bound is 1.
    preference : float, default 2
        lambda: preference for a larger overlap in that search.
    max_iterations : int, default 100
        Number of iterations for each overlap, at most.
    tolerance : float, default 1e-4
        Converged where the square root of the trimmed mean does not change by more than this share.
    loss : str or Loss, optional
        A robust loss in place of the squares: "l1", "huber", "tukey" and others, or a `graphreg.Loss`.
    """

    overlap: float | None = None
    smallest_overlap: float = 0.4
    preference: float = 2.0
    max_iterations: int = 100
    tolerance: float = 1e-4
    loss: Loss | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_loss()
        self._require_count("max_iterations")
        self._require_share("tolerance")
        self._require("a number from 0 on", lambda value: 0 <= value < np.inf, "preference")
        self._require_overlap("smallest_overlap")
        if self.overlap is not None:
            self._require_overlap("overlap")


class _Stopped(Exception):
    """The callback has stopped the run."""


def register_tricp(
    source: Floats,
    target: Floats,
    settings: TricpSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by trimmed ICP (Chetverikov et al. 2002).

    The overlap is searched for by golden section; ICP starts from the initial transform for each overlap. The history
    has all iterations of all overlaps, with psi(xi) as energy; its last entry is the best of them.

    Parameters
    ----------
    source, target, settings, init, seed, threads, callback
        As in `graphreg.method_interface.RegistrationMethod`. The seed is that of the sample
        with `features`.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("hare", 10.0, points=2000)
    >>> result = graphreg.register(pair.source, pair.target, method="tricp", overlap=0.8)
    >>> result.success
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    if settings.features and attract_alike_points(run, seed):
        return run.outcome()
    closest = ClosestPoints(run)
    start = run.estimate

    def align(overlap: float) -> tuple[float, Floats]:
        scale = overlap ** -(1 + settings.preference)
        value, stopped = iterate_closest_points(
            run,
            closest,
            point_to_point(run, settings.loss),
            closest_share(overlap),
            settings.max_iterations,
            settings.tolerance,
            start,
            scale,
        )
        if stopped:
            raise _Stopped
        return scale * value, run.estimate

    try:
        if settings.overlap is not None:
            align(settings.overlap)
        else:
            value, estimate = _golden_section(align, settings.smallest_overlap, 1.0)
            if estimate is not run.estimate:
                run.record(estimate, value)
    except _Stopped:
        pass
    return run.outcome()


def _golden_section(evaluate: Callable[[float], tuple[float, Floats]], low: float, high: float) -> tuple[float, Floats]:
    """Minimise a function of the overlap between `low` and `high`; returns the best of all evaluations."""
    ratio = (np.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = evaluate(left), evaluate(right)
    evaluations = [at_left, at_right]
    while high - low > OVERLAP_TOLERANCE:
        if at_left[0] < at_right[0]:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = evaluate(left)
            evaluations.append(at_left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = evaluate(right)
            evaluations.append(at_right)
    return min(evaluations, key=lambda evaluation: evaluation[0])
