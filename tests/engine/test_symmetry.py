"""Symmetries of bodies: those of a cube, a box, a cylinder and a sphere; a small feature breaks them."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.clouds import Floats
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.surfels import fit_surfels
from graphreg.engine.symmetry import Symmetry, find_symmetry, symmetry_in_words, uniform_rotations
from graphreg.poses import nearest_rotation, pose, transform

RNG = np.random.default_rng(0)


def box(*sides: float, count: int = 7000) -> Floats:
    points = RNG.uniform(-0.5, 0.5, (count, 3))
    face = RNG.integers(0, 6, count)
    points[np.arange(count), face // 2] = np.where(face % 2, 0.5, -0.5)
    return np.asarray(points * sides)


def cylinder(count: int = 7000) -> Floats:
    angle, z = RNG.uniform(0, 2 * np.pi, count), RNG.uniform(-1, 1, count)
    radius = np.ones(count)
    ends = RNG.random(count) < 0.3
    radius[ends] = np.sqrt(RNG.random(ends.sum()))
    z[ends] = np.sign(z[ends])
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)


def sphere(count: int = 5000) -> Floats:
    points = RNG.normal(size=(count, 3))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def symmetry_of(points: Floats) -> tuple[Symmetry, Floats]:
    """The symmetry, and the transform to the frame that it is in, lengths in voxels."""
    moved = transform(pose(nearest_rotation(np.random.default_rng(5).normal(size=(3, 3))), [3.0, -1.0, 2.0]), points)
    cloud = preprocess(moved, "part")
    coarse, _, finest = cloud.voxel_sizes
    fine = max(coarse / 2.5, finest)
    surfels = [fit_surfels(cloud.local_points, size) for size in (coarse, fine)]
    return find_symmetry(surfels[0], surfels[1], coarse / fine), cloud.T_local_cloud


@pytest.mark.slow
@pytest.mark.parametrize(("sides", "order"), [((1, 1, 1), 24), ((1, 1, 2), 8), ((1, 1.4, 2), 4)])
@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_a_box_has_the_rotations_of_its_kind(sides: tuple[float, ...], order: int, noise: float) -> None:
    points = box(*sides)
    symmetry, _ = symmetry_of(points + noise * RNG.normal(size=points.shape))
    assert (len(symmetry.poses), len(symmetry.axes)) == (order, 0)
    assert np.array_equal(symmetry.poses[0], np.eye(4))
    assert symmetry_in_words(symmetry, np.eye(4)) == f"{order} equivalent poses"


@pytest.mark.slow
def test_a_small_boss_breaks_the_symmetry_of_a_cube() -> None:
    boss = RNG.uniform(-0.1, 0.1, (400, 3)) * [1, 1, 0.6] + [0.3, 0.2, 0.55]
    symmetry, T_local_cloud = symmetry_of(np.concatenate([box(1, 1, 1), boss]))
    assert len(symmetry.poses) == 1
    assert symmetry_in_words(symmetry, T_local_cloud) == ""


def test_a_cylinder_turns_about_its_axis_and_can_be_reversed() -> None:
    symmetry, T_local_cloud = symmetry_of(cylinder())
    assert len(symmetry.poses) == 2
    axis = nearest_rotation(np.random.default_rng(5).normal(size=(3, 3)))[:, 2]
    assert abs(symmetry.axes[0] @ T_local_cloud[:3, :3] @ axis) > 0.999
    assert "any rotation about" in symmetry_in_words(symmetry, T_local_cloud)


def test_a_sphere_turns_about_every_axis() -> None:
    symmetry, T_local_cloud = symmetry_of(sphere())
    assert len(symmetry.axes) == 3
    assert symmetry_in_words(symmetry, T_local_cloud) == "equivalent under any rotation"


def test_the_rotations_that_are_tried_leave_no_large_gap() -> None:
    rotations = uniform_rotations(3500)
    assert np.allclose(rotations @ rotations.transpose(0, 2, 1), np.eye(3))
    assert np.allclose(np.linalg.det(rotations), 1)
    for _ in range(50):
        wanted = nearest_rotation(RNG.normal(size=(3, 3)))
        traces = np.einsum("nij,ij->n", rotations, wanted)
        assert np.degrees(np.arccos((traces.max() - 1) / 2)) < 20
