"""ICP-KP: point-to-point ICP as reimplemented by Kjer and Wilm.

H. M. Kjer, J. Wilm: Evaluation of surface registration algorithms for PET motion correction. Technical University of
Denmark, 2010.

It pairs and moves like ICP, but takes a fixed number of steps, and may leave out the worst pairs of each.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, iterate, nearest_share, point_distance
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome


@dataclass(frozen=True)
class IcpKpSettings(BaselineSettings):
    """Settings of ICP-KP.

    max_iterations   as in the paper's comparison
    worst_rejection  share of the pairs left out in each step, those that are farthest apart
    """

    max_iterations: int = 50
    worst_rejection: float = 0.0

    def __post_init__(self) -> None:
        self._require_count("max_iterations")
        self._require_share("worst_rejection")


def register_icp_kp(
    source: Floats,
    target: Floats,
    settings: IcpKpSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Nothing is drawn at random: the seed changes nothing. It ends early only where it no longer moves at all."""
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    closest = ClosestPoints(run)
    choose = nearest_share(1 - settings.worst_rejection)
    iterate(run, closest, point_distance(run), choose, settings.max_iterations, 0.0, run.motion)
    return run.outcome()
