"""FRICP, fast and robust ICP: Welsch's function, minimised with Anderson acceleration.

J. Zhang, Y. Yao, B. Deng: Fast and robust iterative closest point. IEEE TPAMI, 2021.

    minimise over T    sum_i 1 - exp(-d_i^2 / (2 nu^2)),    d_i = min_j |T x_i - y_j|

For a fixed nu, the alignment with weights exp(-d_i^2 / (2 nu^2)) can only lower the objective
(majorisation-minimisation). Anderson acceleration extrapolates from the last few of these steps; an extrapolation that
does not lower the objective is discarded. nu is halved repeatedly, from the distances at the start down to the spacing
of the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.baselines.alignment import align_point_to_point, rotation_vector
from graphreg.baselines.alike_points import attract_alike_points
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPointPairs, ClosestPoints, within_distance
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import inverse, pose, rotation_from_vector
from graphreg.robust.influence_functions import INFLUENCE
from graphreg.robust.losses import Loss, influence_of


@dataclass(frozen=True)
class FricpSettings(BaselineSettings):
    """Settings of FRICP, with the values of its authors.

    Parameters
    ----------
    first_scale : float, default 3
        The first nu, as a multiple of the median distance at the start.
    last_scale : float, default 1 / (3 sqrt(3))
        The last nu, as a multiple of the median distance of a target point to its six nearest neighbours.
    decay : float, default 0.5
        Factor between one nu and the next.
    memory : int, default 5
        Number of earlier steps that Anderson acceleration uses; 0: no acceleration.
    max_iterations : int, default 100
        Number of iterations for each nu, at most.
    tolerance : float, default 1e-5
        Converged for a nu where a step moves points by no more than this share of the source's diagonal.
    loss : str or Loss, optional
        A loss in place of Welsch's function, by name, or a `graphreg.Loss` without a scale of its own: nu is the scale.
    """

    first_scale: float = 3.0
    last_scale: float = 1 / (3 * np.sqrt(3))
    decay: float = 0.5
    memory: int = 5
    max_iterations: int = 100
    tolerance: float = 1e-5
    loss: Loss | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_loss()
        if self.loss is not None and (self.loss.scale, self.loss.annealed) != (Loss.scale, Loss.annealed):
            raise InputError(f"loss: fricp has scales of its own, first_scale to last_scale, got {self.loss!r}")
        self._require_count("max_iterations")
        self._require_count("memory", least=0)
        self._require_positive("first_scale", "last_scale", "decay")
        self._require_share("decay", "tolerance")


def register_fricp(
    source: Floats,
    target: Floats,
    settings: FricpSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by fast and robust ICP, point to point (Zhang, Yao, Deng 2021).

    The energy in the history falls monotonically for each nu.

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
    >>> result = graphreg.register(pair.source, pair.target, method="fricp")
    >>> result.success
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    if settings.features and attract_alike_points(run, seed):
        return run.outcome()
    closest = ClosestPoints(run)
    use_all = within_distance(None)
    last = settings.last_scale * _neighbour_distance(run.target, threads)
    nu = max(settings.first_scale * float(np.sqrt(np.median(closest.pairs(run.estimate, use_all).squared))), last)
    diagonal = float(np.linalg.norm(np.ptp(run.source, axis=0)))
    radius = float(np.sqrt((run.source**2).sum(axis=1).mean()))

    while True:
        coordinates = _LocalCoordinates(run.estimate, radius)
        acceleration = AndersonAcceleration(settings.memory)
        candidate = aligned = run.estimate
        previous = float("inf")
        function = (
            _welsch(nu) if settings.loss is None else _of_loss(settings.loss, nu, closest.pairs(candidate, use_all))
        )
        for _ in range(settings.max_iterations):
            pairs = closest.pairs(candidate, use_all)
            value, weights = function(pairs.squared)
            if value > previous:
                # The extrapolation raised the objective: continue from the plain step.
                candidate = aligned
                pairs = closest.pairs(candidate, use_all)
                value, weights = function(pairs.squared)
                acceleration.reset()
            if not weights.any():
                return run.outcome()
            step = align_point_to_point(pairs.points, run.target, pairs.nearest, pairs.rows, weights, threads)
            aligned = step @ candidate
            # The plain step does not raise the objective, so that the energy in the history can only fall.
            if run.record(aligned, value):
                return run.outcome()
            x, g = coordinates.vector(candidate), coordinates.vector(aligned)
            if np.linalg.norm(g - x) <= settings.tolerance * diagonal:
                break
            previous = value
            candidate = coordinates.transform(acceleration.next(x, g))
        # A target whose points coincide has no distance between neighbours: below rounding the scale says nothing.
        if nu <= max(last, np.finfo(np.float64).eps * diagonal):
            return run.outcome()
        nu = max(settings.decay * nu, last)


class AndersonAcceleration:
    """Anderson acceleration of a fixed-point iteration x -> g(x) (D. G. Anderson 1965).

    Parameters
    ----------
    memory : int
        Number of earlier steps that are used.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._steps: list[tuple[Floats, Floats]] = []

    def reset(self) -> None:
        """Forget all earlier steps."""
        self._steps.clear()

    def next(self, x: Floats, g: Floats) -> Floats:
        """Return the next iterate.

        Parameters
        ----------
        x, g : (D,) ndarray
            The current iterate and g(x).

        Returns
        -------
        (D,) ndarray
            The combination of the last few g for which the linear model of the residual g(x) - x is smallest.
        """
        self._steps = [*self._steps, (g - x, g)][-(self._memory + 1) :]
        if len(self._steps) == 1:
            return g
        residuals, images = (np.stack(column, axis=1) for column in zip(*self._steps, strict=True))
        theta = np.linalg.lstsq(np.diff(residuals), residuals[:, -1], rcond=1e-10)[0]
        return np.asarray(g - np.diff(images) @ theta)


