"""Alignment of corresponding points: in closed form for point-to-point, one Gauss-Newton step for point-to-plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.poses import nearest_rotation, pose, rotation_from_vector

DEGENERATE = 1e-12
"""Eigenvalues of the normal equations below this share of the largest are zero up to rounding (derived)."""


def align_point_to_point(
    points: Floats,
    target: Floats,
    nearest: NDArray[np.int32],
    rows: NDArray[np.int64],
    weights: Floats | None,
    threads: int,
) -> Floats:
    """Align corresponding points in closed form, without copying them.

    The same as `graphreg.poses.fit_rigid_transform` for the correspondences (points[i], target[nearest[i]]), i of
    `rows`: the rigid T that minimises sum_i w_i |T x_i - y_i|^2.

    Parameters
    ----------
    points : (N, 3) ndarray
    target : (M, 3) ndarray
    nearest : (N,) ndarray of int32
        Row of `target` that corresponds to each point.
    rows : (K,) ndarray of int64
        The correspondences to use.
    weights : (K,) ndarray or None
        Weights w; None: all equal.
    threads : int

    Returns
    -------
    (4, 4) ndarray
    """
    moments = _core.moments_of_pairs(points, target, nearest, rows, weights, threads)
    source_mean, target_mean = moments[:3], moments[3:6]
    rotation = nearest_rotation(moments[6:].reshape(3, 3))
    return pose(rotation, target_mean - rotation @ source_mean)


def align_point_to_plane(
    points: Floats,
    target: Floats,
    normals: Floats,
    nearest: NDArray[np.int32],
    rows: NDArray[np.int64],
    weights: Floats | None,
    threads: int,
) -> tuple[float, Floats]:
    """Take one Gauss-Newton step on the point-to-plane distance, from the identity (Chen, Medioni 1992).

    The objective is the sum of w_i (n_i . (T x_i - y_i))^2 over the number of correspondences. Degenerate directions,
    which the planes do not constrain, are left unchanged.

    Parameters
    ----------
    points : (N, 3) ndarray
    target, normals : (M, 3) ndarray
    nearest : (N,) ndarray of int32
        Row of `target` that corresponds to each point.
    rows : (K,) ndarray of int64
        The correspondences to use.
    weights : (K,) ndarray or None
        Weights w; None: all 1.
    threads : int

    Returns
    -------
    objective : float
        Before the step.
    step : (4, 4) ndarray
    """
    chosen = points if len(rows) == len(points) else points[rows]
    centre = chosen.mean(axis=0)
    # Rotations are measured by the arc at the RMS radius: then all six unknowns are lengths.
    radius = float(np.sqrt(chosen.var(axis=0).sum())) or 1.0
    sums = _core.sum_plane_pairs(points, target, normals, nearest, rows, weights, centre, radius, threads)
    hessian = np.zeros((6, 6))
    hessian[np.triu_indices(6)] = sums[:21]
    values, vectors = np.linalg.eigh(hessian, UPLO="U")
    constrained = values > DEGENERATE * max(values[-1], np.finfo(float).tiny)
    directions = vectors[:, constrained]
    solution = directions @ ((directions.T @ sums[21:27]) / values[constrained])
    rotation = rotation_from_vector(solution[:3] / radius)
    return float(sums[27]) / len(rows), pose(rotation, centre - rotation @ centre + solution[3:])


def rotation_vector(rotation: Floats) -> Floats:
    """Return the rotation vector of a rotation matrix: axis times angle in radians.

    Parameters
    ----------
    rotation : (3, 3) ndarray

    Returns
    -------
    (3,) ndarray
    """
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(nearest_rotation(rotation)).as_rotvec())
