"""Descriptors of points with oriented normals: distributions of graph signals that no rigid transform changes.

The paper's V_g is one number, the variation of normals over a point's edges. Here every edge within a radius gives four
signals,

    n_i . u,   n_j . u,   n_i . n_j,   (n_i x u) . n_j        u: the unit direction from i to j

and a point is described by the distribution of each in three shells around it: 96 numbers. The sign of normals matters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats

Descriptors = NDArray[np.uint8]
Correspondences = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Indices of source and target, pair by pair."""


def edge_descriptors(points: Floats, normals: Floats, radius: float, threads: int = 1) -> Descriptors:
    """Compute the descriptors of points.

    Parameters
    ----------
    points, normals : (N, 3) ndarray
        Normals of length 1, or 0 where there is none.
    radius : float
        Radius of the outermost shell, in the unit of the points.
    threads : int, default 1

    Returns
    -------
    (N, 96) ndarray of uint8
        Square roots of shares, in 255ths.
    """
    return _core.descriptors(points, normals, radius, threads)


def mutual_correspondences(source: Descriptors, target: Descriptors, threads: int = 1) -> Correspondences:
    """Return the pairs of which each is the other's nearest neighbour in descriptor space."""
    nearest_target, nearest_source = _core.match_descriptors(source, target, threads)
    rows = np.flatnonzero(nearest_source[nearest_target] == np.arange(len(source)))
    return rows, nearest_target[rows]