class _LocalCoordinates:
    """Rigid transforms near a reference as six numbers, all lengths: rotation vector times radius, and translation."""

    def __init__(self, reference: Floats, radius: float) -> None:
        self._reference = reference
        self._radius = radius or 1.0

    def vector(self, transformation: Floats) -> Floats:
        relative = transformation @ inverse(self._reference)
        return np.concatenate([self._radius * rotation_vector(relative[:3, :3]), relative[:3, 3]])

    def transform(self, vector: Floats) -> Floats:
        return np.asarray(pose(rotation_from_vector(vector[:3] / self._radius), vector[3:]) @ self._reference)


_Function = Callable[[Floats], tuple[float, Floats]]
"""From squared distances to the mean of the loss and the weights."""


def _welsch(nu: float) -> _Function:
    """Welsch's function of width nu."""
    return lambda squared: (float(-np.expm1(-squared / (2 * nu**2)).mean()), np.exp(-squared / (2 * nu**2)))


def _of_loss(loss: Loss, nu: float, pairs: ClosestPointPairs) -> _Function:
    """Another loss, as efficient as Welsch's function of width nu; an adaptive shape is that of `pairs`."""
    scale = np.sqrt(2) * nu / INFLUENCE["welsch"].tuning
    function = influence_of(loss, np.sqrt(pairs.squared) / scale)
    unit = (loss.tuning or function.tuning) * scale

    def evaluate(squared: Floats) -> tuple[float, Floats]:
        u = np.sqrt(squared) / unit
        return float(function.rho(u).mean()), function.weight(u)

    return evaluate


def _neighbour_distance(target: Floats, threads: int) -> float:
    """Median distance of a point to its six nearest neighbours."""
    _, squared = _core.Tree(target, threads).nearest(target, min(7, len(target)), threads)
    return float(np.median(np.sqrt(squared[:, 1:])))
