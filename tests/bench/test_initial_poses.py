"""Initial poses: as far as the kind of scans allows, and the same in every run."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench.initial_poses import (
    OUTDOOR,
    diagonal,
    initial_poses,
    rotation_about_centroid,
    thirty_about_each_axis,
)
from graphreg.metrics import angular_error
from graphreg.poses import transform


@pytest.mark.parametrize("kind", ["object", "indoor", "tls", "lidar"])
def test_random_poses_are_bounded_by_the_kind_and_the_same_in_every_run(kind: str) -> None:
    points = np.random.default_rng(1).normal(size=(100, 3)) + 50
    found = list(initial_poses("name", kind, points, 30))
    assert np.array_equal(found, list(initial_poses("name", kind, points, 30)))
    assert np.array_equal(found[0], np.eye(4))
    centre, size = points.mean(axis=0), diagonal(points)
    translations = [np.linalg.norm(start[:3, :3] @ centre + start[:3, 3] - centre) / size for start in found]
    tilts = [np.degrees(np.arccos(start[2, 2])) for start in found]
    outdoors = kind in OUTDOOR
    assert max(translations) <= (0.1 if outdoors else 1.0)
    assert (max(tilts) <= 10) == outdoors
    assert max(angular_error(start, np.eye(4)) for start in found) > 90


def test_rotations_follow_each_other_about_fixed_axes() -> None:
    rotation = rotation_about_centroid(np.zeros((1, 3)), (90.0, 0.0, 90.0))
    # About x, y goes to z and stays there; about z, x goes to y.
    assert transform(rotation, np.eye(3)) == pytest.approx(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), abs=1e-12)


def test_the_centroid_is_fixed() -> None:
    points = np.random.default_rng(2).normal(size=(20, 3)) + 7
    moved = transform(rotation_about_centroid(points, (10.0, -20.0, 70.0)), points)
    assert moved.mean(axis=0) == pytest.approx(points.mean(axis=0))


def test_the_signs_of_thirty_degrees_follow_the_seed() -> None:
    found = {thirty_about_each_axis(seed) for seed in range(40)}
    assert {abs(angle) for angles in found for angle in angles} == {30.0}
    assert len(found) == 8
    assert thirty_about_each_axis(3) == thirty_about_each_axis(3)
