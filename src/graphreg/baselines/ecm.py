"""ECM: expectation conditional maximisation for point registration (ECMPR), rigid.

R. Horaud, F. Forbes, M. Yguel, G. Dewaele, J. Zhang: Rigid and articulated point registration with expectation
conditional maximization. IEEE TPAMI 33(3), 2011.

The source points are the centres of a mixture of Gaussians that share a full covariance S; what no Gaussian explains
goes to a uniform class. Minimised over T and S is the expected negative log-likelihood

    1/2 sum_ij p_ij ( |y_j - T x_i|_S^2 + log det S ),    |v|_S^2 = v^T S^-1 v

in three conditional steps: the p_ij, then T for fixed S, then S for fixed T. The paper finds the rotation by a
semidefinite relaxation; here it is found by Gauss-Newton steps from where it is and from the solution for S = I, and
the better one is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.mixtures import (
    CELLS,
    Responsibilities,
    back_to_lengths,
    in_spatial_order,
    mean_squared_distance,
    responsibilities,
    unit_of,
)
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import fit_rigid_transform, pose, rotation_from_vector, transform

# Added to the covariance, as in the paper, so that it cannot become singular; in units of the clouds' spread, squared.
SMALLEST_VARIANCE = 1e-8
# How rotation vectors act: e_k x v = GENERATORS[k] v.
GENERATORS = np.cross(np.eye(3)[:, None], np.eye(3)[None]).transpose(0, 2, 1)
# A rotation is found when a step turns by less than this, in radians.
STILL = 1e-12


@dataclass(frozen=True)
class EcmSettings(BaselineSettings):
    """Settings of ECM.

    max_iterations  maxNumIter of the paper's comparison
    radius          r: a data point farther than this from all components counts as an outlier rather, as a multiple of
                    the voxel
    tolerance       it ends where no point moves by more than this share of the clouds' spread
    """

    max_iterations: int = 100
    radius: float = 3.0
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
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
    """Nothing is drawn at random: the seed changes nothing.

    The energy in the history is the negative log-likelihood of the data, up to a constant.
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback, CELLS)
    unit = unit_of(run.source, run.target)
    x, y = (in_spatial_order(cloud, threads) / unit for cloud in (run.source, run.target))
    # The uniform class, relative to a component: its density is that of one point in a ball of the radius.
    uniform = 1.5 * np.sqrt(2 * np.pi) / (settings.radius * run.voxel / unit) ** 3
    run.described()

    def expect(motion: Floats, covariance: Floats) -> tuple[Responsibilities, float]:
        # In coordinates where the covariance is the identity, distances are those of |v|_S.
        straight = np.linalg.inv(np.linalg.cholesky(covariance)).T
        volume = float(np.sqrt(np.linalg.det(covariance)))
        found = responsibilities(transform(motion, x) @ straight, y @ straight, 1.0, uniform * volume, threads)
        back = Responsibilities(
            found.of_components, found.of_data, found.means @ np.linalg.inv(straight), found.evidence
        )
        return back, float(len(y) * np.log(volume) - found.evidence)

    motion = np.eye(4)
    covariance: Floats = np.eye(3) * mean_squared_distance(x, y) / 3
    shares, _ = expect(motion, covariance)
    for _ in range(settings.max_iterations):
        if not shares.of_components.any():
            break
        before = transform(motion, x)
        metric: Floats = np.asarray(np.linalg.inv(covariance), np.float64)
        motion = fit_points_in_metric(x, shares.means, shares.of_components, metric, motion[:3, :3])
        moved = transform(motion, x)
        covariance = _positive(shares.scatter(moved, y)) + SMALLEST_VARIANCE * np.eye(3)
        shares, objective = expect(motion, covariance)
        if run.step(back_to_lengths(motion, unit), objective):
            break
        if np.abs(moved - before).max() <= settings.tolerance:
            break
    return run.outcome()


def fit_points_in_metric(source: Floats, target: Floats, weights: Floats, metric: Floats, rotation: Floats) -> Floats:
    """The motion T that minimises sum_i w_i (y_i - T x_i)^T metric (y_i - T x_i), searched from `rotation`.

    With both clouds centred the sum is  tr(metric (R Q R^T - 2 R C))  and a constant, with the 3x3 matrices
    Q = sum w x x^T and C = sum w x y^T: its cost does not depend on the number of points.
    """
    shares = weights / weights.sum()
    here, there = shares @ source, shares @ target
    x, y = source - here, target - there
    spread, mixed = (x * shares[:, None]).T @ x, (x * shares[:, None]).T @ y

    def cost(turn: Floats) -> float:
        return float(np.trace(metric @ (turn @ spread @ turn.T - 2 * turn @ mixed)))

    starts = (rotation, fit_rigid_transform(x, y, weights)[:3, :3])
    best = min((_descend(cost, turn, spread, mixed, metric) for turn in starts), key=cost)
    return pose(best, there - best @ here)


def _descend(cost: Callable[[Floats], float], turn: Floats, spread: Floats, mixed: Floats, metric: Floats) -> Floats:
    """Gauss-Newton steps on the sphere of rotations, each halved until it does not raise the cost."""
    for _ in range(50):
        turned = turn @ spread @ turn.T
        slope = (turned - turn @ mixed) @ metric
        gradient = np.array([slope[1, 2] - slope[2, 1], slope[2, 0] - slope[0, 2], slope[0, 1] - slope[1, 0]])
        bend = np.array([[np.trace(a @ turned @ b.T @ metric) for b in GENERATORS] for a in GENERATORS])
        step = -np.linalg.lstsq(bend, gradient, rcond=1e-12)[0]
        now = cost(turn)
        while np.linalg.norm(step) > STILL and cost(rotation_from_vector(step) @ turn) > now:
            step = step / 2
        if np.linalg.norm(step) <= STILL:
            break
        turn = rotation_from_vector(step) @ turn
    return turn


def _positive(matrix: Floats) -> Floats:
    """The matrix, symmetric and without the negative eigenvalues that rounding can leave."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)
