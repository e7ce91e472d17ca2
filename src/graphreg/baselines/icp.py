"""ICP, iterative closest point, point to point.

P. J. Besl, N. D. McKay: A method for registration of 3-D shapes. IEEE TPAMI 14(2), 1992.

    minimise over T    sum_i min_j |T x_i - y_j|^2

by alternating between closest-point correspondences and their alignment in closed form. Neither step can raise the
objective, so that it converges to the nearest local minimum. With `scale` the alignment is Umeyama's, of a similarity;
limits of the scale (S. Du, N. Zheng, S. Ying, J. Liu: Affine iterative closest point algorithm for point set
registration, 2010) keep the source from shrinking to where it has no distance from the target.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphreg.baselines.alike_points import attract_alike_points
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, iterate_closest_points, point_to_point, within_distance
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome, Scale
from graphreg.robust.losses import Loss


@dataclass(frozen=True)
class IcpSettings(BaselineSettings):
    """Settings of ICP.

    Parameters
    ----------
    max_iterations : int, default 200
        Number of iterations, at most; the value of the paper's comparison.
    max_distance : float, optional
        Correspondences with a larger distance are rejected, in the unit of the data. By default all are used.
    tolerance : float, default 1e-6
        Converged where neither the RMS distance nor the number of correspondences changes by more than this share.
    scale : bool or pair of float, default False
        Whether the source has an unknown scale, or the smallest and the largest that it can have.
    loss : str or Loss, optional
        A robust loss in place of the squares: "l1", "huber", "tukey" and others, or a `graphreg.Loss`.
    """

    max_iterations: int = 200
    max_distance: float | None = None
    tolerance: float = 1e-6
    scale: Scale = False
    loss: Loss | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_loss()
        self._require_count("max_iterations")
        self._require_share("tolerance")
        if self.max_distance is not None:
            self._require_positive("max_distance")
        self._require_scale()


def register_icp(
    source: Floats,
    target: Floats,
    settings: IcpSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by point-to-point ICP (Besl, McKay 1992).

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
    >>> result = graphreg.register(pair.source, pair.target, method="icp", max_distance=0.02)
    >>> result.history[-1].energy < result.history[0].energy
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback, scale=settings.scale)
    if settings.features and attract_alike_points(run, seed):
        return run.outcome()
    iterate_closest_points(
        run,
        ClosestPoints(run),
        point_to_point(run, settings.loss),
        within_distance(settings.max_distance),
        settings.max_iterations,
        settings.tolerance,
        run.estimate,
    )
    return run.outcome()
