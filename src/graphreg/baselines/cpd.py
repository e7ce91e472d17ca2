"""CPD, coherent point drift: rigid, or with `scale` a similarity.

A. Myronenko, X. Song: Point set registration: coherent point drift. IEEE TPAMI 32(12), 2010.

The source points x_i are the centres of a mixture of N Gaussians with one variance s^2. The M target points y_j are
samples of it, or with probability w of a uniform distribution. The negative log-likelihood

    -sum_j log( sum_i exp(-|y_j - T x_i|^2 / (2 s^2)) + c ) + 3/2 M log(s^2),    c = (2 pi s^2)^(3/2) w/(1-w) N/M

is minimised over T and s^2 by expectation maximisation, which cannot raise it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.mixtures import (
    MIXTURE_VOXELS,
    Responsibilities,
    expectation_step,
    mean_squared_distance,
    mixture_clouds,
    rescale_translation,
)
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome, Scale
from graphreg.poses import transform

MIN_VARIANCE = 1e-12
"""Lower bound of the variance, in squared spreads of the clouds (derived).

Where all pairs coincide the variance would vanish; below this bound single precision does not resolve distances.
"""


@dataclass(frozen=True)
class CpdSettings(BaselineSettings):
    """Settings of CPD, with the values of the paper's comparison.

    Parameters
    ----------
    outliers : float, default 0.5
        w: expected share of outliers, between 0 and 1.
    max_iterations : int, default 100
        max_it: number of iterations, at most.
    tolerance : float, default 1e-8
        tol: converged where the objective does not change by more than this share.
    scale : bool or pair of float, default False
        Whether the source has an unknown scale, or the smallest and the largest that it can have.
    """

    outliers: float = 0.5
    max_iterations: int = 100
    tolerance: float = 1e-8
    scale: Scale = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count("max_iterations")
        self._require_share("tolerance")
        self._require("a share between 0 and 1", lambda value: 0 < value < 1, "outliers")
        self._require_scale()


def register_cpd(
    source: Floats,
    target: Floats,
    settings: CpdSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by coherent point drift (Myronenko, Song 2010).

    Lengths are in units of the spread of the clouds (`normalize` of the paper's comparison). The energy in the history
    is the negative log-likelihood.

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
    >>> result = graphreg.register(pair.source, pair.target, method="cpd", outliers=0.3)
    >>> result.success
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback, MIXTURE_VOXELS, scale=settings.scale)
    clouds = mixture_clouds(run, settings.features, seed)
    x, y, unit = clouds.source, clouds.target, clouds.unit
    odds = settings.outliers / (1 - settings.outliers) * len(x) / len(y)
    variance = mean_squared_distance(x, y) / 3

    def expectation(estimate: Floats, variance: float) -> tuple[Responsibilities, float]:
        """E-step: responsibilities and the negative log-likelihood."""
        uniform = (2 * np.pi * variance) ** 1.5 * odds
        found = expectation_step(transform(estimate, x), y, float(np.sqrt(variance)), uniform, threads, clouds.prior)
        return found, float(1.5 * len(y) * np.log(variance) - found.log_likelihood)

    def maximisation(posterior: Responsibilities) -> tuple[Floats, float]:
        """M-step: transform and variance."""
        estimate = run.fit(x, posterior.means, posterior.component_sums)
        return estimate, max(float(np.trace(posterior.scatter(transform(estimate, x), y))) / 3, MIN_VARIANCE)

    posterior, objective = expectation(np.eye(4), variance)
    for _ in range(settings.max_iterations):
        if not posterior.component_sums.any():
            break
        estimate, variance = maximisation(posterior)
        previous = objective
        posterior, objective = expectation(estimate, variance)
        if run.record(rescale_translation(estimate, unit), objective):
            break
        if abs(previous - objective) <= settings.tolerance * abs(previous):
            break
    return run.outcome()
