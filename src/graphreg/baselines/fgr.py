"""FGR: fast global registration, one optimisation over matches that never change.

Q.-Y. Zhou, J. Park, V. Koltun: Fast global registration. ECCV 2016.

    minimise over T    sum_(x,y) mu r^2 / (mu + r^2),    r = |y - T x|

over pairs of points that are alike by their FPFH. Geman and McClure's function counts a wrong match for at most mu. mu
falls from the size of the clouds to the distance of right matches, so that wrong ones lose their say step by step. The
paper takes linearised steps; here each is the closed form for weighted pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.fpfh_correspondences import feature_matches, in_like_triangles
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import fit_rigid_transform, transform

# So many are taken for each mu.
STEPS = 4


@dataclass(frozen=True)
class FgrSettings(BaselineSettings):
    """Settings of FGR, the values being its authors' where they give them.

    radius          of the FPFH, in voxels
    max_distance    of right matches, in voxels: mu falls to its square
    max_iterations  it ends four steps after mu has come down, or here; the authors' program ends after 64, when mu
                    has seldom come down all the way
    division        what mu is divided by after each four steps
    similarity      matches must belong to triangles whose sides agree within this ratio
    max_triangles   so many of these are enough
    """

    radius: float = 5.0
    max_distance: float = 1.0
    max_iterations: int = 200
    division: float = 1.4
    similarity: float = 0.95
    max_triangles: int = 1000

    def __post_init__(self) -> None:
        self._require_count("max_iterations", "max_triangles")
        self._require_positive("radius", "max_distance")
        self._require("a number above 1", lambda value: value > 1, "division")
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
    """The triangles are drawn at random. Matches do not depend on the start; the optimisation begins there."""
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    matches = feature_matches(run, settings.radius)
    x, y = run.source[matches[:, 0]], run.target[matches[:, 1]]
    if len(matches):
        rng = np.random.default_rng(seed)
        kept = in_like_triangles(x, y, settings.similarity, settings.max_triangles, rng)
        x, y = x[kept], y[kept]
    run.described()
    if len(x) >= 3:
        size = max(float(np.linalg.norm(np.ptp(cloud, axis=0))) for cloud in (run.source, run.target))
        align_matches(run, x, y, size, settings)
    return run.outcome()


def align_matches(run: BaselineRun, x: Floats, y: Floats, size: float, settings: FgrSettings) -> None:
    """The optimisation itself, for pairs (x, y) of clouds of this size."""
    mu, smallest = size**2, (settings.max_distance * run.voxel) ** 2
    motion = run.motion
    for number in range(settings.max_iterations):
        if number % STEPS == 0:
            if mu == smallest:
                break
            mu = max(mu / settings.division, smallest)
        moved = transform(motion, x)
        squared = ((y - moved) ** 2).sum(axis=1)
        # The line process: how far each match is believed.
        weights = (mu / (mu + squared)) ** 2
        motion = fit_rigid_transform(moved, y, weights) @ motion
        left = ((y - transform(motion, x)) ** 2).sum(axis=1)
        if run.step(motion, float((mu * left / (mu + left)).sum())):
            break
