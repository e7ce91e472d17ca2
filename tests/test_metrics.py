"""AngErr, RMSD and the errors of sequences, against known motions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphreg
from graphreg.errors import InputError
from graphreg.metrics import angular_error, rmsd, segment_errors, sequence_errors, translation_error
from graphreg.poses import inverse, pose, rotation_from_vector
from tests.support.strategies import random_cloud, random_transform, seeds, transforms


@given(st.floats(1e-9, 180), transforms, seeds)
def test_the_angle_is_known_everywhere(degrees: float, motion: np.ndarray, seed: int) -> None:
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    turned = pose(rotation_from_vector(np.radians(degrees) * axis), [0, 0, 0]) @ motion
    assert angular_error(turned, motion) == pytest.approx(degrees, rel=1e-7, abs=1e-12)
    assert angular_error(motion, turned) == pytest.approx(degrees, rel=1e-7, abs=1e-12)


def test_nothing_is_no_angle() -> None:
    assert angular_error(np.eye(4), np.eye(4)) == 0
    assert angular_error(np.diag([1.0, -1, -1]), np.eye(3)) == 180


@given(transforms)
def test_rmsd_of_a_shift_is_its_length(motion: np.ndarray) -> None:
    points = random_cloud("blob", 50, 0)
    shifted = pose(np.eye(3), [3, 4, 12]) @ motion
    assert rmsd(shifted, motion, points) == pytest.approx(13, rel=1e-7)
    assert translation_error(shifted, motion) == pytest.approx(13, rel=1e-7)
    assert rmsd(motion, motion, points) == 0


def test_a_true_sequence_has_no_errors() -> None:
    poses = [random_transform(seed, 5.0) for seed in range(6)]
    steps = [inverse(a) @ b for a, b in pairwise(poses)]
    errors = sequence_errors(steps, poses)
    assert max(vars(errors).values()) < 1e-10


def test_errors_of_steps_add_up() -> None:
    truth = [pose(np.eye(3), [float(k), 0, 0]) for k in range(5)]
    drift = pose(rotation_from_vector([0, 0, np.radians(1)]), [1.1, 0, 0])
    errors = sequence_errors([drift] * 4, truth)
    assert errors.rpe_rotation == pytest.approx(1)
    assert errors.rpe_translation == pytest.approx(0.1)
    assert errors.final_rotation == pytest.approx(4)
    assert errors.ate_rotation == pytest.approx(2.5)
    assert errors.final_translation > errors.ate_translation > errors.rpe_translation


def test_steps_and_poses_must_match() -> None:
    with pytest.raises(graphreg.InputError, match="^truth: expected 3 poses for 2 steps, got 2"):
        sequence_errors([np.eye(4)] * 2, [np.eye(4)] * 2)


def straight(frames: int, apart: float, scale: float = 1.0) -> list[np.ndarray]:
    return [pose(np.eye(3), [scale * apart * k, 0.0, 0.0]) for k in range(frames)]


def test_segments_tell_a_scale_that_is_off_whatever_their_length() -> None:
    for frames, lengths in ((251, (100.0, 200.0)), (41, tuple(5.0 * k for k in range(1, 9)))):
        errors = segment_errors(straight(frames, 1.0, 1.02), straight(frames, 1.0))
        assert errors is not None
        assert errors.lengths == pytest.approx(lengths)
        assert errors.count == sum(frames - int(length) for length in lengths)
        assert errors.translation_percent == pytest.approx(2)
        assert errors.rotation_per_length == pytest.approx(0, abs=1e-9)


def test_segments_tell_a_turn_and_do_not_depend_on_the_world() -> None:
    world = pose(rotation_from_vector([0.3, -0.2, 0.9]), [5.0, 1.0, 2.0])
    turning = [pose(rotation_from_vector([0, 0, np.radians(0.1 * k)]), [1.0 * k, 0, 0]) for k in range(151)]
    errors = segment_errors([world @ here for here in turning], straight(151, 1.0))
    assert errors is not None
    assert errors.rotation_per_length == pytest.approx(0.1)


def test_segments_of_a_sensor_that_stands_still_are_none() -> None:
    assert segment_errors(straight(5, 0.0), straight(5, 0.0)) is None
    with pytest.raises(InputError, match="truth: expected poses of shape"):
        segment_errors(straight(5, 1.0), straight(4, 1.0))
