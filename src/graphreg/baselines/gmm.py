"""GMM: the L2 distance between two Gaussian mixtures, minimised over a rigid transform.

B. Jian, B. C. Vemuri: Robust point set registration using Gaussian mixture models. IEEE TPAMI 33(8), 2011.

Every point of each cloud is the centre of a Gaussian of width s. A rigid transform changes only the cross term of
int (f - g)^2, so that

    -1/(N M) sum_ij exp(-|y_j - T x_i|^2 / (4 s^2))

is minimised over quaternion and translation by a quasi-Newton method, for decreasing widths s. Each width has its own
local minima.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.membership_priors import MembershipPrior, forces_by_class
from graphreg.baselines.mixtures import MixtureClouds, mixture_clouds, rescale_translation
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import pose, transform
from graphreg.voxels import voxel_downsample


@dataclass(frozen=True)
class GmmConstants:
    """Constants of GMM that are not settings.

    Attributes
    ----------
    bounds : tuple
        Lb and Ub of the paper's comparison: four for the quaternion, three for the translation.
    rounding : float
        Relative rounding error of the objective, many sums in single precision that are added in double (derived):
        the optimiser ends where the objective changes by less.
    voxel : float
        Voxel size that clouds are downsampled with for all widths but the last, in widths (chosen): within such a
        voxel, Gaussians are well represented by one at their mean.
    """

    bounds: tuple[tuple[float, float], ...] = ((-10.0, 10.0),) * 4 + ((-400.0, 400.0),) * 3
    rounding: float = 1e-9
    voxel: float = 0.5


CONSTANTS = GmmConstants()


@dataclass(frozen=True)
class GmmSettings(BaselineSettings):
    """Settings of GMM.

    Parameters
    ----------
    scales : tuple of float, default (0.5, 0.2, 0.1, 0.05, 0.02)
        Widths s, one after the other, in units of the spread of the clouds (`normalize` of the paper's comparison,
        which does not give the widths). For all but the last the clouds are downsampled to what a width resolves.
    max_iterations : int, default 100
        Number of iterations for each width, at most: max_iter of the paper's comparison.
    """

    scales: tuple[float, ...] = (0.5, 0.2, 0.1, 0.05, 0.02)
    max_iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count("max_iterations")
        try:
            valid = bool(self.scales) and all(0 < scale < np.inf for scale in self.scales)
        except TypeError:
            valid = False
        if not valid:
            raise InputError(f"scales: expected one or more positive numbers, got {self.scales!r}")


class _Stopped(Exception):
    """The callback has stopped the optimiser."""


def register_gmm(
    source: Floats,
    target: Floats,
    settings: GmmSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by the L2 distance of Gaussian mixtures (Jian, Vemuri 2011).

    The energy in the history falls monotonically for each width.

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
    >>> result = graphreg.register(pair.source, pair.target, method="gmm", scales=(0.2, 0.05))
    >>> result.success
    True
    """
    from scipy import optimize

    minimize: Any = optimize.minimize  # its stubs know no array of unknown length
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    full = mixture_clouds(run, settings.features, seed)
    unit = full.unit
    parameters = np.array([1.0, 0, 0, 0, 0, 0, 0])
    for scale in settings.scales:
        clouds = full
        if scale != settings.scales[-1] and CONSTANTS.voxel * scale * unit > run.voxel:
            clouds = _downsampled(full, CONSTANTS.voxel * scale, threads)
        objective = L2Distance(clouds.source, clouds.target, scale, threads, clouds.prior)
        # Relative to its initial value, so that the optimiser's thresholds suit every width.
        initial = objective(parameters)[0] or 1.0

        relative = partial(_divided, objective=objective, divisor=abs(initial))

        def record(parameters: Floats, objective: L2Distance = objective) -> None:
            estimate = rescale_translation(transform_from_parameters(parameters), unit)
            if run.record(estimate, objective(parameters)[0]):
                raise _Stopped

        try:
            found = minimize(
                relative, parameters, jac=True, method="L-BFGS-B", bounds=CONSTANTS.bounds, callback=record,
                options={"maxiter": settings.max_iterations, "ftol": CONSTANTS.rounding, "gtol": 0.0},
            )  # fmt: skip
        except _Stopped:
            break
        parameters = found.x
    return run.outcome()


