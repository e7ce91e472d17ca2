"""ICP: iterated closest points, point to point.

P. J. Besl, N. D. McKay: A method for registration of 3-D shapes. IEEE TPAMI 14(2), 1992.

    minimise over T    sum_i min_j |T x_i - y_j|^2

by pairing every source point with the nearest target point and moving in closed form, in turns. Neither half can raise
the sum, so it falls until it rests in the nearest local minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, iterate, point_distance, within
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome


@dataclass(frozen=True)
class IcpSettings(BaselineSettings):
    """Settings of ICP.

    max_iterations  as in the paper's comparison
    max_distance    pairs farther apart than this do not count, in the unit of the data; by default all count
    tolerance       it ends where neither the root-mean-square distance nor the number of pairs changes by more than
                    this share
    """

    max_iterations: int = 200
    max_distance: float | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        self._require_count("max_iterations")
        self._require_share("tolerance")
        if self.max_distance is not None:
            self._require_positive("max_distance")


def register_icp(
    source: Floats,
    target: Floats,
    settings: IcpSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Point-to-point ICP. Nothing is drawn at random: the seed changes nothing."""
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    closest = ClosestPoints(run)
    choose = within(settings.max_distance)
    iterate(run, closest, point_distance(run), choose, settings.max_iterations, settings.tolerance, run.motion)
    return run.outcome()
