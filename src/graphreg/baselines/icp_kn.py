"""ICP-KN: point-to-plane ICP as reimplemented by Kjer and Wilm.

H. M. Kjer, J. Wilm: Evaluation of surface registration algorithms for PET motion correction. Technical University of
Denmark, 2010. The metric: Y. Chen, G. Medioni: Object modelling by registration of multiple range images. Image and
Vision Computing 10(3), 1992.

    minimise over T    sum_i (n_c(i) . (T x_i - y_c(i)))^2    with y_c(i) nearest to T x_i and n its normal

Points may slide along flat parts, so it takes far fewer steps than point-to-point ICP. The sum is not promised to fall.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, iterate, nearest_share, plane_distance
from graphreg.clouds import Floats
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import fit_planes
from graphreg.method_interface import Callback, Outcome


@dataclass(frozen=True)
class IcpKnSettings(BaselineSettings):
    """Settings of ICP-KN.

    max_iterations     as in the paper's comparison
    normal_neighbours  a plane is fitted to each target point and so many neighbours, as in the paper's comparison
    worst_rejection    share of the pairs left out in each step, those that are farthest apart
    """

    max_iterations: int = 50
    normal_neighbours: int = 4
    worst_rejection: float = 0.0

    def __post_init__(self) -> None:
        self._require_count("max_iterations")
        self._require_count("normal_neighbours", least=2)
        self._require_share("worst_rejection")


def register_icp_kn(
    source: Floats,
    target: Floats,
    settings: IcpKnSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Nothing is drawn at random: the seed changes nothing. It ends early only where it no longer moves at all."""
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    normals, _ = fit_planes(neighbour_graph(run.target, settings.normal_neighbours, threads))
    run.described()
    closest = ClosestPoints(run)
    objective = plane_distance(run, normals)
    iterate(
        run, closest, objective, nearest_share(1 - settings.worst_rejection), settings.max_iterations, 0.0, run.motion
    )
    return run.outcome()
