"""Descriptors of points: see tests/engine/test_descriptors.py for those of surfels and their twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.support.strategies import random_cloud, random_transform, seeds

from graphreg.features.edge_descriptors import edge_descriptors, mutual_correspondences
from graphreg.features.fpfh_features import outward_normals
from graphreg.poses import transform


@given(seeds)
def test_a_moved_copy_has_the_same_descriptors_and_matches_itself(seed: int) -> None:
    points = random_cloud("surface", 150, seed)
    moved = transform(random_transform(seed, 1.0), points)
    radius = 0.3 * float(np.ptp(points))
    one, other = (edge_descriptors(cloud, outward_normals(cloud, 10, 1), radius) for cloud in (points, moved))
    # Rounding moves an edge on the border of a bin or shell to the next one, of few points.
    assert (np.abs(one.astype(int) - other).max(axis=1) <= 1).mean() > 0.9
    i, j = mutual_correspondences(one, other)
    assert (i == j).mean() > 0.9


def test_pairs_are_the_same_from_either_side() -> None:
    points = random_cloud("surface", 120, 0)
    described = edge_descriptors(points, outward_normals(points, 10, 1), 0.4)
    i, j = mutual_correspondences(described[:70], described[50:])
    back = mutual_correspondences(described[50:], described[:70])
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == sorted(
        zip(*(b.tolist() for b in back[::-1]), strict=True)
    )
    assert {(n, n - 50) for n in range(50, 70)} <= set(zip(i.tolist(), j.tolist(), strict=True))
