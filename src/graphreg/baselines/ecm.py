"""ECM: expectation conditional maximisation for point registration (ECMPR), rigid.

R. Horaud, F. Forbes, M. Yguel, G. Dewaele, J. Zhang: Rigid and articulated point registration with expectation
conditional maximization. IEEE TPAMI 33(3), 2011.

The source points x_i are the centres of a mixture of Gaussians that share a full covariance S; a uniform class accounts
for outliers. The expected negative log-likelihood

    1/2 sum_ij p_ij ( |y_j - T x_i|_S^2 + log det S ),    |v|_S^2 = v^T S^-1 v

is minimised in three conditional steps: the p_ij, then T for fixed S, then S for fixed T. Deviation from the paper: it
finds the rotation by a semidefinite relaxation; here Gauss-Newton descends from the current rotation and from the
solution for S = I, and the better result is taken.
"""

from __future__ import annotations

from collections.abc import Callable
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
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import fit_rigid_transform, pose, rotation_from_vector, transform


@dataclass(frozen=True)
class EcmConstants:
    """Constants of ECM that are not settings.

    Attributes
    ----------
    regularisation : float
        Added to the diagonal of the covariance so that it cannot become singular, as in the paper; in squared spreads
        of the clouds (chosen).
    max_rotation_steps : int
        Gauss-Newton steps for one rotation, at most (chosen).
    min_rotation : float
        A rotation has converged where a step is smaller than this, in radians (chosen: rounding).
    """

    regularisation: float = 1e-8
    max_rotation_steps: int = 50
    min_rotation: float = 1e-12


CONSTANTS = EcmConstants()

GENERATORS = np.cross(np.eye(3)[:, None], np.eye(3)[None]).transpose(0, 2, 1)
"""Generators of rotations: e_k x v = GENERATORS[k] v."""


@dataclass(frozen=True)
class EcmSettings(BaselineSettings):
    """Settings of ECM.

    Parameters
    ----------
    max_iterations : int, default 100
        Number of iterations, at most: maxNumIter of the paper's comparison.
    radius : float, default 3
        r: a data point farther than this from all components is more likely an outlier; in voxels.
    tolerance : float, default 1e-7
        Converged where no point moves by more than this share of the spread of the clouds.
    """

    max_iterations: int = 100
    radius: float = 3.0
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count("max_iterations")
        self._require_share("tolerance")
        self._require_positive("radius")


def register_ecm(
    source: Floats,
    target: Floats,
    settings: EcmSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by expectation conditional maximisation (Horaud et al. 2011).

    The energy in the history is the negative log-likelihood of the data, up to a constant.

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
    >>> result = graphreg.register(pair.source, pair.target, method="ecm", max_iterations=50)
    >>> result.success
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback, MIXTURE_VOXELS)
    clouds = mixture_clouds(run, settings.features, seed)
    x, y, unit = clouds.source, clouds.target, clouds.unit
    # Density of the uniform class relative to a component: that of one point in a ball of the radius.
    uniform = 1.5 * np.sqrt(2 * np.pi) / (settings.radius * run.voxel / unit) ** 3

    def expectation(estimate: Floats, covariance: Floats) -> tuple[Responsibilities, float]:
        """E-step: responsibilities and the negative log-likelihood."""
        # In whitened coordinates, where the covariance is the identity, Euclidean distances are |v|_S.
        whitening = np.linalg.inv(np.linalg.cholesky(covariance)).T
        volume = float(np.sqrt(np.linalg.det(covariance)))
        found = expectation_step(
            transform(estimate, x) @ whitening, y @ whitening, 1.0, uniform * volume, threads, clouds.prior
        )
        posterior = Responsibilities(
            found.component_sums, found.data_sums, found.means @ np.linalg.inv(whitening), found.log_likelihood
        )
        return posterior, float(len(y) * np.log(volume) - found.log_likelihood)

    estimate = np.eye(4)
    covariance: Floats = np.eye(3) * mean_squared_distance(x, y) / 3
    posterior, _ = expectation(estimate, covariance)
    for _ in range(settings.max_iterations):
        if not posterior.component_sums.any():
            break
        previous = transform(estimate, x)
        # First conditional M-step: T for fixed S.
        metric: Floats = np.asarray(np.linalg.inv(covariance), np.float64)
        estimate = fit_in_metric(x, posterior.means, posterior.component_sums, metric, estimate[:3, :3])
        # Second conditional M-step: S for fixed T.
        moved = transform(estimate, x)
        covariance = _positive_semidefinite(posterior.scatter(moved, y)) + CONSTANTS.regularisation * np.eye(3)
        posterior, objective = expectation(estimate, covariance)
        if run.record(rescale_translation(estimate, unit), objective):
            break
        if np.abs(moved - previous).max() <= settings.tolerance:
            break
    return run.outcome()


def fit_in_metric(source: Floats, target: Floats, weights: Floats, metric: Floats, rotation: Floats) -> Floats:
    """Find the rigid T that minimises sum_i w_i (y_i - T x_i)^T M (y_i - T x_i).

    With both clouds centred the sum is tr(M (R Q R^T - 2 R C)) up to a constant, with the 3x3 matrices
    Q = sum_i w_i x_i x_i^T and C = sum_i w_i x_i y_i^T: the cost of a step does not depend on the number of points.

    Parameters
    ----------
    source, target : (N, 3) ndarray
        Corresponding points x_i and y_i.
    weights : (N,) ndarray
        w_i.
    metric : (3, 3) ndarray
        M, symmetric and positive definite.
    rotation : (3, 3) ndarray
        Where the search starts; it also starts from the solution for M = I.

    Returns
    -------
    (4, 4) ndarray
    """
    shares = weights / weights.sum()
    source_mean, target_mean = shares @ source, shares @ target
    x, y = source - source_mean, target - target_mean
    spread, mixed = (x * shares[:, None]).T @ x, (x * shares[:, None]).T @ y

    def cost(rotation: Floats) -> float:
        return float(np.trace(metric @ (rotation @ spread @ rotation.T - 2 * rotation @ mixed)))

    starts = (rotation, fit_rigid_transform(x, y, weights)[:3, :3])
    best = min((_descend(cost, start, spread, mixed, metric) for start in starts), key=cost)
    return pose(best, target_mean - best @ source_mean)


def _descend(
    cost: Callable[[Floats], float], rotation: Floats, spread: Floats, mixed: Floats, metric: Floats
) -> Floats:
    """Gauss-Newton on SO(3), each step halved until it does not raise the cost."""
    for _ in range(CONSTANTS.max_rotation_steps):
        rotated = rotation @ spread @ rotation.T
        slope = (rotated - rotation @ mixed) @ metric
        gradient = np.array([slope[1, 2] - slope[2, 1], slope[2, 0] - slope[0, 2], slope[0, 1] - slope[1, 0]])
        hessian = np.array([[np.trace(a @ rotated @ b.T @ metric) for b in GENERATORS] for a in GENERATORS])
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
        current = cost(rotation)
        while np.linalg.norm(step) > CONSTANTS.min_rotation and cost(rotation_from_vector(step) @ rotation) > current:
            step = step / 2
        if np.linalg.norm(step) <= CONSTANTS.min_rotation:
            break
        rotation = rotation_from_vector(step) @ rotation
    return rotation


def _positive_semidefinite(matrix: Floats) -> Floats:
    """The symmetric part, without the negative eigenvalues that rounding can cause."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)
