"""Scores and refinement of poses for surfels whose normals have no sign. Lengths are in voxels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.surfels import Surfels
from graphreg.poses import transform


def unsigned_scores(
    poses: Floats, part: Surfels, target: Surfels, reach: float, threads: int = 1, rows: slice = slice(None)
) -> Floats:
    """Return the overlap score (P,) of each pose: the mean over the part's surfels of proximity times |cosine|.

    `rows`: the surfels of the part to score with.
    """
    rotations = poses[:, :3, :3].transpose(0, 2, 1)
    moved = part.points[rows] @ rotations + poses[:, None, :3, 3]
    nearest = target.grid.nearest(np.ascontiguousarray(moved.reshape(-1, 3)), reach, threads)
    nearest = nearest.reshape(moved.shape[:2])
    offset = moved - target.points[nearest]
    proximity = np.maximum(1 - np.einsum("pij,pij->pi", offset, offset) / reach**2, 0)
    cosine = np.abs(np.einsum("pij,pij->pi", part.normals[rows] @ rotations, target.normals[nearest]))
    return np.asarray(np.where(nearest >= 0, proximity * cosine, 0.0).mean(axis=1))


def refine_unsigned(
    poses: Floats, part: Surfels, target: Surfels, kernel: tuple[float, ...], reach: float, threads: int = 1
) -> Floats:
    """Refine poses by point-to-plane steps, one a kernel width; normals face those within reach at the initial pose."""
    dof = _core.DegreesOfFreedom([True] * 6, [0.0] * 3)
    refined = []
    for T in poses:
        normals = face_target(T, part, target, reach, threads).normals
        refined += list(target.grid.refine(T[None], part.points, normals, None, np.array(kernel), dof, threads))
    return np.array(refined).reshape(-1, 4, 4)


def face_target(T: Floats, part: Surfels, target: Surfels, reach: float, threads: int = 1) -> Surfels:
    """Return the part with normals whose signs are those of the target's surfels within reach at a pose."""
    nearest = target.grid.nearest(transform(T, part.points), reach, threads)
    cosine = np.einsum("ij,ij->i", part.normals @ T[:3, :3].T, target.normals[nearest])
    opposite = (nearest >= 0) & (cosine < 0)
    return replace(part, normals=np.where(opposite[:, None], -part.normals, part.normals))
