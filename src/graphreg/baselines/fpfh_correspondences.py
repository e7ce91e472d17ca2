"""Points that look alike: pairs of one source and one target point, for the methods that need correspondences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.clouds import Floats
from graphreg.features.fpfh_features import fpfh_histograms, outward_normals

Matches = NDArray[np.int64]
"""(K, 2): rows of the source and of the target."""

NORMAL_NEIGHBOURS = 10
MOST_NEIGHBOURS = 100


def feature_matches(run: BaselineRun, radius: float) -> Matches:
    """Pairs that are each other's nearest by their FPFH; radius in voxels."""
    features = [
        np.asarray(
            fpfh_histograms(
                cloud, outward_normals(cloud, NORMAL_NEIGHBOURS, run.threads), radius * run.voxel, MOST_NEIGHBOURS,
                run.threads,
            ),
            np.float32,
        )
        for cloud in (run.source, run.target)
    ]  # fmt: skip
    return mutual_nearest(features[0], features[1], run.threads)


def mutual_nearest(source: NDArray[np.float32], target: NDArray[np.float32], threads: int) -> Matches:
    """Rows of two tables that are each other's nearest."""
    there = _core.nearest_features(target, source, threads)
    wanted, place = np.unique(there, return_inverse=True)
    back = _core.nearest_features(source, np.ascontiguousarray(target[wanted]), threads)
    rows = np.flatnonzero(back[place] == np.arange(len(source)))
    return np.column_stack([rows, there[rows]]).astype(np.int64)


def in_like_triangles(
    source: Floats, target: Floats, ratio: float, most: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which pairs of points, paired by row, belong to triangles that are alike in both clouds (tuple test).

    Of triples drawn at random, those count whose three sides have lengths that agree within `ratio`; drawing ends at
    `most` of them, or after a hundred draws a pair.
    """
    kept = np.zeros(len(source), bool)
    found = 0
    for _ in range(100):
        triples = rng.integers(0, len(source), (len(source), 3))
        a, b = (_sides(cloud, triples) for cloud in (source, target))
        alike = triples[((a > ratio * b) & (b > ratio * a)).all(axis=1)][: most - found]
        kept[alike.ravel()] = True
        found += len(alike)
        if found >= most:
            break
    return kept


def _sides(points: Floats, triples: NDArray[np.int64]) -> Floats:
    corners = points[triples]
    return np.asarray(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2))
