"""FGR, fast global registration: a robust cost over fixed correspondences.

Q.-Y. Zhou, J. Park, V. Koltun: Fast global registration. ECCV 2016.

    minimise over T    sum_(x,y) mu r^2 / (mu + r^2),    r = |y - T x|

over FPFH correspondences (x, y). The cost of an outlier correspondence under the Geman-McClure function is at most mu.
mu decreases from the squared size of the clouds to the squared distance of inliers (graduated non-convexity), so that
outliers lose their influence gradually. Deviation from the paper: each step is the closed form for weighted
correspondences, not a linearised one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.fpfh_correspondences import match_clouds, tuple_test
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import fit_rigid_transform, transform

STEPS_PER_MU = 4
"""Steps for each value of mu (authors' program)."""


@dataclass(frozen=True)
class FgrSettings(BaselineSettings):
    """Settings of FGR, with the values of its authors where they state them.

    Parameters
    ----------
    radius : float, default 5
        Radius of FPFH, or with `features` of the graph descriptors, in voxels.
    max_distance : float, default 1
        Largest distance of inlier correspondences, in voxels: mu decreases to its square.
    max_iterations : int, default 200
        It ends four steps after mu has reached its last value, or here. The authors' program ends after 64 steps, when
        mu has seldom reached it.
    division : float, default 1.4
        Divisor of mu after every four steps.
    similarity : float, default 0.95
        Ratio within which the sides of triangles must agree in the tuple test.
    max_triangles : int, default 1000
        Number of triangles that pass the tuple test, after which it ends.
    """

    radius: float = 5.0
    max_distance: float = 1.0
    max_iterations: int = 200
    division: float = 1.4
    similarity: float = 0.95
    max_triangles: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count("max_iterations", "max_triangles")
        self._require_positive("radius", "max_distance")
        self._require("a number above 1", lambda value: 1 < value < np.inf, "division")
        self._require_share("similarity")


def register_fgr(
    source: Floats,
    target: Floats,
    settings: FgrSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by fast global registration (Zhou, Park, Koltun 2016).

    Correspondences do not depend on the initial transform; the optimisation starts there. The energy in the history is
    the cost for the current mu.

    Parameters
    ----------
    source, target, settings, init, seed, threads, callback
        As in `graphreg.method_interface.RegistrationMethod`. The seed is that of the tuple test.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("hare", 10.0, points=2000)
    >>> flipped = pair.source * [1, -1, -1]  # a rotation by 180 degrees about the x axis
    >>> result = graphreg.register(flipped, pair.target, method="fgr")
    >>> result.success
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback, least=settings.required_points)
    matches = match_clouds(run, settings.radius, settings.features)
    x, y = run.source[matches[:, 0]], run.target[matches[:, 1]]
    if len(matches):
        rng = np.random.default_rng(seed)
        passed = tuple_test(x, y, settings.similarity, settings.max_triangles, rng)
        x, y = x[passed], y[passed]
    run.finish_features()
    if len(x) >= 3:
        diagonal = max(float(np.linalg.norm(np.ptp(cloud, axis=0))) for cloud in (run.source, run.target))
        minimise_geman_mcclure(run, x, y, diagonal, settings)
    return run.outcome()


def minimise_geman_mcclure(run: BaselineRun, x: Floats, y: Floats, diagonal: float, settings: FgrSettings) -> None:
    """Minimise the Geman-McClure cost of correspondences for decreasing mu, and record each step in the run.

    Parameters
    ----------
    run : BaselineRun
    x, y : (K, 3) ndarray
        Corresponding points.
    diagonal : float
        Size of the clouds: mu starts below its square.
    settings : FgrSettings
    """
    mu, last = diagonal**2, (settings.max_distance * run.voxel) ** 2
    estimate = run.estimate
    for number in range(settings.max_iterations):
        if number % STEPS_PER_MU == 0:
            if mu == last:
                break
            mu = max(mu / settings.division, last)
        moved = transform(estimate, x)
        squared = ((y - moved) ** 2).sum(axis=1)
        # The line process l = (mu / (mu + r^2))^2.
        weights = (mu / (mu + squared)) ** 2
        estimate = fit_rigid_transform(moved, y, weights) @ estimate
        residuals = ((y - transform(estimate, x)) ** 2).sum(axis=1)
        if run.record(estimate, float((mu * residuals / (mu + residuals)).sum())):
            break
