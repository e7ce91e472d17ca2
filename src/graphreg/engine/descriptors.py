"""Descriptors of surfels, see `graphreg.features.edge_descriptors`, and their nearest neighbours.

The sign of normals matters: see `orientation`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.engine.surfels import Surfels
from graphreg.features.edge_descriptors import Correspondences, Descriptors, edge_descriptors


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


def compute_descriptors(surfels: Surfels, threads: int = 1) -> Descriptors:
    """Return the (N, 96) descriptors of surfels with oriented normals."""
    return edge_descriptors(surfels.points, surfels.normals, DESCRIPTORS.radius, threads)


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
