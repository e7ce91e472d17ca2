"""Descriptors of surfels: distributions of graph signals, invariant under rigid motion; and mutual correspondences.

The paper's V_g is one number, the variation of normals over a point's edges. Here every edge within a few voxels gives
four signals,

    n_i . u,   n_j . u,   n_i . n_j,   (n_i x u) . n_j        u: the unit direction from i to j

and a surfel is described by the distribution of each in three shells around it: 96 numbers. The sign of normals
matters: see `orientation`.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def compute_descriptors(surfels: Surfels, threads: int = 1) -> Descriptors:
    """Return the (N, 96) descriptors of surfels with oriented normals."""
    return _core.descriptors(surfels.points, surfels.normals, DESCRIPTORS.radius, threads)


def nearest_correspondences(
    source: Descriptors, target: Descriptors, threads: int = 1
) -> tuple[Correspondences, Correspondences]:
    """Return nearest neighbours in descriptor space.

    Returns
    -------
    mutual : pair of index arrays
        The pairs of which each is the other's nearest neighbour.
    all : pair of index arrays
        Each surfel of either cloud with its nearest neighbour; every pair once.
    """
    nearest_target, nearest_source = _core.match_descriptors(source, target, threads)
    own = np.arange(len(source))
    is_mutual = nearest_source[nearest_target] == own
    others = np.flatnonzero(nearest_target[nearest_source] != np.arange(len(target)))
    i = np.concatenate([own, nearest_source[others]])
    j = np.concatenate([nearest_target, others.astype(np.int32)])
    return (own[is_mutual], nearest_target[is_mutual]), (i, j)


def mutual_correspondences(source: Descriptors, target: Descriptors, threads: int = 1) -> Correspondences:
    """Return the pairs of which each is the other's nearest neighbour in descriptor space."""
    return nearest_correspondences(source, target, threads)[0]
