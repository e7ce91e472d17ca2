"""ICP-KN: point-to-plane ICP as implemented by Kjer and Wilm.

H. M. Kjer, J. Wilm: Evaluation of surface registration algorithms for PET motion correction. Technical University of
Denmark, 2010. The metric: Y. Chen, G. Medioni: Object modelling by registration of multiple range images. Image and
Vision Computing 10(3), 1992.

    minimise over T    sum_i (n_c(i) . (T x_i - y_c(i)))^2    with y_c(i) nearest to T x_i and n its normal

Points can slide along flat parts, so that it needs far fewer iterations than point-to-point ICP. The objective is not
guaranteed to fall.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.baselines.alike_points import attract_alike_points
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, closest_share, iterate_closest_points, point_to_plane
from graphreg.clouds import Floats
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import fit_planes
from graphreg.method_interface import Callback, Outcome
from graphreg.robust.losses import Loss


@dataclass(frozen=True)
class IcpKnSettings(BaselineSettings):
    """Settings of ICP-KN.

    Parameters
    ----------
    max_iterations : int, default 50
        Number of iterations; the value of the paper's comparison. Fewer only where the objective does not change.
    normal_neighbours : int, default 4
        Number of neighbours that the plane of a target point is fitted to; the value of the paper's comparison.
    worst_rejection : float, default 0
        Share of the correspondences that is rejected in each iteration: those with the largest distances.
    loss : str or Loss, optional
        A robust loss in place of the squares: "l1", "huber", "tukey" and others, or a `graphreg.Loss`.
    """

    max_iterations: int = 50
    normal_neighbours: int = 4
    worst_rejection: float = 0.0
    loss: Loss | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_loss()
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
    """Register by point-to-plane ICP with a fixed number of iterations (Kjer, Wilm 2010).

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
    >>> result = graphreg.register(pair.source, pair.target, method="icp-kn", normal_neighbours=8)
    >>> result.success
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    normals, _ = fit_planes(neighbour_graph(run.target, settings.normal_neighbours, threads))
    run.finish_features()
    if settings.features and attract_alike_points(run, seed):
        return run.outcome()
    iterate_closest_points(
        run,
        ClosestPoints(run),
        point_to_plane(run, normals, settings.loss),
        closest_share(1 - settings.worst_rejection),
        settings.max_iterations,
        0.0,
        run.estimate,
    )
    return run.outcome()
