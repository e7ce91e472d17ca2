"""The ICP family: pairs that follow a moving cloud, closed forms, and where each method breaks down."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import clouds, random_cloud, random_transform, seeds

import graphreg
import graphreg._core as _core
from graphreg.baselines.alignment import fit_partners, step_to_planes, vector_from_rotation
from graphreg.baselines.fricp import Anderson
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import fit_rigid_transform, inverse, pose, rotation_from_vector, transform


@given(clouds, seeds, st.floats(0, 0.3), st.integers(1, 3))
def test_points_that_move_keep_their_nearest(points: np.ndarray, seed: int, step: float, threads: int) -> None:
    rng = np.random.default_rng(seed)
    size = np.ptp(points, axis=0).max()
    queries = points[rng.integers(0, len(points), 60)] + 0.2 * size * rng.normal(size=(60, 3))
    tree = _core.Tree(points, threads)
    searched_at, second, nearest = np.zeros((60, 3)), np.zeros(60), np.full((60, 2), -1, np.int32)
    for _ in range(5):
        squared = tree.update_nearest(queries, searched_at, second, nearest, threads)
        index, expected = twins.nearest(points, queries, 1)
        np.testing.assert_array_equal(squared, expected[:, 0])
        np.testing.assert_array_equal(nearest[:, 0], index[:, 0])
        queries = queries + step * size * rng.random() ** 4 * rng.normal(size=(60, 3))


def test_a_tree_of_one_point_is_followed() -> None:
    tree = _core.Tree(np.zeros((1, 3)), 1)
    state = np.zeros((2, 3)), np.zeros(2), np.full((2, 2), -1, np.int32)
    for x in (1.0, 2.0):
        assert tree.update_nearest(np.array([[x, 0, 0], [0, 2 * x, 0]]), *state, 1).tolist() == [x**2, 4 * x**2]


@given(clouds, seeds, st.booleans())
def test_pairs_of_a_moved_cloud_give_the_motion(points: np.ndarray, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    size = np.ptp(points, axis=0).max()
    motion = random_transform(seed, size)
    weights = rng.random(len(points)) + 0.1 if weighted else None
    moved = transform(motion, points)
    found = fit_rigid_transform(points, moved, weights)
    assert rmsd(found, motion, points) < 1e-12 * size
    shuffled = rng.permutation(len(points)).astype(np.int32)
    partner = np.argsort(shuffled).astype(np.int32)
    rows = np.arange(len(points))
    again = fit_partners(points, np.ascontiguousarray(moved[shuffled]), partner, rows, weights, 2)
    assert rmsd(again, motion, points) < 1e-12 * size


@given(clouds, seeds)
def test_no_motion_nearby_fits_weighted_pairs_better(points: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = np.ptp(points, axis=0).max()
    target = transform(random_transform(seed, size), points) + 0.1 * size * rng.normal(size=points.shape)
    weights = rng.random(len(points))

    def cost(motion: np.ndarray) -> float:
        return float(weights @ ((transform(motion, points) - target) ** 2).sum(axis=1))

    found = fit_rigid_transform(points, target, weights)
    for _ in range(5):
        near = pose(rotation_from_vector(0.02 * rng.normal(size=3)), 0.02 * size * rng.normal(size=3))
        assert cost(found) <= cost(near @ found)


def test_a_step_to_planes_solves_the_least_squares_problem() -> None:
    """Beside numpy's solver, on the same equations."""
    rng = np.random.default_rng(3)
    points, target = random_cloud("blob", 500, 1), random_cloud("blob", 400, 2)
    normals = rng.normal(size=(400, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    partner = rng.integers(0, 400, 500).astype(np.int32)
    rows = np.sort(rng.permutation(500)[:300])
    value, motion = step_to_planes(points, target, normals, partner, rows, 2)
    x, y, n = points[rows], target[partner[rows]], normals[partner[rows]]
    middle = x.mean(axis=0)
    slopes = np.column_stack([np.cross(x - middle, n), n])
    gaps = ((y - x) * n).sum(axis=1)
    move = np.linalg.lstsq(slopes, gaps)[0]
    assert value == pytest.approx((gaps**2).mean(), rel=1e-12)
    np.testing.assert_allclose(vector_from_rotation(motion[:3, :3]), move[:3], atol=1e-12)
    np.testing.assert_allclose(transform(motion, middle), middle + move[3:], atol=1e-12)


def test_planes_that_leave_a_way_open_are_not_left_along_it() -> None:
    points = np.column_stack([np.random.default_rng(0).random((100, 2)), np.zeros(100)])
    normals = np.tile([0.0, 0.0, 1.0], (100, 1))
    everyone = np.arange(100)
    _, motion = step_to_planes(
        points, points + np.array([5.0, 3.0, 0.5]), normals, everyone.astype(np.int32), everyone, 1
    )
    np.testing.assert_allclose(motion, pose(np.eye(3), [0, 0, 0.5]), atol=1e-12)


def test_without_memory_anderson_takes_the_plain_step() -> None:
    guess = Anderson(0)
    for x, g in ((1.0, 2.0), (2.0, 2.5), (2.5, 2.7)):
        assert guess.next(np.array([x]), np.array([g])).tolist() == [g]


def test_acceleration_ends_where_plain_steps_do(body: np.ndarray) -> None:
    source, target, _ = overlapping(body)
    plain, fast = (
        graphreg.register(source, target, method="fricp", voxel=0, init=np.eye(4), memory=memory, tolerance=1e-9)
        for memory in (0, 5)
    )
    assert rmsd(plain.transformation, fast.transformation, source) < 1e-4 * SPACING
    assert len(fast.history) < len(plain.history)


def test_anderson_solves_a_linear_iteration_in_as_many_steps_as_unknowns() -> None:
    rng = np.random.default_rng(0)
    matrix = 0.3 * rng.normal(size=(4, 4))
    offset = rng.normal(size=4)
    fixed = np.linalg.solve(np.eye(4) - matrix, offset)
    guess, x = Anderson(5), np.zeros(4)
    for _ in range(6):
        x = guess.next(x, matrix @ x + offset)
    np.testing.assert_allclose(x, fixed, atol=1e-8)


SPACING = 0.003


@pytest.fixture(scope="module")
def body() -> np.ndarray:
    points = graphreg.voxel_downsample(synthetic.scan("hare", points=6000).points, SPACING)
    return points - points.mean(axis=0)


@pytest.mark.parametrize("method", ["icp", "icp-kp", "icp-kn", "tricp", "fricp"])
def test_icp_fails_on_a_large_turn_and_says_so(body: np.ndarray, method: str) -> None:
    turned = transform(rotation_about_z(150), body)
    settings = {"overlap": 0.9} if method == "tricp" else {}
    result = graphreg.register(turned, body, method=method, voxel=0, **settings)
    assert angular_error(result.transformation, rotation_about_z(-150)) > 20
    assert not result.success
    started = graphreg.register(turned, body, method=method, voxel=0, init=rotation_about_z(-145), **settings)
    assert angular_error(started.transformation, rotation_about_z(-150)) < 1e-6
    assert started.success


def rotation_about_z(degrees: float) -> np.ndarray:
    return pose(rotation_from_vector([0, 0, np.radians(degrees)]), np.zeros(3))


def overlapping(body: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A body without its left fifth and without its right: they share three quarters of either; and a small motion."""
    low, high = np.quantile(body[:, 0], [0.2, 0.8])
    motion = pose(rotation_from_vector(np.radians([1.0, 1.0, -1.0])), [0.001, 0.001, 0.0])
    return transform(inverse(motion), body[body[:, 0] < high]), body[body[:, 0] > low], motion


def test_trimming_and_welsch_get_over_partial_overlap_where_icp_does_not(body: np.ndarray) -> None:
    source, target, motion = overlapping(body)
    trimmed = graphreg.register(source, target, method="tricp", voxel=0, init=np.eye(4), overlap=0.7)
    assert rmsd(trimmed.transformation, motion, source) < 1e-9 * SPACING
    # Welsch's weight of a pair that is one spacing apart is exp(-27 / 2), about 1e-6: not nothing.
    welsch = graphreg.register(source, target, method="fricp", voxel=0, init=np.eye(4))
    assert rmsd(welsch.transformation, motion, source) < 1e-3 * SPACING
    searched = graphreg.register(source, target, method="tricp", voxel=0, init=np.eye(4))
    assert rmsd(searched.transformation, motion, source) < 0.1 * SPACING
    plain = graphreg.register(source, target, method="icp", voxel=0, init=np.eye(4))
    assert rmsd(plain.transformation, motion, source) > SPACING


def test_tricp_breaks_down_where_less_overlaps_than_it_is_told(body: np.ndarray) -> None:
    source, target, motion = overlapping(body)
    result = graphreg.register(source, target, method="tricp", voxel=0, init=np.eye(4), overlap=1.0)
    assert rmsd(result.transformation, motion, source) > SPACING


def test_worst_rejection_drops_far_points(body: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    stray = body.mean(axis=0) + 3 * np.ptp(body, axis=0) * (1 + rng.random((len(body) // 10, 3)))
    source = np.vstack([body, stray])
    for method in ("icp-kp", "icp-kn"):
        start = pose(rotation_from_vector([0, 0, 0.05]), np.zeros(3))
        kept = graphreg.register(source, body, method=method, voxel=0, init=start, worst_rejection=0.15)
        assert rmsd(kept.transformation, np.eye(4), body) < 1e-9
        plain = graphreg.register(source, body, method=method, voxel=0, init=start)
        assert rmsd(plain.transformation, np.eye(4), body) > 1e-2


def test_pairs_beyond_max_distance_do_not_count(body: np.ndarray) -> None:
    source = np.vstack([body, body.mean(axis=0) + np.array([10.0, 0, 0])])
    start = pose(rotation_from_vector([0, 0, 0.02]), np.zeros(3))
    result = graphreg.register(source, body, method="icp", voxel=0, init=start, max_distance=1.0)
    assert rmsd(result.transformation, np.eye(4), body) < 1e-9
    away = graphreg.register(body, body, method="icp", init=pose(np.eye(3), [100.0, 0, 0]), max_distance=0.1)
    assert away.history == ()
    assert not away.success


def test_fricp_lowers_its_objective_for_each_scale(body: np.ndarray) -> None:
    """The scale only falls, and each fall lifts the objective: between the lifts it must not rise."""
    source, target, _ = overlapping(body)
    one_scale = graphreg.register(
        source, target, method="fricp", voxel=0, init=np.eye(4), first_scale=1e-9, last_scale=3.0
    )
    energies = [step.energy for step in one_scale.history]
    assert len(energies) > 3
    assert all(after <= before + 1e-15 for before, after in pairwise(energies))


@pytest.mark.parametrize(
    ("method", "settings", "told"),
    [
        ("icp", {"max_iterations": 0}, "max_iterations: expected a whole number from 1 on"),
        ("icp", {"max_distance": -1.0}, "max_distance: expected a positive"),
        ("icp-kp", {"worst_rejection": 1.0}, "worst_rejection: expected a number from 0"),
        ("icp-kn", {"normal_neighbours": 1}, "normal_neighbours: expected a whole number from 2 on"),
        ("tricp", {"overlap": 1.5}, "overlap: expected a share"),
        ("icp", {"max_iterations": 2.5}, "max_iterations: expected a whole number"),
        ("tricp", {"overlap": "most"}, "overlap: expected a share"),
        ("fricp", {"decay": 1.0}, "decay: expected a number from 0"),
    ],
)
def test_settings_that_cannot_be_used(body: np.ndarray, method: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{told}"):
        graphreg.register(body, body, method=method, **settings)