def _downsampled(clouds: MixtureClouds, voxel: float, threads: int) -> MixtureClouds:
    """Both clouds downsampled, points of different classes apart from each other."""
    prior = clouds.prior
    if prior is None:
        source, target = (voxel_downsample(cloud, voxel, threads) for cloud in (clouds.source, clouds.target))
        return replace(clouds, source=source, target=target)
    merged, merged_classes = [], []
    for cloud, classes in ((clouds.source, prior.components), (clouds.target, prior.data)):
        numbers = np.unique(classes)
        parts = [voxel_downsample(cloud[classes == number], voxel, threads) for number in numbers]
        merged.append(np.concatenate(parts))
        merged_classes.append(np.repeat(numbers, [len(part) for part in parts]))
    prior = MembershipPrior(merged_classes[0], merged_classes[1], prior.factors)
    return MixtureClouds(merged[0], merged[1], clouds.unit, prior)


def _divided(parameters: Floats, objective: L2Distance, divisor: float) -> tuple[float, Floats]:
    value, gradient = objective(parameters)
    return value / divisor, gradient / divisor


class L2Distance:
    """The cross term of the L2 distance of two mixtures, and its gradient; the last evaluation is cached.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) ndarray
        Centres of the Gaussians.
    scale : float
        Width s.
    threads : int
    prior : MembershipPrior, optional
        Of the source's points as components: the factor of each pair.
    """

    def __init__(
        self, source: Floats, target: Floats, scale: float, threads: int, prior: MembershipPrior | None = None
    ) -> None:
        self._source = source
        self._target = np.ascontiguousarray(target, np.float32)
        self._mass = np.ones(len(target), np.float32)
        # The product of two Gaussians of width s, integrated, is a Gaussian of width sqrt(2) s.
        self._width = float(np.sqrt(2) * scale)
        self._threads = threads
        self._prior = prior
        self._last: tuple[bytes, tuple[float, Floats]] | None = None

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        """Evaluate at a quaternion (w, x, y, z) of any length and a translation, (7,); return value and gradient."""
        key = parameters.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._compute(parameters)
        return self._last[1]

    def _compute(self, parameters: Floats) -> tuple[float, Floats]:
        moved = np.ascontiguousarray(transform(transform_from_parameters(parameters), self._source), np.float32)
        weights, forces = forces_by_class(moved, self._target, self._mass, self._width, self._threads, self._prior)
        pairs = len(self._source) * len(self._target)
        factor = -1 / (pairs * self._width**2)
        by_rotation = factor * forces.T @ self._source
        by_translation = factor * forces.sum(axis=0)
        length = float(np.linalg.norm(parameters[:4]))
        quaternion = parameters[:4] / length
        by_quaternion = np.array([(by_rotation * part).sum() for part in _rotation_derivatives(quaternion)])
        # The length of the quaternion does not change the rotation: the gradient is orthogonal to it.
        by_quaternion = (by_quaternion - quaternion * (quaternion @ by_quaternion)) / length
        return -float(weights.sum()) / pairs, np.concatenate([by_quaternion, by_translation])


def transform_from_parameters(parameters: Floats) -> Floats:
    """Return the rigid transform of a quaternion (w, x, y, z) of any length and a translation.

    Parameters
    ----------
    parameters : (7,) ndarray

    Returns
    -------
    (4, 4) ndarray
    """
    w, x, y, z = parameters[:4] / np.linalg.norm(parameters[:4])
    rotation = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return pose(rotation, parameters[4:])


def _rotation_derivatives(quaternion: Floats) -> list[Floats]:
    """Derivatives of the rotation matrix of a unit quaternion by w, x, y and z."""
    w, x, y, z = quaternion
    return [
        2 * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]),
        2 * np.array([[0, y, z], [y, -2 * x, -w], [z, w, -2 * x]]),
        2 * np.array([[-2 * y, x, w], [x, 0, z], [-w, z, -2 * y]]),
        2 * np.array([[-2 * z, -w, x], [w, -2 * z, y], [x, y, 0]]),
    ]
