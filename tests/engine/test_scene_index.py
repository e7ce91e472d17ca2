"""An index of a scene: descriptors do not depend on the rest of the scene; nearest descriptors and points are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.strategies import small_scan

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.engine.scene_index import describe, fit_unsigned_surfels, flipped, index_scene


@pytest.fixture(scope="module")
def cloud() -> PreprocessedCloud:
    return preprocess(small_scan("casting"), "scene")


@pytest.fixture(scope="module")
def voxel(cloud: PreprocessedCloud) -> float:
    return cloud.voxel_sizes.coarse


def random_descriptors(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 96), np.uint8)


def test_a_small_index_is_exact() -> None:
    descriptors, queries = random_descriptors(500), random_descriptors(40, 1)
    found, distances = _core.DescriptorIndex(descriptors, 2).nearest(queries, 7, 3, 2)
    exact = np.abs(queries[:, None].astype(int) - descriptors[None]).sum(axis=2)
    assert np.array_equal(distances, np.sort(exact, axis=1)[:, :7])
    assert np.array_equal(np.take_along_axis(exact, found.astype(np.int64), axis=1), distances)


def test_a_large_index_finds_what_is_close_and_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(0)
    centres = rng.integers(40, 216, (200, 96))
    descriptors = (centres[rng.integers(0, 200, 20_000)] + rng.integers(-30, 31, (20_000, 96))).astype(np.uint8)
    queries = (descriptors[::50].astype(int) + rng.integers(-3, 4, (400, 96))).clip(0, 255).astype(np.uint8)
    index = _core.DescriptorIndex(descriptors, 2)
    found, distances = index.nearest(queries, 3, 8, 2)
    assert len(index) == 20_000
    assert np.mean(found[:, 0] == np.arange(0, 20_000, 50)) > 0.95
    again = _core.DescriptorIndex(descriptors, 1).nearest(queries, 3, 8, 1)
    assert np.array_equal(again[0], found)
    assert np.array_equal(again[1], distances)


def test_more_neighbours_than_descriptors_are_marked_as_missing() -> None:
    found, distances = _core.DescriptorIndex(random_descriptors(3), 1).nearest(random_descriptors(2, 1), 5, 1, 1)
    assert (found[:, 3:] == -1).all()
    assert (distances[:, 3:] == -1).all()
    assert (np.sort(found[:, :3], axis=1) == [0, 1, 2]).all()


def sphere(count: int = 2000) -> Floats:
    points = np.random.default_rng(3).normal(size=(count, 3))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


@pytest.mark.parametrize("seed", [0, 1])
def test_normals_of_a_closed_surface_all_get_the_sign_of_the_first(seed: int) -> None:
    points = sphere()
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], len(points))
    neighbours = _core.Tree(points, 1).graph(8, 1)
    oriented = _core.orient_consistently(points, points * signs[:, None], neighbours)
    assert np.array_equal(oriented, points * signs[0])


def test_floor_and_wall_of_a_corner_both_face_the_inside() -> None:
    side = np.stack(np.meshgrid(np.arange(0.5, 8), np.arange(0.5, 8)), axis=-1).reshape(-1, 2)
    floor, wall = np.insert(side, 2, 0.0, axis=1), np.insert(side, 0, 0.0, axis=1)
    points = np.ascontiguousarray(np.concatenate([floor, wall]))
    inward = np.repeat([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], len(side), axis=0)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], len(points))
    oriented = _core.orient_consistently(points, inward * signs[:, None], _core.Tree(points, 1).graph(8, 1))
    assert np.allclose(oriented * signs[0], inward)


@pytest.mark.slow
def test_descriptors_of_a_crop_are_those_of_the_whole_up_to_the_sign(cloud: PreprocessedCloud, voxel: float) -> None:
    """Away from the rim of the crop; the sign is one for the whole crop, as its surface is connected."""
    whole = describe(fit_unsigned_surfels(cloud, voxel))
    points = whole.surfels.points
    distance = np.linalg.norm(points - points[0], axis=1)
    rows = np.flatnonzero(distance < 16).astype(np.int32)
    neighbours = _core.Tree(np.ascontiguousarray(points[rows]), 1).graph(10, 1)
    crop = describe(
        replace(whole.surfels, points=points[rows], normals=whole.surfels.normals[rows], neighbours=neighbours)
    )
    inner = distance[rows] < 9
    expected = whole.descriptors[rows][inner]
    same, reverse = (
        np.abs(found[inner].astype(int) - expected).sum(axis=1)
        for found in (crop.descriptors, flipped(crop.descriptors))
    )
    assert inner.sum() > 50
    assert np.median(np.minimum(same, reverse)) == 0


def test_flipping_all_normals_flips_the_descriptors(cloud: PreprocessedCloud, voxel: float) -> None:
    described = describe(fit_unsigned_surfels(cloud, voxel))
    surfels = described.surfels
    reverse = _core.descriptors(surfels.points, -surfels.normals, 5.5, 1)
    # Of the values at the border between two bins either may be taken.
    assert np.mean(reverse != flipped(described.descriptors)) < 0.01
    assert np.array_equal(flipped(flipped(reverse)), reverse)


def test_points_and_surfels_around_a_place_are_all_within_the_radius(cloud: PreprocessedCloud, voxel: float) -> None:
    scene = index_scene(cloud, voxel)
    centre, radius = scene.described.surfels.points[10], 7.3
    points = cloud.local_points
    inside = np.linalg.norm(points - centre * voxel, axis=1) <= radius * voxel
    found = scene.points_around(centre, radius)
    assert np.array_equal(np.unique(found, axis=0), np.unique(points[inside], axis=0))
    surfels = scene.surfels_around(centre, radius)
    assert np.array_equal(
        surfels, np.flatnonzero(np.linalg.norm(scene.described.surfels.points - centre, axis=1) <= radius)
    )
    assert len(scene.points_around(centre + 1e4, radius)) == 0


def test_the_index_is_built_once_for_a_resolution(cloud: PreprocessedCloud, voxel: float) -> None:
    assert index_scene(cloud, voxel) is index_scene(cloud, voxel)
