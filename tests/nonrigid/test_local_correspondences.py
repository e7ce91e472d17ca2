"""Correspondences with local support are mostly right, also where a body bends."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from tests.support.deforming_bodies import bent, bumpy_body
from tests.support.twins import match_near_descriptors

import graphreg._core as _core
from graphreg.nonrigid.local_correspondences import (
    CORRESPONDENCES,
    NO_CORRESPONDENCES,
    Correspondences,
    correspondences_within,
    describe,
    joined,
    supported_correspondences,
)
from graphreg.nonrigid.working_cloud import WorkingCloud, working_cloud

# Lengths in extents, as the elastic method has them.
BODY = bumpy_body(2000) / 2
SOURCE = working_cloud(BODY, 2000, 1)


def bent_body(angle: float) -> WorkingCloud:
    target = working_cloud(bent(bumpy_body(2000, 1), angle) / 2, 2000, 1)
    return target.facing_surface(SOURCE.points, SOURCE.normals, 0.1, 1)


def share_right(found: Correspondences, angle: float) -> float:
    nearest = cKDTree(BODY).query(found.source)[1]
    error = np.linalg.norm(bent(2 * BODY, angle)[nearest] / 2 - found.target, axis=1)
    return float(np.mean(error < 0.08))


def test_most_supported_correspondences_of_a_bent_body_are_right() -> None:
    found = supported_correspondences(SOURCE, bent_body(0.8), 1)
    assert 20 < len(found) <= found.tried
    assert (found.charges > 0).all()
    assert (found.charges <= 1).all()
    assert share_right(found, 0.8) > 0.5


def test_near_each_other_more_are_found_and_right() -> None:
    target = bent_body(0.4)
    far = supported_correspondences(SOURCE, target, 1)
    described = [describe(cloud, CORRESPONDENCES.radii, 1) for cloud in (SOURCE, target)]
    near = correspondences_within(described[0], described[0].points, described[1], 0.2, 1)
    assert len(near) > len(far)
    assert share_right(near, 0.4) > 0.5
    apart = np.linalg.norm(near.source - near.target, axis=1)
    assert apart.max() <= 0.2
    assert len(correspondences_within(described[0], described[0].points + 9, described[1], 0.2, 1)) == 0


def test_several_are_joined() -> None:
    found = supported_correspondences(SOURCE, SOURCE, 1)
    both = joined(found, NO_CORRESPONDENCES, found)
    assert len(both) == 2 * len(found)
    assert both.tried == 2 * found.tried


def test_matches_among_pairs_agree_with_the_twin() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 4, (count, 96), np.uint8) for count in (30, 40))
    points = [rng.uniform(size=(count, 3)) for count in (30, 40)]
    offsets, near, _ = _core.Tree(points[1], 1).within(points[0], 0.3, 1)
    for found, expected in zip(
        _core.match_near_descriptors(a, b, offsets, near), match_near_descriptors(a, b, offsets, near), strict=True
    ):
        assert np.array_equal(found, expected)
        assert (found >= 0).any()
