"""CPD: coherent point drift, rigid, without scale.

A. Myronenko, X. Song: Point set registration: coherent point drift. IEEE TPAMI 32(12), 2010.

The source points are the centres of a mixture of N Gaussians with one variance, the target points are drawn from it, or
with probability w from a uniform distribution. Minimised is the negative log-likelihood

    -sum_j log( sum_i exp(-|y_j - T x_i|^2 / (2 s^2)) + c ) + 3/2 M log(s^2),    c = (2 pi s^2)^(3/2) w/(1-w) N/M

over T and s^2 by expectation maximisation, which can only lower it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.mixtures import (
    CELLS,
    Responsibilities,
    back_to_lengths,
    in_spatial_order,
    mean_squared_distance,
    responsibilities,
    unit_of,
)
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import fit_rigid_transform, transform

# Where all pairs coincide the variance would vanish. So far down, single precision tells no two points apart.
SMALLEST_VARIANCE = 1e-12


@dataclass(frozen=True)
class CpdSettings(BaselineSettings):
    """Settings of CPD, the values being those of the paper's comparison.

    outliers        w: the share of outliers that is expected
    max_iterations  max_it
    tolerance       tol: it ends where the objective changes by no more than this share
    """

    outliers: float = 0.5
    max_iterations: int = 100
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        self._require_count("max_iterations")
        self._require_share("tolerance")
        self._require("a share between 0 and 1", lambda value: 0 < value < 1, "outliers")


def register_cpd(
    source: Floats,
    target: Floats,
    settings: CpdSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Nothing is drawn at random: the seed changes nothing. Lengths are in units of the clouds' spread (normalize)."""
    run = BaselineRun(source, target, settings.voxel, init, threads, callback, CELLS)
    unit = unit_of(run.source, run.target)
    x, y = (in_spatial_order(cloud, threads) / unit for cloud in (run.source, run.target))
    odds = settings.outliers / (1 - settings.outliers) * len(x) / len(y)
    variance = mean_squared_distance(x, y) / 3
    run.described()

    def expect(motion: Floats, variance: float) -> tuple[Responsibilities, float]:
        outliers = (2 * np.pi * variance) ** 1.5 * odds
        found = responsibilities(transform(motion, x), y, float(np.sqrt(variance)), outliers, threads)
        return found, float(1.5 * len(y) * np.log(variance) - found.evidence)

    motion = np.eye(4)
    shares, objective = expect(motion, variance)
    for _ in range(settings.max_iterations):
        if not shares.of_components.any():
            break
        motion = fit_rigid_transform(x, shares.means, shares.of_components)
        variance = max(float(np.trace(shares.scatter(transform(motion, x), y))) / 3, SMALLEST_VARIANCE)
        before = objective
        shares, objective = expect(motion, variance)
        if run.step(back_to_lengths(motion, unit), objective):
            break
        if abs(before - objective) <= settings.tolerance * abs(before):
            break
    return run.outcome()
