"""The search: pose hypotheses, the nearest-surfel grid, coarse refinement; against numpy, and their laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import Floats, random_cloud, random_transform, seeds, small_pair

import graphreg._core as _core
from graphreg.engine.evidence import PairEvidence
from graphreg.engine.hypotheses import coulomb_proposals, cube_rotations, search_poses
from graphreg.engine.orientation import orient_normals
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import build_pyramids, to_cloud_frames
from graphreg.engine.surfels import Surfels, fit_surfels
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform

TOLERANCE = 1.5
ANY = _core.DegreesOfFreedom([True] * 6, [0.0, 0.0, 0.0])


def hilly(seed: int = 0, sample: int = 0, count: int = 6000) -> Surfels:
    """A landscape of some 600 voxels: the seed places its hills, `sample` chooses the points on it."""
    landscape, rng = np.random.default_rng(seed), np.random.default_rng([seed, sample])
    u, v = rng.uniform(0, 1, (2, count))
    height = sum(
        landscape.uniform(0.02, 0.12) * np.exp(-((u - a) ** 2 + (v - b) ** 2) / landscape.uniform(0.005, 0.03))
        for a, b in landscape.uniform(0, 1, (9, 2))
    )
    return orient_normals(fit_surfels(np.column_stack([u, v, height]), 0.04))


def unit(rng: np.random.Generator, count: int) -> Floats:
    vectors = rng.normal(size=(count, 3))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def some_correspondences(seed: int, good: int, bad: int, T: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Correspondences with normals, the first few of which are inliers of one pose."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-20, 20, (2, good + bad, 3))
    n, m = unit(rng, good + bad), unit(rng, good + bad)
    y[:good] = transform(T, x[:good]) + 0.1 * rng.normal(size=(good, 3))
    m[:good] = n[:good] @ T[:3, :3].T
    return x, n, y, m


@given(seeds, st.integers(0, 30), st.integers(0, 60))
def test_hypotheses_have_the_support_that_numpy_counts(seed: int, good: int, bad: int) -> None:
    """Each proposal is the best of those left, where no correspondence of an earlier one may propose again."""
    correspondences = some_correspondences(seed, good, bad, random_transform(seed, 10.0))
    agree = twins.compatible(*correspondences, TOLERANCE)
    np.fill_diagonal(agree, False)
    shared = np.where(agree, agree.astype(int) @ agree + 2, 0)
    poses, support = _core.hypotheses(*correspondences, TOLERANCE, 64, ANY, 1)
    left = np.ones(good + bad, bool)
    for T, count in zip(poses, support, strict=True):
        assert count == shared[left].max()
        # Of equal proposals any is right: find the one that explains the pose and remove its correspondences.
        for first, second in np.argwhere((shared == count) & left[:, None]):
            together = agree[first] & agree[second]
            together[[first, second]] = True
            x, n, y, m = (ends[together] for ends in correspondences)
            if np.allclose(T, with_normals(x, n, y, m), atol=1e-6):
                left &= ~together
                break
        else:
            pytest.fail(f"no pair of correspondences with a support of {count} proposes this pose")
    assert len(poses) == 64 or not shared[left].any()


def with_normals(x: Floats, n: Floats, y: Floats, m: Floats) -> Floats:
    """The least-squares pose for points and, with the tolerance as their length, normals."""
    arms = np.concatenate([x - x.mean(0), TOLERANCE * n])
    ends = np.concatenate([y - y.mean(0), TOLERANCE * m])
    u, _, vt = np.linalg.svd(ends.T @ arms)
    rotation = u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt
    return pose(rotation, y.mean(0) - rotation @ x.mean(0))


@given(seeds)
def test_compatible_correspondences_propose_their_pose(seed: int) -> None:
    truth = random_transform(seed, 10.0)
    correspondences = some_correspondences(seed, 40, 0, truth)
    poses, support = _core.hypotheses(*correspondences, TOLERANCE, 64, ANY, 1)
    assert (np.diff(support) <= 0).all()
    # Six parameters from 40 points, each with noise of 0.1: sqrt(6 / 40) of it, and this more than twice.
    assert rmsd(poses[0], truth, correspondences[0]) < 0.1


@pytest.mark.parametrize(
    ("free", "names"), [([0, 0, 1, 1, 1, 1], "rz"), ([1, 0, 0, 1, 1, 1], "rx"), ([0, 0, 0, 1, 0, 1], "")]
)
def test_hypotheses_keep_to_the_degrees_of_freedom(free: list[int], names: str) -> None:
    axis = np.array(free[:3], float)
    truth = pose(rotation_from_vector(2.0 * axis), np.array([3.0, -5.0, 8.0]) * free[3:])
    dof = _core.DegreesOfFreedom([bool(one) for one in free], [0.0, 0.0, 0.0])
    correspondences = some_correspondences(1, 40, 100, truth)
    poses, _ = _core.hypotheses(*correspondences, TOLERANCE, 64, dof, 1)
    assert rmsd(poses[0], truth, correspondences[0]) < TOLERANCE
    for T in poses:
        np.testing.assert_array_equal(T[:3, :3] @ axis, axis)
        assert (T[:3, 3][np.array(free[3:]) == 0] == 0).all()
        if not names:
            assert np.array_equal(T[:3, :3], np.eye(3))


def test_without_correspondences_there_are_no_hypotheses() -> None:
    none = np.empty((0, 3))
    poses, support = _core.hypotheses(none, none, none, none, TOLERANCE, 64, ANY, 1)
    assert poses.shape == (0, 4, 4)
    assert len(support) == 0


def near_to(surfels: Surfels, seed: int, spread: float, count: int = 1500) -> Floats:
    rng = np.random.default_rng(seed)
    return np.asarray(surfels.points[rng.integers(len(surfels), size=count)] + spread * rng.normal(size=(count, 3)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["surface", "box", "blob"])
def test_the_grid_finds_the_nearest_surfel_almost_always(kind: str) -> None:
    surfels = fit_surfels(random_cloud(kind, 4000, 0), 0.12)
    places = near_to(surfels, 1, 0.7)
    found = surfels.grid.nearest(places, np.inf, 1)
    order, squared = twins.nearest(surfels.points, places, 1)
    # A voxel with its centre within 2.5 of a surfel has one; no point is farther than sqrt(3)/2 from that centre.
    assert (squared[found < 0, 0] >= (2.5 - 3**0.5 / 2) ** 2).all()
    here = found >= 0
    within_a_cell = squared[:, 0] <= 1
    assert (found != order[:, 0])[within_a_cell].mean() < 0.01
    # Where it is not the nearest, it is one of the next: a neighbour of the surfel that the voxel has.
    reached = ((places[here] - surfels.points[found[here]]) ** 2).sum(1)
    assert (np.sqrt(reached) - np.sqrt(squared[here, 0])).max() < 1


def test_far_from_all_surfels_the_grid_finds_none() -> None:
    surfels = hilly()
    away = np.array([[1e3, 0, 0], [-1e9, 1e9, 0], [0, 0, 1e300], [np.nan, 0, 0], [np.inf, -np.inf, 0]])
    assert (surfels.grid.nearest(away, np.inf, 1) == -1).all()


def test_a_long_thin_diagonal_cloud_has_a_grid() -> None:
    """With voxels of size 1 it would take 10^15 of them."""
    along = np.linspace(0, 1e5, 3000)[:, None] * np.ones(3)
    points = along + np.random.default_rng(0).normal(size=(3000, 3))
    neighbours = _core.Tree(points, 1).graph(10, 1)
    grid = _core.SurfelGrid(points, np.zeros_like(points), neighbours)
    assert (grid.nearest(points, np.inf, 1) == np.arange(3000)).mean() > 0.99


@pytest.mark.slow
@settings(max_examples=10)
@given(seeds, st.floats(0.3, 3.0))
def test_scores_are_those_of_numpy(seed: int, reach: float) -> None:
    target, source = hilly(), hilly(sample=1)
    near = pose(rotation_from_vector(np.random.default_rng(seed).normal(size=3) * 0.1), np.zeros(3))
    poses = np.array([np.eye(4), near, random_transform(seed, 10.0), random_transform(seed, 1e6)])
    found = target.grid.score(poses, source.points, source.normals, reach, 1)
    for T, score in zip(poses, found, strict=True):
        moved, rotated = transform(T, source.points), source.normals @ T[:3, :3].T
        named = twins.grid_lookup(target.points, moved)
        assert score == pytest.approx(
            twins.score(named, moved, rotated, target.points, target.normals, reach), rel=1e-6, abs=1e-9
        )


def test_surfels_on_themselves_score_almost_1_and_with_opposite_normals_nothing() -> None:
    surfels = hilly()
    apart = pose(np.eye(3), [0, 0, 50.0])
    whole, away = surfels.grid.score(np.array([np.eye(4), apart]), surfels.points, surfels.normals, 2.0, 1)
    assert 0.8 < whole <= 1
    assert away == 0
    assert surfels.grid.score(np.eye(4)[None], surfels.points, -surfels.normals, 2.0, 1)[0] < 0.01


@pytest.mark.slow
@given(seeds, st.floats(0.4, 3.0), st.booleans())
def test_normal_equations_are_those_of_numpy(seed: int, scale: float, weighted: bool) -> None:
    target, source = hilly(), hilly(sample=1)
    rng = np.random.default_rng(seed)
    T = pose(rotation_from_vector(rng.normal(size=3) * 0.05), rng.normal(size=3) * 0.5)
    weights = rng.uniform(0.1, 2, len(source)) if weighted else None
    found = target.grid.equations(T, source.points, source.normals, weights, scale, 1)
    moved, rotated = transform(T, source.points), source.normals @ T[:3, :3].T
    expected = twins.normal_equations(
        target.grid.nearest(moved, np.inf, 1),
        moved,
        rotated,
        target.points,
        target.normals,
        np.ones(len(source)) if weights is None else weights,
        scale,
    )
    for mine, twin in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, twin, rtol=1e-9, atol=1e-11 * np.abs(twin).max())


@pytest.mark.parametrize(
    ("free", "pivot"),
    [
        ([1, 1, 1, 1, 1, 1], [0, 0, 0]),
        ([0, 0, 1, 1, 1, 1], [5, 6, 7]),
        ([0, 0, 1, 1, 1, 0], [5, 6, 7]),
        ([0, 0, 1, 0, 1, 0], [30, -20, 5]),
        ([1, 1, 1, 0, 0, 0], [3, 40, 5]),
        ([0, 0, 0, 1, 0, 1], [0, 0, 0]),
    ],
)
def test_one_step_of_refinement_solves_the_equations(free: list[int], pivot: list[float]) -> None:
    target, source = hilly(), hilly(sample=1)
    initial = pose(rotation_from_vector([0.02, -0.01, 0.03]), [0.4, -0.3, 0.2])
    dof = _core.DegreesOfFreedom([bool(one) for one in free], np.array(pivot, float))
    found = target.grid.refine(initial[None], source.points, source.normals, None, np.array([1.5]), dof, 1)[0]
    equations = target.grid.equations(initial, source.points, source.normals, None, 1.5, 1)[:2]
    expected = twins.gauss_newton_step(initial, equations, np.array(free, bool), np.array(pivot, float))
    assert np.abs(found - initial).max() > 1e-3
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_refinement_converges_from_nearby() -> None:
    surfels = hilly()
    off = pose(rotation_from_vector([0.03, 0.02, -0.04]), [0.5, -0.4, 0.3])
    refined = surfels.grid.refine(
        off[None], surfels.points, surfels.normals, None, np.repeat([2.0, 1.0, 0.5], 10), ANY, 1
    )[0]
    assert rmsd(refined, np.eye(4), surfels.points) < 1e-6 * np.ptp(surfels.points)


def test_refinement_follows_the_heavier_surfels() -> None:
    """Half of the surfels were translated: with all the weight on either half, that half is registered."""
    surfels = hilly()
    left = surfels.points[:, 0] < np.median(surfels.points[:, 0])
    translation = np.array([0.3, 0.2, -0.1])
    points = surfels.points + np.where(left[:, None], translation, 0)
    for half, expected in ((left, -translation), (~left, np.zeros(3))):
        weights = np.where(half, 1.0, 1e-9)
        found = surfels.grid.refine(
            np.eye(4)[None], points, surfels.normals, weights, np.repeat([1.0, 0.5], 15), ANY, 1
        )[0]
        moved = transform(found, points[half]) - points[half]
        np.testing.assert_allclose(moved, np.broadcast_to(expected, moved.shape), atol=1e-3)


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads() -> None:
    target, source = hilly(), hilly(sample=1)
    poses = np.array([random_transform(seed, 5.0) for seed in range(7)])
    correspondences = some_correspondences(3, 100, 200, poses[0])

    def everything(threads: int) -> list[bytes]:
        with_normals = source.points, source.normals
        grid = target.grid
        one_step = np.array([1.5, 1.0])
        numbers = [
            grid.nearest(source.points, np.inf, threads),
            grid.score(poses, *with_normals, 2.0, threads),
            grid.refine(poses, *with_normals, None, one_step, ANY, threads),
            grid.refine(poses[:1], *with_normals, None, one_step, ANY, threads),
            *grid.equations(np.eye(4), *with_normals, None, 1.0, threads)[:2],
            *_core.hypotheses(*correspondences, TOLERANCE, 64, ANY, threads),
            coulomb_proposals(source, target, threads),
        ]
        return [array.tobytes() for array in numbers]

    assert everything(1) == everything(2) == everything(5)


def moved_by(surfels: Surfels, T: Floats) -> Surfels:
    return replace(surfels, points=transform(T, surfels.points), normals=surfels.normals @ T[:3, :3].T)


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_pose_from_any_initial_pose(seed: int, thorough: bool) -> None:
    pair = small_pair("casting")
    start = random_transform(seed, 30.0)
    source, truth = transform(start, pair.source), pair.T_target_source @ inverse(start)
    x, y = build_pyramids(preprocess(source, "source"), preprocess(pair.target, "target"))
    found = search_poses(PairEvidence(x, y), ANY, thorough=thorough)
    assert rmsd(to_cloud_frames(found.poses[0], x, y), truth, source) < y.coarse_voxel / 2
    assert (np.diff(found.evaluation.scores) <= 0).all()
    assert len(found.poses) == len(found.evaluation.scores) <= found.proposed + 48
    assert ((found.evaluation.overlaps >= 0) & (found.evaluation.overlaps <= 1)).all()
    assert found.evaluation.similarities()[0] == 1


def test_the_rotations_of_a_cube() -> None:
    rotations = np.array(cube_rotations())
    assert len(np.unique(rotations, axis=0)) == 24
    for rotation in rotations:
        assert np.linalg.det(rotation) == pytest.approx(1)
        corners = {tuple(corner) for corner in (np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T @ rotation.T)}
        assert len(corners) == 8
        assert all(set(map(abs, corner)) == {1} for corner in corners)


def test_one_of_the_coulomb_proposals_is_near_the_truth() -> None:
    """An object with three different axes, and a rotation far from all that are tried."""
    rng = np.random.default_rng(0)
    directions = unit(rng, 6000)
    directions[:, 2] += 0.4 * directions[:, 0] ** 2
    surfels = fit_surfels(directions * [1.0, 0.6, 0.35], 0.06)
    truth = random_transform(3, 10.0)
    poses = coulomb_proposals(moved_by(surfels, inverse(truth)), surfels)
    assert poses.shape == (24, 4, 4)
    assert min(angular_error(T, truth) for T in poses) < 5
