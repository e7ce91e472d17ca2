"""Correspondences that a deformation may have: descriptors that match, and neighbours that keep their distances.

A deformation that hardly stretches keeps the distances between a point and its surroundings. A correspondence is
supported by others nearby whose distance from it is the same in both clouds, and whose normals form the same angle with
its own. A wrong one rarely finds support.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.pyramid import SurfelPyramid, build_pyramids
from graphreg.features.edge_descriptors import mutual_correspondences
from graphreg.poses import inverse, transform


@dataclass(frozen=True)
class CorrespondenceParameters:
    """Constants of local support; all chosen. Lengths are in coarse voxels of the engine.

    Attributes
    ----------
    radius : float
        How far apart correspondences support each other.
    tolerance : float
        How much their distances may differ.
    cosine : float
        How much the cosines between their normals may differ.
    least : int
        Correspondences with fewer supporters are dropped.
    most : int
        More supporters do not count.
    """

    radius: float = 6.0
    tolerance: float = 1.0
    cosine: float = 0.3
    least: int = 3
    most: int = 10


CORRESPONDENCES = CorrespondenceParameters()


@dataclass(frozen=True, eq=False)
class Correspondences:
    """Pairs of points, and their charges.

    Attributes
    ----------
    source, target : (C, 3) ndarray
    charges : (C,) ndarray
        From 0 to 1: the number of supporters.
    tried : int
        Number of correspondences before those without support were dropped.
    """

    source: Floats
    target: Floats
    charges: Floats
    tried: int

    def __len__(self) -> int:
        return len(self.source)


def supported_correspondences(source: PreprocessedCloud, target: PreprocessedCloud, threads: int) -> Correspondences:
    """Match the descriptors of the engine, and keep what neighbours support.

    Parameters
    ----------
    source, target : PreprocessedCloud
    threads : int

    Returns
    -------
    Correspondences
        In the frames of the clouds. The signs of the source's normals that give more support are taken.

    Raises
    ------
    InputError
        If a cloud has too few points, or no surface stands out among them.
    """
    x, y = build_pyramids(source, target, threads=threads, shared=True)  # as `register` has built them
    one = _supported(x, y, threads)
    other = _supported(x.with_reversed_normals(threads), y, threads)
    return one if one.charges.sum() >= other.charges.sum() else other


def _supported(x: SurfelPyramid, y: SurfelPyramid, threads: int) -> Correspondences:
    i, j = mutual_correspondences(x.descriptors, y.descriptors, threads)
    charges = np.minimum(support(x, y, i, j, threads), CORRESPONDENCES.most) / CORRESPONDENCES.most
    kept = charges >= CORRESPONDENCES.least / CORRESPONDENCES.most
    return Correspondences(_in_cloud(x, i[kept]), _in_cloud(y, j[kept]), charges[kept], len(i))


def support(x: SurfelPyramid, y: SurfelPyramid, i: NDArray[Any], j: NDArray[Any], threads: int) -> Floats:
    """Number of correspondences (C,) that support each of the pairs of coarse surfels (i, j)."""
    if not len(i):
        return np.zeros(0)
    constants = CORRESPONDENCES
    points, others = np.ascontiguousarray(x.coarse.points[i]), y.coarse.points[j]
    offsets, near, squared = _core.Tree(points, threads).within(points, constants.radius, threads)
    own = np.repeat(np.arange(len(points)), np.diff(offsets))
    length = np.sqrt(squared)
    agrees = np.abs(np.linalg.norm(others[own] - others[near], axis=1) - length) < constants.tolerance
    normals, other_normals = x.coarse.normals[i], y.coarse.normals[j]
    angle = np.einsum("ij,ij->i", normals[own], normals[near])
    agrees &= np.abs(np.einsum("ij,ij->i", other_normals[own], other_normals[near]) - angle) < constants.cosine
    # A correspondence does not support itself, nor do those so near that every distance agrees.
    agrees &= length > constants.tolerance
    return np.bincount(own[agrees], minlength=len(points)).astype(np.float64)


def _in_cloud(pyramid: SurfelPyramid, rows: NDArray[Any]) -> Floats:
    return transform(inverse(pyramid.T_local_cloud), pyramid.coarse.points[rows] * pyramid.coarse_voxel)
