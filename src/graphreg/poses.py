"""Rigid transforms as 4x4 matrices, x_target = T x_source with det(R) = +1: the group SE(3).

A similarity has s R in place of R: it scales by s > 0 as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphreg.clouds import Cloud, Floats, as_floats, with_unit_scale
from graphreg.errors import InputError
from graphreg.meshes.triangle_mesh import Mesh

# Chosen: the largest element of R R^T - I that is accepted from a user; files store poses with six digits or so.
RIGID_TOLERANCE = 1e-4

# Chosen: the largest element of R R^T - I of a rotation of which no digit was rounded off.
ROUNDING = 1e-12

# Names of normals in PLY and OFF, in PCD, and in E57.
NORMAL_ATTRIBUTES = (
    ("nx", "ny", "nz"),
    ("normal_x", "normal_y", "normal_z"),
    ("nor:normalX", "nor:normalY", "nor:normalZ"),
)


def pose(rotation: ArrayLike, translation: ArrayLike) -> Floats:
    """The rigid transform x -> R x + t as a matrix.

    Parameters
    ----------
    rotation : (3, 3) array_like
    translation : (3,) array_like

    Returns
    -------
    (4, 4) ndarray

    Examples
    --------
    >>> pose(np.eye(3), [1, 2, 3])
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


