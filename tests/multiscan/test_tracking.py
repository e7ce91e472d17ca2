"""Tracking on a map of surfels: the kernels, the pose, and a verdict that does not accept wrong poses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.support import twins
from tests.support.walks import NOISE, frame_at, in_first_frame, walk_frames, walk_poses

import graphreg._core as _core
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan.deskewing import deskewed, sensor_poses
from graphreg.multiscan.tracking import (
    TRACKING,
    SurfelTracker,
    confidence_of,
    displacement,
    least_information,
    least_support,
    tracking_features,
)
from graphreg.poses import pose, rotation_from_vector, transform

COUNT = 6


@pytest.fixture(scope="module")
def frames() -> list[np.ndarray]:
    return walk_frames(COUNT)


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return in_first_frame(walk_poses(COUNT))


@pytest.fixture(scope="module")
def tracker(frames: list[np.ndarray], truth: np.ndarray) -> SurfelTracker:
    return tracker_of(frames[:-1], truth[:-1])


def tracker_of(frames: list[np.ndarray], poses: np.ndarray, threads: int = 1) -> SurfelTracker:
    tracker = SurfelTracker(frames[0], threads)
    for frame, T_first_frame in zip(frames, poses, strict=True):
        tracker.insert(tracker.voxels_of(frame), T_first_frame)
    return tracker


def random_pose(rng: np.random.Generator, radians: float, metres: float) -> np.ndarray:
    return pose(rotation_from_vector(rng.normal(size=3) * radians), rng.normal(size=3) * metres)


@pytest.mark.parametrize("shift", [0.0, -3.7, 5e5])
def test_voxels_of_a_frame_have_the_moments_of_their_points(shift: float) -> None:
    """As of the twins; voxels come in the order in which the points reach them."""
    points = np.random.default_rng(1).normal(size=(2000, 3)) * [3, 2, 0.5] + shift
    size = 0.7
    point_times = points[:, 0] / 10
    counts, means, moments, times = _core.frame_voxels(points, point_times, size)
    which = twins.group_by_voxel(points, size)
    reached = list(dict.fromkeys(which.tolist()))
    assert len(counts) == len(reached)
    for voxel, count, mean, moment, time in zip(reached, counts, means, moments, times, strict=True):
        members = points[which == voxel]
        expected = twins.voxel_moments(members, np.ones(len(members)))
        assert count == expected[0]
        assert abs(time - point_times[which == voxel].mean()) < 1e-12 * (1 + abs(shift))
        # Rounding of coordinates, and of products of offsets within a voxel.
        np.testing.assert_allclose(mean, expected[1], rtol=1e-15, atol=1e-14)
        np.testing.assert_allclose(moment, expected[2], atol=1e-12 * count + 4e-16 * abs(shift) * size * count)


def test_surfels_are_the_planes_of_the_largest_flat_voxels() -> None:
    voxel, levels, thickness = 0.2, 3, 0.02
    rng = np.random.default_rng(1)
    points = frame_at(np.eye(4), 3)
    order, starts, _ = _core.group_by_voxel(points, voxel, 1)
    counts, means, moments = _core.voxel_moments(points, None, order, starts, 1)
    T = random_pose(rng, 1.0, 5.0)
    members = [transform(T, points[order[a:b]]) for a, b in pairwise(starts)]
    surfel_map = _core.SurfelMap(voxel, levels, thickness)
    surfel_map.insert(counts, means, moments, T, 1)
    queries = np.concatenate([transform(T, points[:200]), rng.normal(size=(20, 3)) * 10])
    kinds, centres, normals = surfel_map.find(queries)
    assert set(kinds) == {0, 1, 2}
    for query, kind, centre, normal in zip(queries, kinds, centres, normals, strict=True):
        expected = twins.surfel_at(query, transform(T, means), members, voxel, levels, thickness)
        assert kind == expected[0]
        if kind == 2:
            assert np.allclose(centre, expected[1], atol=1e-9)
            assert np.isclose(abs(normal @ expected[2]), 1.0, atol=1e-9)


def test_what_is_far_is_forgotten_and_its_memory_used_again(frames: list[np.ndarray]) -> None:
    tracker = SurfelTracker(frames[0])
    voxels = tracker.voxels_of(frames[0])
    sizes = []
    for k in range(40):
        tracker.insert(voxels, pose(np.eye(3), [4.0 * k, 0, 0]))
        sizes.append(len(tracker._map))
    assert max(sizes[20:]) <= 1.1 * max(sizes[:20])
    tracker._map.forget(np.full(3, 1e6), 1.0)
    assert len(tracker._map) == 0


def test_a_frame_is_tracked_from_nearby(tracker: SurfelTracker, frames: list[np.ndarray], truth: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        near = truth[-1] @ random_pose(rng, 0.01, tracker.voxel / 4)
        found = tracker.track(tracker.voxels_of(frames[-1]), near)
        assert found.success, found.reason
        assert angular_error(found.pose, truth[-1]) < 0.1
        assert translation_error(found.pose, truth[-1]) < 2 * NOISE
        assert 0.5 < found.overlap <= 1
        assert found.inliers <= found.correspondences <= len(frames[-1])


def test_the_velocity_within_a_frame_is_estimated_with_its_pose(
    tracker: SurfelTracker, frames: list[np.ndarray], truth: np.ndarray
) -> None:
    """Also where the points were deskewed by another velocity."""
    velocity = pose(rotation_from_vector([0.01, -0.005, 0.06]), [0.1, 0.03, -0.02])
    believed = pose(rotation_from_vector([0, 0, 0.03]), [0.05, 0, 0])
    points = frames[-1]
    times = np.linspace(-0.5, 0.5, len(points))[np.argsort(np.argsort(np.arctan2(points[:, 1], points[:, 0])))]
    instants = np.linspace(-0.5, 0.5, 101)
    instant_of = np.round((times + 0.5) * 100).astype(np.int32)
    measured = _core.transform_each(points, instant_of, np.linalg.inv(sensor_poses(velocity, instants)), 1)
    frame = tracker.voxels_of(deskewed(measured, times, believed), times)
    found, moved = tracker.track_sweep(frame, truth[-1], believed)
    assert angular_error(found, truth[-1]) < 0.1
    assert translation_error(found, truth[-1]) < 2 * NOISE
    # At the ends of the frame, half a frame from its middle, the error of the velocity counts by a half.
    assert angular_error(moved, velocity) < 2 * 0.2
    assert translation_error(moved, velocity) < 2 * 4 * NOISE


def test_no_wrong_pose_is_a_success(tracker: SurfelTracker, frames: list[np.ndarray], truth: np.ndarray) -> None:
    rng = np.random.default_rng(2)
    voxels = tracker.voxels_of(frames[-1])
    accepted = 0
    for scale in np.geomspace(0.2, 30, 60):
        found = tracker.track(voxels, truth[-1] @ random_pose(rng, 0.03 * scale, tracker.voxel / 2 * scale))
        accepted += found.success
        if found.success:
            assert translation_error(found.pose, truth[-1]) < 5 * NOISE
    assert 5 < accepted < 60


def test_a_plane_does_not_determine_the_pose() -> None:
    rng = np.random.default_rng(0)
    plane = np.concatenate([rng.uniform(-5, 5, (20_000, 2)), NOISE * rng.normal(size=(20_000, 1))], axis=1)
    tracker = tracker_of([plane], np.eye(4)[None])
    found = tracker.track(tracker.voxels_of(plane), np.eye(4))
    assert not found.success
    assert "do not determine the pose" in found.reason
    assert found.degenerate


def test_confidence_grows_with_all_that_speaks_for_a_pose() -> None:
    good = {"overlap": 0.8, "inliers": 900, "correspondences": 1000, "support": 0.7, "information": 0.05}
    worse = {"overlap": 0.3, "inliers": 500, "support": 0.1, "information": 0.001}
    confidence = confidence_of(tracking_features(**good))
    assert confidence > TRACKING.success
    for name, value in worse.items():
        assert confidence_of(tracking_features(**{**good, name: value})) < confidence, name
    none = confidence_of(tracking_features(0.0, 0, 0, 0.0, 0.0))
    assert 0 <= none < 1e-3


def test_the_same_bits_for_any_number_of_threads(frames: list[np.ndarray], truth: np.ndarray) -> None:
    found = []
    for threads in (1, 3):
        tracker = tracker_of(frames[:-1], truth[:-1], threads)
        found.append(tracker.track(tracker.voxels_of(frames[-1]), truth[-2]).pose)
    assert np.array_equal(*found)


def test_displacement_and_information() -> None:
    points = np.random.default_rng(0).normal(size=(2_000, 3))
    assert np.isclose(displacement(points, pose(np.eye(3), [3.0, 0, 4.0])), 5.0)
    assert least_information(np.zeros((6, 6))) == 0.0
    assert np.isclose(least_information(np.diag([7.0, 7, 7, 2, 2, 2])), 1 / 3)
    assert least_information(np.diag([7.0, 7, 7, 2, 2, 0])) == 0.0


@given(arrays(float, (9, 6), elements=st.floats(-1, 1)), arrays(float, (3, 6), elements=st.floats(-1, 1)))
def test_support_is_the_smallest_share_of_the_inliers_over_all_directions(inlying: Any, outlying: Any) -> None:
    inlying = np.concatenate([inlying, 0.1 * np.eye(6)])
    information, other = inlying.T @ inlying, outlying.T @ outlying
    least = least_support(information, other)
    directions = np.random.default_rng(0).normal(size=(50, 6))
    shares = [v @ information @ v / (v @ (information + other) @ v) for v in directions]
    assert -1e-9 <= least <= min(shares) + 1e-9
    assert least_support(information, 0 * other) == pytest.approx(1)
    assert least_support(0 * information, 0 * other) == 0


def test_a_prior_map_is_the_map_of_its_points(frames: list[np.ndarray], truth: np.ndarray) -> None:
    points = np.concatenate([transform(T, frame) for T, frame in zip(truth[:3], frames[:3], strict=True)])
    prior = SurfelTracker(frames[0], prior_map=points)
    assert prior.voxel >= SurfelTracker(frames[0]).voxel
    found = prior.track(prior.voxels_of(points), np.eye(4))
    assert found.success
    assert found.overlap > 0.99
    assert np.allclose(found.pose, np.eye(4), atol=1e-3)
