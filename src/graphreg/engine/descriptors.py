"""What makes places alike: distributions of graph signals around a point, which no rigid motion changes.

The paper's V_g is one number, the variation of normals over a point's edges. Here every edge within a few cells gives
four signals,

    n_i . u,   n_j . u,   n_i . n_j,   (n_i x u) . n_j        u: the unit direction from i to j

and a point is described by how each is distributed in three shells around it: 96 numbers. The sign of normals matters,
so they are turned away from the middle of the cloud, which turns with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.engine.surfels import Surfels

# How far a signature sees, in cells.
RADIUS = 5.5

Descriptors = NDArray[np.uint8]
Correspondences = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Indices into two clouds, pair by pair."""


def orient_outward(surface: Surfels) -> Surfels:
    """With its normals turned away from the middle of the cloud."""
    away = np.einsum("ij,ij->i", surface.normals, surface.points - surface.points.mean(axis=0))
    return replace(surface, normals=np.where((away < 0)[:, None], -surface.normals, surface.normals))


def compute_descriptors(surface: Surfels, threads: int = 1) -> Descriptors:
    """(N, 96): one signature for each piece of a surface with orient_outward normals."""
    return _core.descriptors(surface.points, surface.normals, RADIUS, threads)


def mutual_correspondences(source: Descriptors, target: Descriptors, threads: int = 1) -> Correspondences:
    """Pairs of which each is the other's nearest."""
    best_of_source, best_of_target = _core.match_descriptors(source, target, threads)
    mutual = np.flatnonzero(best_of_target[best_of_source] == np.arange(len(source)))
    return mutual, best_of_source[mutual]
