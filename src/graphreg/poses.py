"""Rigid motions as 4x4 matrices: x_target = T x_source, with det(R) = +1 (the group SE(3))."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphreg.clouds import Cloud, Floats, as_array
from graphreg.errors import InputError

# How far a matrix that a user hands in may be from a rotation: files hold poses with six digits or so.
ROUGHLY = 1e-4

# What normals are called in PLY and OFF, in PCD, and in E57.
NORMALS = (
    ("nx", "ny", "nz"),
    ("normal_x", "normal_y", "normal_z"),
    ("nor:normalX", "nor:normalY", "nor:normalZ"),
)


def pose(rotation: ArrayLike, translation: ArrayLike) -> Floats:
    """The motion x -> R x + t."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


def as_pose(value: Any, name: str = "init", tolerance: float = ROUGHLY) -> Floats:
    """Accept a 4x4 rigid motion, its rotation made orthogonal to rounding; anything else is an InputError.

    tolerance  how far R R^T may be from the identity
    """
    try:
        matrix = np.array(as_array(value), dtype=np.float64)
    except (TypeError, ValueError, RuntimeError, BufferError) as problem:
        raise InputError(f"{name}: expected a 4x4 matrix of numbers, got {type(value).__name__}") from problem
    if matrix.shape != (4, 4):
        raise InputError(f"{name}: expected a 4x4 matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise InputError(f"{name}: expected finite numbers, got\n{matrix}")
    if np.abs(matrix[3] - [0, 0, 0, 1]).max() > tolerance:
        raise InputError(f"{name}: expected 0 0 0 1 as the last row, got {matrix[3]}")
    linear = matrix[:3, :3]
    if np.abs(linear @ linear.T - np.eye(3)).max() > tolerance:
        raise InputError(f"{name}: expected a rotation without scale or shear, got\n{linear}")
    if np.linalg.det(linear) < 0:
        raise InputError(f"{name}: expected a rotation, got a reflection (determinant -1)")
    return pose(nearest_rotation(linear), matrix[:3, 3])


def as_poses(value: Any, name: str = "poses") -> Floats:
    """Accept one rigid motion or several as (N, 4, 4); anything else is an InputError."""
    try:
        array = np.asarray(as_array(value), np.float64)
    except (TypeError, ValueError, RuntimeError, BufferError) as problem:
        raise InputError(f"{name}: expected 4x4 matrices of numbers, got {type(value).__name__}") from problem
    if array.ndim not in (2, 3) or array.shape[-2:] != (4, 4) or not len(array):
        raise InputError(f"{name}: expected shape (4, 4) or (N, 4, 4), got {array.shape}")
    motions = array.reshape(-1, 4, 4)
    for number, motion in enumerate(motions):
        as_pose(motion, name if len(motions) == 1 else f"{name}[{number}]")
    return motions


def nearest_rotation(matrix: ArrayLike) -> Floats:
    """The rotation closest to a 3x3 matrix."""
    u, _, vt = np.linalg.svd(np.asarray(matrix, np.float64))
    u[:, 2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))
    return np.asarray(u @ vt)


def rotation_from_vector(vector: ArrayLike) -> Floats:
    """Rodrigues' formula: the turn about the direction of `vector` by its length in radians."""
    v = np.asarray(vector, np.float64)
    angle = float(np.linalg.norm(v))
    x, y, z = v.tolist()
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    # sin(a)/a and (1 - cos(a))/a^2, both without a division by zero and without cancellation
    first, second = _sine_over(angle), 0.5 * _sine_over(angle / 2) ** 2
    return np.asarray(np.eye(3) + first * cross + second * (cross @ cross))


def _sine_over(angle: float) -> float:
    return math.sin(angle) / angle if angle else 1.0


def inverse(motion: ArrayLike) -> Floats:
    """The motion back."""
    matrix = np.asarray(motion, np.float64)
    back = matrix[:3, :3].T
    return pose(back, -back @ matrix[:3, 3])


