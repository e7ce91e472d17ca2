"""Symmetry of a part: the rotations that map it onto itself as well as the identity does.

They leave its centroid where it is, so that the rotations about it can all be tried. Lengths are in coarse voxels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.engine.pose_sets import box_corners, distinct_poses
from graphreg.engine.surfels import Surfels
from graphreg.engine.unsigned_normals import refine_unsigned, unsigned_scores
from graphreg.poses import pose, rotation_from_vector, transform


@dataclass(frozen=True)
class SymmetryParameters:
    """Constants of the search for symmetries; all chosen. Lengths in coarse voxels.

    Attributes
    ----------
    rotations : int
        Rotations that are tried, about 15 degrees apart;
    scored_surfels : int
        with so many surfels of the part.
    coarse_reach, coarse_score : float
        Distance at which a surfel no longer counts for the score, and the score from which on a rotation is refined.
    max_refined, max_order : int
        Rotations that are refined at most, and symmetries found at most; those of the icosahedron are 60.
    reach, cosine : float
        A surfel that is mapped this close to another, with a normal that agrees this well, is supported.
    most_bare : float
        A rotation is a symmetry if there are no more fine surfels, as a share, around which most are not supported: a
        small feature of the part breaks its symmetry, single surfels do not.
    kernel : tuple of float
        Widths of the robust kernel in the steps of refinement.
    distinct : float
        Rotations that move no corner of the part farther apart are one.
    turns : tuple of float
        Angles, in radians, that all have to be symmetries of a body of revolution.
    """

    rotations: int = 3_500
    scored_surfels: int = 120
    coarse_reach: float = 3.0
    coarse_score: float = 0.65
    max_refined: int = 128
    max_order: int = 60
    reach: float = 1.5
    cosine: float = 0.5
    most_bare: float = 0.004
    kernel: tuple[float, ...] = (2.0, 2.0, 1.5, 1.5, 1.0, 1.0, 0.7)
    distinct: float = 4.0
    turns: tuple[float, ...] = (0.4, 1.0, 1.7, 2.3, 2.9)


SYMMETRY = SymmetryParameters()


@dataclass(frozen=True, eq=False)
class Symmetry:
    """The rotations of a part onto itself.

    Attributes
    ----------
    poses : (K, 4, 4) ndarray
        The identity, and the other symmetries; of a body of revolution, the identity and at most one that reverses
        its axis.
    axes : (A, 3) ndarray
        Directions about which every rotation is a symmetry: none, one, or three of a sphere.
    """

    poses: Floats
    axes: Floats


def find_symmetry(coarse: Surfels, fine: Surfels, factor: float, threads: int = 1) -> Symmetry:
    """Return the symmetry of a part; the signs of its normals do not matter.

    Parameters
    ----------
    coarse, fine : Surfels
        Of the part; lengths in coarse and in fine voxels.
    factor : float
        Coarse over fine voxel size.
    threads : int, default 1
    """
    centre, corners = coarse.points.mean(axis=0), box_corners(coarse.points)
    identity = np.eye(4)[None]

    def are_symmetries(poses: Floats) -> Mask:
        return np.array([_bare_share(T, fine, factor, threads) <= SYMMETRY.most_bare for T in poses], bool)

    axes = _axes_of_revolution(coarse, centre, are_symmetries)
    if len(axes) == 3:
        return Symmetry(identity, axes)
    if len(axes) == 1:
        across = np.cross(axes[0], np.eye(3)[np.argmin(np.abs(axes[0]))])
        proposed = rotation_about(np.pi * across / np.linalg.norm(across), centre)[None]
    else:
        proposed = _best_rotations(coarse, centre, corners, threads)
    refined = refine_unsigned(proposed, coarse, coarse, SYMMETRY.kernel, SYMMETRY.coarse_reach, threads)
    refined = refined[distinct_poses(refined, corners, SYMMETRY.distinct, SYMMETRY.max_refined)]
    together = np.concatenate([identity, refined[are_symmetries(refined)]])
    return Symmetry(together[distinct_poses(together, corners, SYMMETRY.distinct, SYMMETRY.max_order)], axes)


def rotation_about(vector: Floats, centre: Floats) -> Floats:
    """Return the rotation about a centre by a rotation vector."""
    rotation = rotation_from_vector(vector)
    return pose(rotation, centre - rotation @ centre)


def uniform_rotations(count: int) -> Floats:
    """Return (count, 3, 3) rotations that cover all rotations evenly: super-Fibonacci spirals (Alexa 2022)."""
    s = (np.arange(count) + 0.5) / count
    alpha, beta = 2 * np.pi * count * s / np.sqrt(2), 2 * np.pi * count * s / 1.533751168755204288118041
    low, high = np.sqrt(s), np.sqrt(1 - s)
    x, y, z, w = low * np.sin(alpha), low * np.cos(alpha), high * np.sin(beta), high * np.cos(beta)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.asarray(np.moveaxis(np.array(rows), 2, 0))


def _axes_of_revolution(surfels: Surfels, centre: Floats, are_symmetries: Callable[[Floats], Mask]) -> Floats:
    # On a body of revolution no rotation about the axis moves a surfel along its normal.
    moments = np.cross(surfels.points - centre, surfels.normals)
    directions = np.linalg.eigh(moments.T @ moments)[1].T
    axes = [
        axis
        for axis in directions
        if are_symmetries(np.array([rotation_about(angle * axis, centre) for angle in SYMMETRY.turns])).all()
    ]
    # Two such axes make a sphere.
    return directions if len(axes) > 1 else np.array(axes).reshape(-1, 3)


def _best_rotations(surfels: Surfels, centre: Floats, corners: Floats, threads: int) -> Floats:
    rotations = uniform_rotations(SYMMETRY.rotations)
    proposed = np.tile(np.eye(4), (len(rotations), 1, 1))
    proposed[:, :3, :3], proposed[:, :3, 3] = rotations, centre - rotations @ centre
    few = slice(None, None, -(-len(surfels) // SYMMETRY.scored_surfels))
    scores = unsigned_scores(proposed, surfels, surfels, SYMMETRY.coarse_reach, threads, few)
    ranked = proposed[np.argsort(-scores, kind="stable")[: np.count_nonzero(scores >= SYMMETRY.coarse_score)]]
    return np.asarray(ranked[distinct_poses(ranked, corners, SYMMETRY.distinct, SYMMETRY.max_refined)])


def _bare_share(T: Floats, fine: Surfels, factor: float, threads: int) -> float:
    """Share of the fine surfels around which most are not mapped onto the part."""
    close = pose(T[:3, :3], factor * T[:3, 3])
    nearest = fine.grid.nearest(transform(close, fine.points), SYMMETRY.reach, threads)
    cosine = np.einsum("ij,ij->i", fine.normals @ T[:3, :3].T, fine.normals[nearest])
    supported = (nearest >= 0) & (np.abs(cosine) >= SYMMETRY.cosine)
    return float((supported[fine.neighbours].mean(axis=1) < 0.5).mean())


def symmetry_in_words(symmetry: Symmetry, T_local_cloud: Floats) -> str:
    """Return the symmetry of a part, axes in the frame of its cloud; empty where it has none."""
    if len(symmetry.axes) == 3:
        return "equivalent under any rotation"
    if len(symmetry.axes) == 1:
        axis = symmetry.axes[0] @ T_local_cloud[:3, :3]
        signed = np.round(axis * (1 if axis[np.argmax(np.abs(axis))] > 0 else -1), 2) + 0.0
        words = f"equivalent under any rotation about ({', '.join(f'{entry:.2f}' for entry in signed)})"
        return words + (", and with the axis reversed" if len(symmetry.poses) > 1 else "")
    return f"{len(symmetry.poses)} equivalent poses" if len(symmetry.poses) > 1 else ""
