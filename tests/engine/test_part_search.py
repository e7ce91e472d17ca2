"""The search for a part: right matches, places and poses, whatever the pose of the part is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from graphreg.datasets import clutter
from graphreg.engine.part_search import (
    Part,
    match_part,
    prepare_part,
    search_part,
    search_place,
    vote_for_places,
)
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.scene_index import SceneIndex
from graphreg.poses import inverse, nearest_rotation, pose, transform

MOVED = pose(nearest_rotation(np.random.default_rng(7).normal(size=(3, 3))), [5.0, -3.0, 1.0])


@cache
def example() -> tuple[Part, SceneIndex, np.ndarray]:
    """A part in an arbitrary pose, a scene, and the true pose between their local frames in voxels."""
    table = clutter.table("bracket", objects=4, spacing=0.04)
    cloud, scene = preprocess(transform(MOVED, table.part), "part"), preprocess(table.scene, "scene")
    part, index = prepare_part(cloud, scene, 600)
    T = scene.T_local_cloud @ table.poses[0] @ inverse(MOVED) @ inverse(cloud.T_local_cloud)
    return part, index, pose(T[:3, :3], T[:3, 3] / part.voxel)


def test_the_part_has_as_many_surfels_as_wanted_to_a_factor_of_two_and_shares_the_voxels_of_the_scene() -> None:
    part, scene, _ = example()
    assert 300 < len(part.described) < 1200
    assert part.voxel == scene.voxel
    distances = np.linalg.norm(part.described.surfels.points - part.centre, axis=1)
    assert np.mean(distances <= part.radius) == pytest.approx(0.95, abs=0.01)


def test_many_matches_are_right() -> None:
    part, scene, T = example()
    matches = match_part(part, scene)
    moved = transform(T, part.described.surfels.points[matches.part])
    right = np.linalg.norm(moved - scene.described.surfels.points[matches.scene], axis=1) < 2.5
    assert right.mean() > 0.1
    assert (matches.weights > 0).all()
    rotated = part.described.surfels.normals[matches.part] * matches.signs[:, None] @ T[:3, :3].T
    cosine = np.einsum("ij,ij->i", rotated, scene.described.surfels.normals[matches.scene])
    assert np.mean(cosine[right] > 0) > 0.9


def test_the_first_place_is_that_of_the_part() -> None:
    part, scene, T = example()
    places = vote_for_places(part, scene, match_part(part, scene), 5)
    assert 1 <= len(places) <= 5
    assert np.linalg.norm(places[0] - transform(T, part.centre[None])[0]) < part.radius


@pytest.mark.slow
def test_the_best_pose_is_the_true_one_with_any_number_of_threads() -> None:
    part, scene, T = example()
    found = search_part(part, scene, 1, threads=1)
    assert np.all(np.diff(found.scores) <= 0)
    corners = part.described.surfels.points[::50]
    assert np.linalg.norm(transform(found.poses[0], corners) - transform(T, corners), axis=1).max() < 1.5
    again = search_part(part, scene, 1, threads=2)
    assert np.array_equal(found.poses, again.poses)
    assert np.array_equal(found.scores, again.scores)


def test_an_empty_place_has_no_poses() -> None:
    part, scene, _ = example()
    assert len(search_place(part, scene, np.full(3, 1e6), np.empty((0, 4, 4))).poses) == 0
