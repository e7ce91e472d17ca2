"""Rays against convex parts, compared with points sampled along them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.strategies import random_transform

from graphreg.clouds import Floats, Mask
from graphreg.datasets.convex_scenes import ConvexPart, ConvexScene, box, cylinder, ellipsoid, gable
from graphreg.datasets.surfaces import rotation_zyx

PARTS = {
    "box": box([-1, -2, -0.5], [1, 0.5, 1], rotation_zyx(0.3, 0.2, 0.1)),
    "ellipsoid": ellipsoid([0.2, 0, 0], [1.5, 0.7, 0.4], rotation_zyx(1.0)),
    "gable": gable([-1, -1, 0], [1, 1.5, 1.2]),
    "cylinder": cylinder([-1, 0, -1], [1, 0.5, 1], 0.6),
}
ORIGIN = np.array([3.0, -4.0, 2.0])


def rays(count: int) -> Floats:
    directions = np.random.default_rng(0).uniform(-1.2, 1.2, (count, 3)) - ORIGIN
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def inside(part: ConvexPart, points: Floats) -> Mask:
    local = np.linalg.solve(part.axes, (points - part.centre).T).T
    within_planes = (local @ part.planes[:, :3].T <= part.planes[:, 3]).all(axis=1)
    return np.asarray(within_planes & (((part.quadric * local) ** 2).sum(axis=1) <= 1))


@pytest.mark.parametrize("name", PARTS)
def test_a_ray_enters_where_the_inside_begins(name: str) -> None:
    part, directions = PARTS[name], rays(400)
    ranges, normals = part.cast(ORIGIN, directions)
    hit = np.isfinite(ranges)
    assert 0.1 < hit.mean() < 0.95
    at = ORIGIN + ranges[hit, None] * directions[hit]
    assert not inside(part, at - 1e-7 * directions[hit]).any()
    assert inside(part, at + 1e-7 * directions[hit]).mean() > 0.99  # but for rays that graze an edge
    assert (np.einsum("ij,ij->i", normals[hit], directions[hit]) < 0).all()
    np.testing.assert_allclose(np.linalg.norm(normals[hit], axis=1), 1)
    samples = ORIGIN + np.linspace(0, 12, 600)[:, None, None] * directions[~hit]
    assert not inside(part, samples.reshape(-1, 3)).any()


@pytest.mark.parametrize("name", PARTS)
def test_a_part_fits_into_its_bounding_sphere(name: str) -> None:
    part = PARTS[name]
    points = part.centre + np.random.default_rng(1).uniform(-2, 2, (20_000, 3)) * part.radius
    assert np.linalg.norm(points[inside(part, points)] - part.centre, axis=1).max() <= part.radius


@pytest.mark.parametrize("name", PARTS)
def test_casting_is_equivariant(name: str) -> None:
    part, directions, T = PARTS[name], rays(200), random_transform(3, 10.0)
    ranges, normals = part.cast(ORIGIN, directions)
    moved = part.transformed(T).cast(T[:3, :3] @ ORIGIN + T[:3, 3], directions @ T[:3, :3].T)
    np.testing.assert_allclose(moved[0], ranges, rtol=1e-9)
    hit = np.isfinite(ranges)
    np.testing.assert_allclose(moved[1][hit], normals[hit] @ T[:3, :3].T, atol=1e-9)


def test_a_scene_returns_the_nearest_part() -> None:
    directions = rays(500)
    ranges, _ = ConvexScene(PARTS.values()).cast(ORIGIN, directions, 100.0)
    each = np.array([part.cast(ORIGIN, directions)[0] for part in PARTS.values()])
    assert np.array_equal(ranges, each.min(axis=0))
    nearest = float(ranges.min())
    assert np.isinf(ConvexScene(PARTS.values()).cast(ORIGIN, directions, 0.99 * nearest)[0]).all()