def as_pose(value: Any, name: str = "init", tolerance: float = RIGID_TOLERANCE) -> Floats:
    """Validate a rigid transform, and make its rotation orthogonal to rounding.

    Parameters
    ----------
    value : (4, 4) array_like or tensor
    name : str, default "init"
        Name of the argument in error messages.
    tolerance : float, default 1e-4
        The largest element of R R^T - I that is accepted.

    Returns
    -------
    (4, 4) ndarray

    Raises
    ------
    InputError
        Where `value` is no matrix of that shape, not finite, or has scale, shear or a reflection.
    """
    matrix = as_floats(value, name, "a 4x4 matrix of numbers")
    if matrix.shape != (4, 4):
        raise InputError(f"{name}: expected a 4x4 matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise InputError(f"{name}: expected finite numbers, got\n{matrix}")
    if np.abs(matrix[3] - [0, 0, 0, 1]).max() > tolerance:
        raise InputError(f"{name}: expected 0 0 0 1 as the last row, got {matrix[3]}")
    linear = matrix[:3, :3]
    # The first, as the square of a large number is infinite.
    if np.abs(linear).max() > 2 or np.abs(linear @ linear.T - np.eye(3)).max() > tolerance:
        raise InputError(f"{name}: expected a rotation without scale or shear, got\n{linear}")
    if np.linalg.det(linear) < 0:
        raise InputError(f"{name}: expected a rotation, got a reflection (determinant -1)")
    return pose(nearest_rotation(linear), matrix[:3, 3])


def as_poses(value: Any, name: str = "poses", similarity: bool = False) -> Floats:
    """Validate one rigid transform or several.

    Parameters
    ----------
    value : (4, 4) or (N, 4, 4) array_like or tensor
    name : str, default "poses"
        Name of the argument in error messages.
    similarity : bool, default False
        Whether they may have a scale.

    Returns
    -------
    (N, 4, 4) ndarray
        The matrices as they are; `as_pose` makes one orthogonal.

    Raises
    ------
    InputError
        Where one of them is no rigid transform, see `as_pose`.
    """
    array = as_floats(value, name, "4x4 matrices of numbers")
    if array.ndim not in (2, 3) or array.shape[-2:] != (4, 4) or not len(array):
        raise InputError(f"{name}: expected shape (4, 4) or (N, 4, 4), got {array.shape}")
    matrices = array.reshape(-1, 4, 4)
    for number, matrix in enumerate(matrices):
        label = name if len(matrices) == 1 else f"{name}[{number}]"
        (as_similarity if similarity else as_pose)(matrix, label)
    return matrices


def as_similarity(value: Any, name: str = "init", tolerance: float = RIGID_TOLERANCE) -> Floats:
    """Validate a similarity: a rotation and a translation with a positive scale.

    Parameters
    ----------
    value : (4, 4) array_like or tensor
    name : str, default "init"
        Name of the argument in error messages.
    tolerance : float, default 1e-4
        As in `as_pose`, after division by the scale. A scale that differs less from 1 is taken for a rounding error,
        unless the rotation has all its digits.

    Returns
    -------
    (4, 4) ndarray
        With a rotation that is orthogonal to rounding.

    Raises
    ------
    InputError
        Where `value` is no matrix of that shape, not finite, or has shear, a reflection or no scale above 0.

    Examples
    --------
    >>> as_similarity(np.diag([2, 2, 2, 1]), "transformation")[:3, :3]
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    matrix = as_floats(value, name, "a 4x4 matrix of numbers")
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
        return as_pose(matrix, name)  # which refuses it
    scale = scale_of(matrix)
    if not scale > 0:
        return as_pose(matrix, name, tolerance)
    rigid = matrix.copy()
    rigid[:3, :3] /= scale
    skew = float(np.abs(rigid[:3, :3] @ rigid[:3, :3].T - np.eye(3)).max())
    if abs(scale - 1) <= (tolerance if skew > ROUNDING else ROUNDING):
        return as_pose(matrix, name, tolerance)
    checked = as_pose(rigid, name, tolerance)
    return pose(scale * checked[:3, :3], checked[:3, 3])


def scale_of(transformation: ArrayLike) -> float:
    """The scale of a similarity, the cube root of the determinant of s R; 1 of a rigid transform up to rounding.

    Parameters
    ----------
    transformation : (4, 4) array_like

    Returns
    -------
    float
    """
    linear = np.asarray(transformation, np.float64)[:3, :3]
    # In units of its largest entry, as the product of three large numbers is infinite.
    largest = float(np.abs(linear).max())
    return largest * float(np.cbrt(np.linalg.det(linear / largest))) if largest else 0.0


def split_similarity(transformation: ArrayLike) -> tuple[float, Floats]:
    """A similarity as a scale and the rigid transform that follows it: T x = R (s x) + t.

    Parameters
    ----------
    transformation : (4, 4) array_like

    Returns
    -------
    scale : float
    rigid : (4, 4) ndarray

    Examples
    --------
    >>> scale, rigid = split_similarity([[0, -2, 0, 5], [2, 0, 0, 6], [0, 0, 2, 7], [0, 0, 0, 1]])
    >>> scale
    2.0
    >>> rigid[:3, 3]
    array([5., 6., 7.])
    """
    matrix = np.asarray(transformation, np.float64)
    scale = scale_of(matrix)
    return scale, pose(matrix[:3, :3] / scale, matrix[:3, 3])


def inverse_similarity(transformation: ArrayLike) -> Floats:
    """The inverse of a similarity or, up to the last bit as `inverse` has it, of a rigid transform.

    Parameters
    ----------
    transformation : (4, 4) array_like
        T_target_source.

    Returns
    -------
    (4, 4) ndarray
        T_source_target.
    """
    scale, rigid = split_similarity(transformation)
    if abs(scale - 1) <= ROUNDING:
        return inverse(transformation)
    back = inverse(rigid)
    return pose(back[:3, :3] / scale, back[:3, 3] / scale)


def nearest_rotation(matrix: ArrayLike) -> Floats:
    """The rotation closest to a 3x3 matrix in the Frobenius norm.

    Parameters
    ----------
    matrix : (..., 3, 3) array_like

    Returns
    -------
    (..., 3, 3) ndarray
    """
    u, _, vt = np.linalg.svd(np.asarray(matrix, np.float64))
    u[..., 2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))[..., None]
    return np.asarray(u @ vt)


def rotation_from_vector(vector: ArrayLike) -> Floats:
    """The rotation about the direction of a vector by its length in radians (Rodrigues' formula).

    Parameters
    ----------
    vector : (3,) array_like

    Returns
    -------
    (3, 3) ndarray

    Examples
    --------
    >>> rotation_from_vector([0, 0, np.pi / 2]).round()
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    v = np.asarray(vector, np.float64)
    angle = float(np.linalg.norm(v))
    x, y, z = v.tolist()
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    # sin(a)/a and (1 - cos(a))/a^2, both without a division by zero and without cancellation
    first, second = _sinc(angle), 0.5 * _sinc(angle / 2) ** 2
    return np.asarray(np.eye(3) + first * cross + second * (cross @ cross))


def _sinc(angle: float) -> float:
    return math.sin(angle) / angle if angle else 1.0


def inverse(transformation: ArrayLike) -> Floats:
    """The inverse of a rigid transform.

    Parameters
    ----------
    transformation : (4, 4) array_like
        T_target_source.

    Returns
    -------
    (4, 4) ndarray
        T_source_target.
    """
    matrix = np.asarray(transformation, np.float64)
    rotation = matrix[:3, :3].T
    return pose(rotation, -rotation @ matrix[:3, 3])


def transform(transformation: ArrayLike, points: ArrayLike) -> Floats:
    """Apply a rigid transform or a similarity to points.

    Parameters
    ----------
    transformation : (4, 4) array_like
    points : (N, 3) array_like

    Returns
    -------
    (N, 3) ndarray

    Examples
    --------
    >>> transform(pose(np.eye(3), [1, 2, 3]), [[0, 0, 0], [1, 0, 0]])
    array([[1., 2., 3.],
           [2., 2., 3.]])
    """
    matrix = np.asarray(transformation, np.float64)
    result = np.asarray(points, np.float64) @ matrix[:3, :3].T
    result += matrix[:3, 3]
    return np.asarray(result)


def transform_cloud(transformation: ArrayLike, cloud: Cloud) -> Cloud:
    """Apply a rigid transform or a similarity to a cloud: to its points, its mesh, and to normals among its attributes.

    Parameters
    ----------
    transformation : (4, 4) array_like
    cloud : Cloud

    Returns
    -------
    Cloud
        All other attributes are as they were.
    """
    matrix = np.asarray(transformation, np.float64)
    attributes = dict(cloud.attributes)
    scale = scale_of(matrix)
    # A rigid transform of a file may be rounded; normals keep their length up to that.
    rotation = matrix[:3, :3] if abs(scale - 1) <= RIGID_TOLERANCE else matrix[:3, :3] / scale
    for names in NORMAL_ATTRIBUTES:
        if all(name in attributes and attributes[name].ndim == 1 for name in names):
            normals = np.stack([attributes[name] for name in names], axis=1) @ rotation.T
            attributes |= {name: normals[:, i].astype(attributes[name].dtype) for i, name in enumerate(names)}
    mesh = None if cloud.mesh is None else transform_mesh(matrix, cloud.mesh)
    return replace(cloud, points=transform(matrix, cloud.points), attributes=attributes, mesh=mesh)


def transform_mesh(transformation: ArrayLike, mesh: Mesh) -> Mesh:
    """Apply a rigid transform or a similarity to a mesh: to its vertices, and to normals among their attributes.

    Parameters
    ----------
    transformation : (4, 4) array_like
    mesh : Mesh

    Returns
    -------
    Mesh
        With the same faces.

    Examples
    --------
    >>> triangle = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> transform_mesh(pose(np.eye(3), [0, 0, 5]), triangle).vertices[:, 2]
    array([5., 5., 5.])
    """
    corners = Cloud(mesh.vertices, np.ones(len(mesh.vertices), bool), mesh.attributes)
    moved = transform_cloud(transformation, corners)
    return Mesh(moved.points, mesh.faces, moved.attributes)


def fit_rigid_transform(source: Floats, target: Floats, weights: Floats | None = None) -> Floats:
    """The rigid transform T that minimises sum_i w_i |T x_i - y_i|^2: the weighted Kabsch algorithm.

    Parameters
    ----------
    source, target : (..., N, 3) ndarray
        The points x_i and y_i, in correspondence by row; of one pair of clouds or of several.
    weights : (..., N) ndarray, optional
        The weights w_i, not negative and not all zero; by default equal.

    Returns
    -------
    (..., 4, 4) ndarray
        T_target_source.

    References
    ----------
    W. Kabsch, A solution for the best rotation to relate two sets of vectors, Acta Crystallographica A32, 1976.
    K. S. Arun, T. S. Huang, S. D. Blostein, Least-squares fitting of two 3-D point sets, PAMI 9(5), 1987.

    Examples
    --------
    >>> source = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> fit_rigid_transform(source, source + [1, 2, 3])[:3, 3].round(12)
    array([1., 2., 3.])
    """
    weights = np.ones(source.shape[-2]) if weights is None else weights
    normalised = (weights / weights.sum(axis=-1, keepdims=True))[..., None, :]
    source_mean, target_mean = normalised @ source, normalised @ target
    weighted = (source - source_mean) * normalised.swapaxes(-1, -2)
    rotation = nearest_rotation((target - target_mean).swapaxes(-1, -2) @ weighted)
    fitted = np.zeros((*rotation.shape[:-2], 4, 4))
    fitted[..., :3, :3] = rotation
    fitted[..., :3, 3] = (target_mean - source_mean @ rotation.swapaxes(-1, -2))[..., 0, :]
    fitted[..., 3, 3] = 1
    return fitted


def fit_similarity(
    source: Floats,
    target: Floats,
    weights: Floats | None = None,
    limits: tuple[float, float] = (0.0, math.inf),
) -> Floats:
    """The similarity T that minimises sum_i w_i |T x_i - y_i|^2, in closed form.

    Parameters
    ----------
    source, target : (N, 3) ndarray
        The points x_i and y_i, in correspondence by row.
    weights : (N,) ndarray, optional
        The weights w_i, not negative and not all zero; by default equal.
    limits : pair of float, optional
        Smallest and largest scale; by default any.

    Returns
    -------
    (4, 4) ndarray
        T_target_source; with scale 1, within the limits, where all x_i coincide or the best scale is not positive.

    References
    ----------
    S. Umeyama, Least-squares estimation of transformation parameters between two point patterns, PAMI 13(4), 1991.

    Examples
    --------
    >>> source = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> fit_similarity(source, 3 * source)[:3, :3].round(12) + 0.0
    array([[3., 0., 0.],
           [0., 3., 0.],
           [0., 0., 3.]])
    """
    w = np.full(len(source), 1 / len(source)) if weights is None else weights / weights.sum()
    source_mean, target_mean = w @ source, w @ target
    x, y = source - source_mean, target - target_mean
    rotation = nearest_rotation(y.T @ (x * w[:, None]))
    variance, covariance = float(w @ (x**2).sum(axis=1)), float(w @ (y * (x @ rotation.T)).sum(axis=1))
    scale = float(np.clip(covariance / variance if variance > 0 and covariance > 0 else 1.0, *limits))
    return pose(scale * rotation, target_mean - scale * rotation @ source_mean)


def principal_frame(points: Floats) -> Floats:
    """The transform to the frame of a cloud's centroid and principal axes.

    A voxel grid in that frame moves with the cloud. Each axis points in the direction of positive skewness: to where
    the cloud extends farther, by the third moment.

    Parameters
    ----------
    points : (N, 3) ndarray

    Returns
    -------
    (4, 4) ndarray
        T_principal_cloud.
    """
    centre = points.mean(axis=0)
    centred = points - centre
    axes = np.linalg.eigh(centred.T @ centred)[1]
    axes *= np.where(np.sum(with_unit_scale(centred @ axes) ** 3, axis=0) < 0, -1.0, 1.0)
    axes[:, 0] = np.cross(axes[:, 1], axes[:, 2])
    return pose(axes.T, -axes.T @ centre)


def cross_matrices(vectors: Floats) -> Floats:
    """The skew-symmetric matrices [v] with [v] u = v x u.

    Parameters
    ----------
    vectors : (N, 3) ndarray

    Returns
    -------
    (N, 3, 3) ndarray
    """
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
    """A pose graph: poses of scans, and relative transforms between pairs of them.

    Attributes
    ----------
    poses : (N, 4, 4) ndarray
        T_world_scan of each scan.
    pairs : (E, 2) ndarray of int
        Source and target of each edge.
    transforms : (E, 4, 4) ndarray
        T_target_source of each edge.
    information : (E, 6, 6) ndarray
        The inverse of the covariance of a small transform on the left of each T_target_source, in the target's frame:
        rotations about the x, y, z axes (radians), then translations along them.
    """

    poses: Floats
    pairs: NDArray[np.intp]
    transforms: Floats
    information: Floats