def transform(motion: ArrayLike, points: ArrayLike) -> Floats:
    """Moved points, (N, 3)."""
    matrix = np.asarray(motion, np.float64)
    moved = np.asarray(points, np.float64) @ matrix[:3, :3].T
    moved += matrix[:3, 3]
    return np.asarray(moved)


def transform_cloud(motion: ArrayLike, cloud: Cloud) -> Cloud:
    """A moved cloud: normals among its attributes are turned, all else is kept."""
    matrix = np.asarray(motion, np.float64)
    attributes = dict(cloud.attributes)
    for names in NORMALS:
        if all(name in attributes and attributes[name].ndim == 1 for name in names):
            turned = np.stack([attributes[name] for name in names], axis=1) @ matrix[:3, :3].T
            attributes |= {name: turned[:, i].astype(attributes[name].dtype) for i, name in enumerate(names)}
    return replace(cloud, points=transform(matrix, cloud.points), attributes=attributes)


def fit_rigid_transform(source: Floats, target: Floats, weights: Floats | None = None) -> Floats:
    """The motion T that minimises sum_i w_i |T x_i - y_i|^2 (Arun, Huang, Blostein 1987; Kabsch 1976).

    source, target  (N, 3), paired by row
    weights         (N,), not negative, not all zero; by default all alike
    """
    shares = np.full(len(source), 1 / len(source)) if weights is None else weights / weights.sum()
    here, there = shares @ source, shares @ target
    covariance = (target - there).T @ ((source - here) * shares[:, None])
    rotation = nearest_rotation(covariance)
    return pose(rotation, there - rotation @ here)


def principal_frame(cloud: Floats) -> Floats:
    """The motion to the centroid and principal axes of a cloud, so that a grid laid there moves with the cloud.

    Axes point to where the cloud reaches farther, by the third moment.
    """
    centre = cloud.mean(axis=0)
    arms = cloud - centre
    axes = np.linalg.eigh(arms.T @ arms)[1]
    axes *= np.where(np.sum((arms @ axes) ** 3, axis=0) < 0, -1.0, 1.0)
    axes[:, 0] = np.cross(axes[:, 1], axes[:, 2])
    return pose(axes.T, -axes.T @ centre)


def cross_matrices(vectors: Floats) -> Floats:
    """The matrices [v] with [v] u = v x u."""
    x, y, z = vectors.T
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)


def adjoint(transforms: Floats) -> Floats:
    """The adjoint of SE(3): how a small transform changes when it is expressed in another frame.

    For twists x = (rotation vector, translation), T exp(x) T^-1 = exp(Ad_T x) with

        Ad_T = [  R    0 ]
               [ [t]R  R ]

    With R = I it moves the rotation centre: a twist whose rotation is about the point c becomes the same small
    transform as a rotation about c - t and a translation.

    Parameters
    ----------
    transforms : (4, 4) or (N, 4, 4) ndarray
        One transform T, or several.

    Returns
    -------
    (6, 6) or (N, 6, 6) ndarray
    """
    stack = transforms.reshape(-1, 4, 4)
    rotation = stack[:, :3, :3]
    result = np.zeros((len(stack), 6, 6))
    result[:, :3, :3] = result[:, 3:, 3:] = rotation
    result[:, 3:, :3] = cross_matrices(stack[:, :3, 3]) @ rotation
    return result.reshape(*transforms.shape[:-2], 6, 6)


@dataclass(frozen=True, eq=False)
class PoseGraph:
    """Poses, and motions between them.

    poses        (N, 4, 4): x_world = P x
    pairs        (E, 2): source and target of each edge
    transforms   (E, 4, 4): x_target = Z x_source
    information  (E, 6, 6): the inverse of the covariance of a small motion after Z: turns about the target's x, y, z
                 axes (radians), then shifts along them
    """

    poses: Floats
    pairs: NDArray[np.intp]
    transforms: Floats
    information: Floats
