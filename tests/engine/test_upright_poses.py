"""Poses of upright scenes: the plan of what stands on the ground finds the pose where descriptors may not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.strategies import random_transform

from graphreg.clouds import Floats
from graphreg.engine.orientation import Orientation
from graphreg.engine.surfels import Surfels, fit_surfels
from graphreg.engine.upright_poses import UPRIGHT, upright_poses
from graphreg.metrics import rmsd
from graphreg.poses import transform

WALLS = (((-18, -9), (-2, -14)), ((3, -12), (16, -8)), ((14, 2), (9, 15)), ((-4, 13), (-15, 10)))


def yard(seed: int) -> Surfels:
    """A floor and some walls, sampled at random; lengths in voxels."""
    rng = np.random.default_rng(seed)
    floor = np.column_stack([rng.uniform(-20, 20, (4000, 2)), np.zeros(4000)])
    walls = []
    for begin, end in WALLS:
        along = rng.random((800, 1))
        walls.append(np.column_stack([(1 - along) * begin + along * np.array(end), rng.uniform(0, 8, 800)]))
    return fitted(np.concatenate([floor, *walls]))


def fitted(points: Floats) -> Surfels:
    return Orientation(np.array([0.0, 0.0, 3.0]), towards=True).apply(fit_surfels(points, 1.0), 1.0)


def moved(surfels: Surfels, T: Floats) -> Surfels:
    return replace(surfels, points=transform(T, surfels.points), normals=surfels.normals @ T[:3, :3].T)


@pytest.mark.parametrize("seed", range(2))
def test_one_of_the_poses_of_a_yard_is_right_from_any_pose(seed: int) -> None:
    truth = random_transform(seed, 50.0)
    source, target = yard(seed), yard(seed + 10)
    poses = upright_poses(source, moved(target, truth))
    errors = [rmsd(T, truth, source.points[::20]) for T in poses]
    # Cells and steps of the rotation limit what it can reach; refinement does the rest.
    assert min(errors) < UPRIGHT.cell + UPRIGHT.turn
    np.testing.assert_allclose(np.linalg.det(poses[:, :3, :3]), 1)


def test_a_ball_is_not_upright_and_neither_is_a_bare_floor() -> None:
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(3000, 3))
    ball = fitted(12 * directions / np.linalg.norm(directions, axis=1, keepdims=True))
    floor = fitted(np.column_stack([rng.uniform(-20, 20, (4000, 2)), np.zeros(4000)]))
    for scene in (ball, floor):
        assert upright_poses(scene, yard(0)).shape == upright_poses(yard(0), scene).shape == (0, 4, 4)
