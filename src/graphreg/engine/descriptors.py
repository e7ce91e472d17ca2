"""Descriptors of surfels: distributions of graph signals, invariant under rigid motion; and mutual correspondences.

The paper's V_g is one number, the variation of normals over a point's edges. Here every edge within a few voxels gives
four signals,

    n_i . u,   n_j . u,   n_i . n_j,   (n_i x u) . n_j        u: the unit direction from i to j

and a surfel is described by the distribution of each in three shells around it: 96 numbers. The sign of normals
matters, so they are oriented away from the centroid of the cloud, which moves with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.engine.surfels import Surfels


@dataclass(frozen=True)
class DescriptorParameters:
    """Constants of the descriptors; chosen.

    Attributes
    ----------
    radius : float
        Radius of the outermost shell, in voxels.
    """

    radius: float = 5.5


DESCRIPTORS = DescriptorParameters()

Descriptors = NDArray[np.uint8]
Correspondences = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Indices of source and target surfels, pair by pair."""


def orient_outward(surfels: Surfels) -> Surfels:
    """Return the surfels with normals that point away from the centroid."""
    outward = np.einsum("ij,ij->i", surfels.normals, surfels.points - surfels.points.mean(axis=0))
    return replace(surfels, normals=np.where((outward < 0)[:, None], -surfels.normals, surfels.normals))


def compute_descriptors(surfels: Surfels, threads: int = 1) -> Descriptors:
    """Return the (N, 96) descriptors of surfels with oriented normals."""
    return _core.descriptors(surfels.points, surfels.normals, DESCRIPTORS.radius, threads)


def mutual_correspondences(source: Descriptors, target: Descriptors, threads: int = 1) -> Correspondences:
    """Return the pairs of which each is the other's nearest neighbour in descriptor space."""
    nearest_target, nearest_source = _core.match_descriptors(source, target, threads)
    mutual = np.flatnonzero(nearest_source[nearest_target] == np.arange(len(source)))
    return mutual, nearest_target[mutual]
