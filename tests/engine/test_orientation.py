"""Orientation of normals: consistent over a cloud, whatever the signs of the fitted planes, wherever the cloud is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.strategies import Floats, random_transform, small_pair

from graphreg.engine.orientation import infer_orientation, orient_normals
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import build_pyramids, to_pyramid_frames
from graphreg.engine.surfels import Surfels, fit_surfels
from graphreg.poses import transform


def corner_with_box(rng: np.random.Generator) -> Floats:
    """Floor and two walls of a room, and a box on the floor, as a sensor inside the room sees them."""
    u, v = rng.uniform(0, 4, (2, 9000))
    zero = np.zeros(3000)
    walls = [
        np.column_stack([u[:3000], v[:3000], zero]),
        np.column_stack([u[3000:6000], zero, v[3000:6000]]),
        np.column_stack([zero, u[6000:], v[6000:]]),
    ]
    a, b = rng.uniform(0, 1, (2, 1500))
    one = np.ones(500)
    box = [
        np.column_stack([1.5 + a[:500], 1.5 + b[:500], one]),
        np.column_stack([1.5 + a[500:1000], 2.5 * one, b[500:1000]]),
        np.column_stack([2.5 * one, 1.5 + a[1000:], b[1000:]]),
    ]
    return np.vstack(walls + box)


@pytest.fixture(scope="module")
def surfels() -> Surfels:
    return fit_surfels(corner_with_box(np.random.default_rng(0)), 0.15)


def test_all_visible_surfaces_face_one_side(surfels: Surfels) -> None:
    oriented = orient_normals(surfels)
    sensor = np.array([3.5, 3.7, 3.0]) / 0.15
    towards = np.einsum("ij,ij->i", oriented.normals, sensor - oriented.points) > 0
    assert max(towards.mean(), 1 - towards.mean()) > 0.95


def test_the_signs_of_the_fitted_planes_do_not_matter(surfels: Surfels) -> None:
    signs = np.random.default_rng(1).choice([-1.0, 1.0], len(surfels))[:, None]
    other = orient_normals(replace(surfels, normals=surfels.normals * signs))
    np.testing.assert_allclose(other.normals, orient_normals(surfels).normals)


def test_the_reversed_orientation_gives_every_normal_the_other_sign(surfels: Surfels) -> None:
    orientation = infer_orientation(surfels)
    np.testing.assert_array_equal(
        orientation.reversed().apply(surfels, 1.0).normals, -orientation.apply(surfels, 1.0).normals
    )


def test_closed_bodies_have_outward_normals() -> None:
    directions = np.random.default_rng(2).normal(size=(5000, 3))
    ball = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    oriented = orient_normals(fit_surfels(ball, 0.1))
    assert (np.einsum("ij,ij->i", oriented.normals, oriented.points) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hare", "casting", "room"])
def test_two_scans_agree_where_they_overlap(name: str) -> None:
    pair = small_pair(name)
    moved = random_transform(4, 3.0)
    x, y = build_pyramids(preprocess(transform(moved, pair.source), "source"), preprocess(pair.target, "target"))
    T = to_pyramid_frames(pair.T_target_source @ np.linalg.inv(moved), x, y)
    nearest = y.coarse.grid.nearest(transform(T, x.coarse.points), 1.0, 1)
    close = nearest >= 0
    cosines = np.einsum("ij,ij->i", x.coarse.normals[close] @ T[:3, :3].T, y.coarse.normals[nearest[close]])
    clear = np.abs(cosines) > 0.7
    assert clear.mean() > 0.7
    assert (cosines[clear] > 0).mean() > 0.95
