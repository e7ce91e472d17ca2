"""Putative correspondences: mutual nearest neighbours by FPFH or by graph descriptors, and the tuple test of FGR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.clouds import Floats
from graphreg.features.edge_descriptors import Descriptors, edge_descriptors, mutual_correspondences
from graphreg.features.fpfh_features import fpfh_histograms, outward_normals

Correspondences = NDArray[np.int64]
"""(K, 2): rows of the source and of the target."""


@dataclass(frozen=True)
class MatchingConstants:
    """Constants of feature matching.

    Attributes
    ----------
    normal_neighbours : int
        Neighbours that the plane of a point is fitted to (chosen: the default of `graphreg.normals`).
    max_neighbours : int
        Neighbours in a histogram, at most (chosen: Open3D's example).
    triples : int
        Triples that the tuple test samples for each correspondence, at most (FGR's authors' program).
    """

    normal_neighbours: int = 10
    max_neighbours: int = 100
    triples: int = 100


CONSTANTS = MatchingConstants()


def match_clouds(run: BaselineRun, radius: float, features: bool) -> Correspondences:
    """Match the clouds of a run by FPFH, or with `features` by graph descriptors in its place.

    Parameters
    ----------
    run : BaselineRun
    radius : float
        Of the neighbourhoods that are described, in voxels.
    features : bool

    Returns
    -------
    (K, 2) ndarray of int64
        Rows of source and target.
    """
    if not features:
        return match_fpfh(run, radius)

    def descriptors(cloud: Floats) -> Descriptors:
        normals = outward_normals(cloud, CONSTANTS.normal_neighbours, run.threads)
        return edge_descriptors(cloud / run.voxel, normals, radius, run.threads)

    i, j = mutual_correspondences(descriptors(run.source), descriptors(run.target), run.threads)
    return np.column_stack([i, j]).astype(np.int64)


def match_fpfh(run: BaselineRun, radius: float) -> Correspondences:
    """Match the clouds of a run: pairs of points that are each other's nearest neighbour in FPFH.

    Parameters
    ----------
    run : BaselineRun
    radius : float
        Radius of FPFH, in voxels.

    Returns
    -------
    (K, 2) ndarray of int64
        Rows of source and target.
    """

    def features(cloud: Floats) -> NDArray[np.float32]:
        normals = outward_normals(cloud, CONSTANTS.normal_neighbours, run.threads)
        found = fpfh_histograms(cloud, normals, radius * run.voxel, CONSTANTS.max_neighbours, run.threads)
        return np.asarray(found, np.float32)

    return mutual_nearest_neighbours(features(run.source), features(run.target), run.threads)


def mutual_nearest_neighbours(
    source: NDArray[np.float32], target: NDArray[np.float32], threads: int
) -> Correspondences:
    """Find the pairs of rows of two feature tables that are each other's nearest neighbour.

    Parameters
    ----------
    source, target : (N, F) and (M, F) ndarray of float32
    threads : int

    Returns
    -------
    (K, 2) ndarray of int64
        Rows of source and target, ascending by source.
    """
    forward = _core.nearest_features(target, source, threads)
    matched, position = np.unique(forward, return_inverse=True)
    backward = _core.nearest_features(source, np.ascontiguousarray(target[matched]), threads)
    rows = np.flatnonzero(backward[position] == np.arange(len(source)))
    return np.column_stack([rows, forward[rows]]).astype(np.int64)


def tuple_test(source: Floats, target: Floats, ratio: float, most: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Select correspondences that belong to congruent triangles in both clouds (tuple test of FGR).

    A random triple of correspondences passes where the lengths of its three sides agree within `ratio`.

    Parameters
    ----------
    source, target : (K, 3) ndarray
        Corresponding points.
    ratio : float
        Smallest ratio of corresponding sides, 0 to 1.
    most : int
        Number of triples that pass, after which sampling ends.
    rng : numpy.random.Generator

    Returns
    -------
    (K,) ndarray of bool
    """
    passed = np.zeros(len(source), bool)
    found = 0
    for _ in range(CONSTANTS.triples):
        triples = rng.integers(0, len(source), (len(source), 3))
        a, b = (_side_lengths(cloud, triples) for cloud in (source, target))
        congruent = triples[((a > ratio * b) & (b > ratio * a)).all(axis=1)][: most - found]
        passed[congruent.ravel()] = True
        found += len(congruent)
        if found >= most:
            break
    return passed


def _side_lengths(points: Floats, triples: NDArray[np.int64]) -> Floats:
    corners = points[triples]
    return np.asarray(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2))
