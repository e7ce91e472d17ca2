"""The motion that lays points on their partners: in closed form for points, one linear step for planes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.poses import nearest_rotation, pose, rotation_from_vector


def fit_partners(
    points: Floats,
    target: Floats,
    partner: NDArray[np.int32],
    rows: NDArray[np.int64],
    weights: Floats | None,
    threads: int,
) -> Floats:
    """`fit_rigid_transform` for the pairs (points[i], target[partner[i]]), i of `rows`, without gathering."""
    moments = _core.moments_of_pairs(points, target, partner, rows, weights, threads)
    here, there = moments[:3], moments[3:6]
    rotation = nearest_rotation(moments[6:].reshape(3, 3))
    return pose(rotation, there - rotation @ here)


def step_to_planes(
    points: Floats,
    target: Floats,
    normals: Floats,
    partner: NDArray[np.int32],
    rows: NDArray[np.int64],
    threads: int,
) -> tuple[float, Floats]:
    """One Gauss-Newton step down the mean of (n_i . (T x_i - y_i))^2 from where T is the identity (Chen, Medioni 1992).

    points           (N, 3)
    target, normals  (M, 3)
    partner          (N,): which of these belongs to each point
    rows             the points that count
    Returns the mean as it is, and the motion. Directions in which the planes do not hold the points are left alone.
    """
    chosen = points if len(rows) == len(points) else points[rows]
    middle = chosen.mean(axis=0)
    # Turns are measured as the way they move a typical point: then all six unknowns are lengths.
    reach = float(np.sqrt(chosen.var(axis=0).sum())) or 1.0
    sums = _core.sum_plane_pairs(points, target, normals, partner, rows, middle, reach, threads)
    squares = np.zeros((6, 6))
    squares[np.triu_indices(6)] = sums[:21]
    values, vectors = np.linalg.eigh(squares, UPLO="U")
    held = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
    along = vectors[:, held]
    move = along @ ((along.T @ sums[21:27]) / values[held])
    rotation = rotation_from_vector(move[:3] / reach)
    return float(sums[27]) / len(rows), pose(rotation, middle - rotation @ middle + move[3:])


def vector_from_rotation(rotation: Floats) -> Floats:
    """The rotation vector of a rotation: its axis, as long as its angle in radians."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(nearest_rotation(rotation)).as_rotvec())
