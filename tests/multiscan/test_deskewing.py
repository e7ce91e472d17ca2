"""Deskewing: the times of points, and points of a moving sensor as seen at one time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from tests.support.walks import NOISE, frame_at, scene_points, walk_poses

from graphreg.clouds import Cloud, as_cloud
from graphreg.errors import InputError
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan.deskewing import DESKEWING, deskewed, frame_times, sensor_poses
from graphreg.multiscan.odometry import Odometry, sequence
from graphreg.poses import inverse, pose, rotation_from_vector, transform

SPEEDS = st.floats(-2, 2)


def circle(count: int = 400) -> np.ndarray:
    """Points of a scanner that turns to the left, from behind."""
    azimuth = np.linspace(-np.pi, np.pi, count, endpoint=False)
    return np.stack([5 * np.cos(azimuth), 5 * np.sin(azimuth), np.zeros(count)], axis=1)


@pytest.mark.slow
@given(SPEEDS, SPEEDS, st.floats(-0.3, 0.3))
def test_a_static_point_is_seen_at_one_place(x: float, y: float, turn: float) -> None:
    """A sensor on a screw, with constant velocity in its own frame, sees one static point at many times."""
    small = 64
    step = pose(rotation_from_vector([0, 0, turn / small]), np.array([x, y, 0.1]) / small)
    T_previous_frame = np.linalg.matrix_power(step, small)
    numbers = np.arange(-small // 2, small // 2 + 1)
    static = np.array([[7.0, -3.0, 1.0]])
    measured = np.concatenate(
        [transform(np.linalg.matrix_power(inverse(step) if n >= 0 else step, abs(n)), static) for n in numbers]
    )
    found = deskewed(measured, numbers / small, T_previous_frame)
    speed, radius = np.hypot(x, y) + 0.1, np.linalg.norm(static)
    # Times are rounded to instants; the velocity is exact to second order in the rotation.
    rounding = (speed + abs(turn) * radius) / DESKEWING.instants
    assert np.abs(found - static).max() <= rounding + speed * turn**2


def test_at_the_middle_of_the_frame_the_sensor_is_at_its_pose() -> None:
    T = pose(rotation_from_vector([0.1, -0.2, 0.3]), [1.0, 2.0, 3.0])
    poses = sensor_poses(T, np.array([-0.5, 0.0, 0.5]))
    assert np.allclose(poses[1], np.eye(4))
    assert np.allclose(inverse(poses[0]) @ poses[2], T, atol=0.02 * 3)


@pytest.mark.parametrize("unit", [1, 1e-9, 1_700_000_000])
def test_times_are_in_any_unit(unit: float) -> None:
    assert np.allclose(frame_times(unit * np.arange(5.0), as_cloud(np.eye(5, 3))), [-0.5, -0.25, 0, 0.25, 0.5])


def test_times_of_rows_that_are_not_finite_are_left_out() -> None:
    cloud = as_cloud([[0, 0, 0], [np.nan, 0, 0], [1, 0, 0], [2, 0, 0]])
    assert np.allclose(frame_times([0, 99, 5, 10], cloud), [-0.5, 0, 0.5])


@pytest.mark.parametrize("field", ["t", "time", "timestamp", "offset_time"])
def test_times_from_the_attributes_of_a_cloud(field: str) -> None:
    # Nanoseconds since 1970 would lose their last digits as a float64.
    stamps = np.uint64(1_700_000_000_000_000_000) + np.array([0, 50, 100], np.uint64)
    cloud = Cloud(np.eye(3), np.ones(3, bool), {field: stamps})
    assert np.allclose(frame_times("fields", cloud), [-0.5, 0, 0.5])


@pytest.mark.parametrize("direction", [1, -1])
def test_times_are_guessed_from_the_azimuth(direction: int) -> None:
    points = circle()[::direction]
    assert np.allclose(frame_times("guess", as_cloud(points)), np.linspace(-0.5, 0.5, len(points)), atol=1e-9)


def test_equal_times_are_no_distortion() -> None:
    assert frame_times(np.ones(5), as_cloud(np.eye(5, 3))) is None
    assert frame_times(None, as_cloud(np.eye(5, 3))) is None


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ("fields", "times: the frame has none of the attributes t, time, timestamp, offset_time; it has none"),
        ("guess", "times: they cannot be guessed"),
        ("now", "times: expected a number for each point, 'fields' or 'guess', got 'now'"),
        ([1, 2], "times: expected 40 numbers, one for each point, got 2"),
        (np.zeros((40, 2)), "times: expected a number for each point, got an array of shape"),
        (np.full(40, np.nan), "times: expected finite numbers"),
    ],
)
def test_bad_times_are_named(times: Any, message: str) -> None:
    cloud = as_cloud(np.random.default_rng(0).normal(size=(40, 3)))
    with pytest.raises(InputError, match=message):
        frame_times(times, cloud)


def test_words_are_checked_before_a_frame_is_taken() -> None:
    with pytest.raises(InputError, match="times: "):
        Odometry().add(np.eye(3), times="now")
    with pytest.raises(InputError, match="times: expected one of fields, guess, got 'now'"):
        sequence([], times="now")


@pytest.mark.slow
def test_a_distorted_sequence_is_deskewed() -> None:
    start, step = walk_poses(1)[0], pose(rotation_from_vector([0, 0, 0.06]), [0.1, 0.02, 0])
    truth = [np.linalg.matrix_power(step, k) for k in range(5)]
    instants = np.linspace(-0.5, 0.5, 41)
    T_time_frame = [inverse(each) for each in sensor_poses(step, instants)]
    apart = []
    for known in (True, False):
        odometry, errors = Odometry(), []
        for k, T_first_frame in enumerate(truth):
            points = frame_at(start @ T_first_frame, k)
            in_order = points[np.argsort(np.arctan2(points[:, 1], points[:, 0]))]
            parts = np.array_split(in_order, len(instants))
            measured = [transform(T, part) for T, part in zip(T_time_frame, parts, strict=True)]
            times = np.repeat(instants, [len(part) for part in measured])
            found = odometry.add(np.concatenate(measured), times if known else None)
            assert found.success
            errors.append((angular_error(found.pose, T_first_frame), translation_error(found.pose, T_first_frame)))
        if known:
            # The first frame is the reference.
            rotation, translation = np.mean(errors[1:], axis=0)
            assert rotation < 0.1
            assert translation < 2 * NOISE
        # All points of the frame in the world, where they were sampled from the points of the scene.
        apart.append(np.median(cKDTree(scene_points()).query(transform(start, odometry.newest))[0]))
    assert apart[0] < 4 * NOISE
    assert apart[1] > 2 * apart[0]


@pytest.mark.slow
def test_a_sensor_that_turns_to_and_fro_is_deskewed() -> None:
    """Its velocity within a frame is not that from the previous frame: it changes by up to 5.5 degrees a frame."""

    def sensor_at(time: float) -> np.ndarray:
        yaw = 0.35 * np.sin(2 * np.pi * time / 12)
        return pose(rotation_from_vector([0, 0, yaw]), [0.02 * time, 0.05 * np.sin(2 * np.pi * time / 9), 0])

    start, instants = walk_poses(1)[0], np.linspace(-0.5, 0.5, 41)
    odometry, truth, found = Odometry(), [], []
    for k in range(14):
        truth.append(inverse(sensor_at(0)) @ sensor_at(k))
        points = frame_at(start @ sensor_at(k), k)
        in_order = points[np.argsort(np.arctan2(points[:, 1], points[:, 0]))]
        parts = np.array_split(in_order, len(instants))
        moved = [inverse(sensor_at(k + t)) @ sensor_at(k) for t in instants]
        measured = [transform(T, part) for T, part in zip(moved, parts, strict=True)]
        step = odometry.add(np.concatenate(measured), np.repeat(instants, [len(part) for part in measured]))
        assert step.success
        # Of the second frame no velocity is known; all later ones are tracked.
        assert step.global_search == (k == 1)
        found.append(step.pose)
    # The acceleration within a frame, which is not modelled, rotates its ends by this much.
    unmodelled = np.degrees(0.35 * (2 * np.pi / 12) ** 2 / 8)
    assert max(angular_error(T, expected) for T, expected in zip(found, truth, strict=True)) < unmodelled
    assert max(translation_error(T, expected) for T, expected in zip(found, truth, strict=True)) < 3 * NOISE
