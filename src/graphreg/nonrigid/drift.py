"""Coherent point drift: the source as a mixture of Gaussians whose centres move smoothly.

A. Myronenko, X. Song: Point set registration: coherent point drift. IEEE TPAMI 32(12), 2010.

The centres x_i + v(x_i) of N Gaussians with one variance s^2 generate the M target points, or with probability w a
uniform distribution does. The displacement v is smooth: it is a sum of Gaussians of width b with the coefficients C,
and l/2 tr(C^T G C) is added to the negative log-likelihood, which expectation maximisation cannot raise. Here the
Gaussians of v are centred at K inducing points of the source instead of at all N points. They overlap so much that G
has few eigenvalues that matter: with these modes, G = U S U^T and C = U S^(-1/2) A, the penalty is l/2 ||A||^2, and the
maximisation step solves some fifty equations instead of N. The sums of the expectation step are those of the baselines.
No array of all pairs is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.baselines.mixtures import expectation_step, joint_spread
from graphreg.clouds import Floats
from graphreg.nonrigid.relaxation import Relaxation
from graphreg.nonrigid.warps import gaussians
from graphreg.nonrigid.working_cloud import WorkingCloud, voxel_means
from graphreg.poses import transform


@dataclass(frozen=True)
class DriftParameters:
    """Constants of coherent point drift. Lengths are in units of the clouds' spread.

    Width and smoothness are those of its authors, all others chosen.

    Attributes
    ----------
    points : int
        Points of each cloud, at most.
    inducing : int
        K, at most.
    least_mode : float
        Smallest eigenvalue of G that counts, as a share of the largest.
    width : float
        b.
    smoothness : float
        l.
    outliers : float
        w.
    start : float
        s at the beginning, after rigid alignment.
    least : float
        The smallest s, in point spacings.
    iterations : int
        At most.
    tolerance : float
        Converged where the objective does not change by more than this share.
    """

    points: int = 3000
    inducing: int = 300
    least_mode: float = 1e-9
    width: float = 2.0
    smoothness: float = 2.0
    outliers: float = 0.3
    start: float = 0.3
    least: float = 0.5
    iterations: int = 60
    tolerance: float = 1e-5


DRIFT = DriftParameters()


@dataclass(frozen=True, eq=False)
class DriftOutcome:
    """Inducing points and coefficients (K, 3), the width of their Gaussians, and the objective of each iteration.

    `objective` is the last one, for each point of the target.
    """

    centres: Floats
    coefficients: Floats
    width: float
    history: tuple[Relaxation, ...]
    objective: float


def deform_by_drift(
    source: WorkingCloud,
    target: WorkingCloud,
    start: Floats,
    stiffness: float = 1.0,
    threads: int = 1,
    first: float = DRIFT.start,
) -> DriftOutcome:
    """Deform the source onto the target by coherent point drift.

    Parameters
    ----------
    source, target : WorkingCloud
        Lengths in extents of the source.
    start : (4, 4) ndarray
        Rigid transform to begin with.
    stiffness : float, default 1
        Factor of the smoothness.
    threads : int, default 1
    first : float, default 0.3
        s at the beginning, in units of the clouds' spread.

    Returns
    -------
    DriftOutcome
    """
    x, y = (cloud.sample(DRIFT.points).points for cloud in (source, target))
    spread = joint_spread(x, y)
    centres = x if len(x) <= DRIFT.inducing else voxel_means(x, DRIFT.inducing, threads)
    width = DRIFT.width * spread
    modes = _modes(gaussians(centres, centres, width))
    basis = gaussians(x, centres, width) @ modes
    rest = transform(start, x)
    odds = DRIFT.outliers / (1 - DRIFT.outliers) * len(x) / len(y)
    floor = (DRIFT.least * max(source.spacing, target.spacing)) ** 2
    variance = max((first * spread) ** 2, floor)
    smoothness = stiffness * DRIFT.smoothness / spread**2
    amplitudes = np.zeros((modes.shape[1], 3))
    objectives: list[float] = []
    for _ in range(DRIFT.iterations):
        moved = rest + basis @ amplitudes
        uniform = (2 * np.pi * variance) ** 1.5 * odds
        posterior = expectation_step(moved, y, float(np.sqrt(variance)), uniform, threads)
        bending = 0.5 * smoothness * float((amplitudes**2).sum())
        objectives.append(1.5 * len(y) * float(np.log(variance)) - posterior.log_likelihood + bending)
        converged = len(objectives) > 1 and abs(objectives[-2] - objectives[-1]) <= DRIFT.tolerance * abs(
            objectives[-1]
        )
        if converged or not posterior.component_sums.any():
            break
        weights = posterior.component_sums[:, None]
        matrix = basis.T @ (weights * basis) + smoothness * variance * np.eye(len(amplitudes))
        amplitudes = np.linalg.solve(matrix, basis.T @ (weights * (posterior.means - rest)))
        scatter = posterior.scatter(rest + basis @ amplitudes, y)
        variance = max(float(np.trace(scatter)) / 3, floor)
    history = (Relaxation(len(centres), float(np.sqrt(variance)), tuple(objectives)),)
    return DriftOutcome(centres, modes @ amplitudes, width, history, objectives[-1] / len(y))


def _modes(gram: Floats) -> Floats:
    """Coefficients (K, R) of orthonormal displacements: columns of U S^(-1/2) of the eigenvalues that count."""
    values, vectors = np.linalg.eigh(gram)
    counts = values > DRIFT.least_mode * values[-1]
    return np.asarray(vectors[:, counts] / np.sqrt(values[counts]))
