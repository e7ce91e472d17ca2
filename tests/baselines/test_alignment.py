"""Alignment of corresponding points, in closed form and by a Gauss-Newton step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import clouds, random_cloud, random_transform, seeds

from graphreg.baselines.alignment import align_point_to_plane, align_point_to_point, rotation_vector
from graphreg.metrics import rmsd
from graphreg.poses import fit_rigid_transform, pose, rotation_from_vector, transform


@pytest.mark.slow
@given(clouds, seeds, st.booleans())
def test_a_transformed_cloud_gives_its_transform(points: np.ndarray, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    size = np.ptp(points, axis=0).max()
    truth = random_transform(seed, size)
    weights = rng.random(len(points)) + 0.1 if weighted else None
    moved = transform(truth, points)
    found = fit_rigid_transform(points, moved, weights)
    assert rmsd(found, truth, points) < 1e-12 * size
    shuffled = rng.permutation(len(points)).astype(np.int32)
    nearest = np.argsort(shuffled).astype(np.int32)
    rows = np.arange(len(points))
    again = align_point_to_point(points, np.ascontiguousarray(moved[shuffled]), nearest, rows, weights, 2)
    assert rmsd(again, truth, points) < 1e-12 * size


@given(clouds, seeds)
def test_no_transform_nearby_has_a_lower_weighted_cost(points: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = np.ptp(points, axis=0).max()
    target = transform(random_transform(seed, size), points) + 0.1 * size * rng.normal(size=points.shape)
    weights = rng.random(len(points))

    def cost(candidate: np.ndarray) -> float:
        return float(weights @ ((transform(candidate, points) - target) ** 2).sum(axis=1))

    found = fit_rigid_transform(points, target, weights)
    for _ in range(5):
        near = pose(rotation_from_vector(0.02 * rng.normal(size=3)), 0.02 * size * rng.normal(size=3))
        assert cost(found) <= cost(near @ found)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_point_to_plane_step_solves_the_least_squares_problem(weighted: bool) -> None:
    """Against numpy's solver, on the same equations."""
    rng = np.random.default_rng(3)
    points, target = random_cloud("blob", 500, 1), random_cloud("blob", 400, 2)
    normals = rng.normal(size=(400, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    nearest = rng.integers(0, 400, 500).astype(np.int32)
    rows = np.sort(rng.permutation(500)[:300])
    weights = rng.random(300) if weighted else None
    value, step = align_point_to_plane(points, target, normals, nearest, rows, weights, 2)
    x, y, n = points[rows], target[nearest[rows]], normals[nearest[rows]]
    centre = x.mean(axis=0)
    jacobian = np.column_stack([np.cross(x - centre, n), n])
    residuals = ((y - x) * n).sum(axis=1)
    root = np.ones(300) if weights is None else np.sqrt(weights)
    solution = np.linalg.lstsq(jacobian * root[:, None], residuals * root)[0]
    assert value == pytest.approx(((root * residuals) ** 2).mean(), rel=1e-12)
    np.testing.assert_allclose(rotation_vector(step[:3, :3]), solution[:3], atol=1e-12)
    np.testing.assert_allclose(transform(step, centre), centre + solution[3:], atol=1e-12)


def test_directions_that_the_planes_do_not_constrain_stay_unchanged() -> None:
    points = np.column_stack([np.random.default_rng(0).random((100, 2)), np.zeros(100)])
    normals = np.tile([0.0, 0.0, 1.0], (100, 1))
    rows = np.arange(100)
    _, step = align_point_to_plane(
        points, points + np.array([5.0, 3.0, 0.5]), normals, rows.astype(np.int32), rows, None, 1
    )
    np.testing.assert_allclose(step, pose(np.eye(3), [0, 0, 0.5]), atol=1e-12)
