"""AngErr, RMSD and the errors of sequences, against known motions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphreg
from drawn import make_cloud, make_motion, motions, seeds
from graphreg.metrics import angular_error, rmsd, sequence_errors, translation_error
from graphreg.poses import inverse, pose, rotation_from_vector


@given(st.floats(1e-9, 180), motions, seeds)
def test_the_angle_is_known_everywhere(degrees: float, motion: np.ndarray, seed: int) -> None:
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    turned = pose(rotation_from_vector(np.radians(degrees) * axis), [0, 0, 0]) @ motion
    assert angular_error(turned, motion) == pytest.approx(degrees, rel=1e-7, abs=1e-12)
    assert angular_error(motion, turned) == pytest.approx(degrees, rel=1e-7, abs=1e-12)


def test_nothing_is_no_angle() -> None:
    assert angular_error(np.eye(4), np.eye(4)) == 0
    assert angular_error(np.diag([1.0, -1, -1]), np.eye(3)) == 180


@given(motions)
def test_rmsd_of_a_shift_is_its_length(motion: np.ndarray) -> None:
    points = make_cloud("blob", 50, 0)
    shifted = pose(np.eye(3), [3, 4, 12]) @ motion
    assert rmsd(shifted, motion, points) == pytest.approx(13, rel=1e-7)
    assert translation_error(shifted, motion) == pytest.approx(13, rel=1e-7)
    assert rmsd(motion, motion, points) == 0


def test_a_true_sequence_has_no_errors() -> None:
    poses = [make_motion(seed, 5.0) for seed in range(6)]
    steps = [inverse(a) @ b for a, b in pairwise(poses)]
    errors = sequence_errors(steps, poses)
    assert max(vars(errors).values()) < 1e-10


def test_errors_of_steps_add_up() -> None:
    truth = [pose(np.eye(3), [float(k), 0, 0]) for k in range(5)]
    drift = pose(rotation_from_vector([0, 0, np.radians(1)]), [1.1, 0, 0])
    errors = sequence_errors([drift] * 4, truth)
    assert errors.relative_rotation == pytest.approx(1)
    assert errors.relative_translation == pytest.approx(0.1)
    assert errors.last_rotation == pytest.approx(4)
    assert errors.absolute_rotation == pytest.approx(2.5)
    assert errors.last_translation > errors.absolute_translation > errors.relative_translation


def test_steps_and_poses_must_match() -> None:
    with pytest.raises(graphreg.InputError, match="^truth: expected 3 poses for 2 steps, got 2"):
        sequence_errors([np.eye(4)] * 2, [np.eye(4)] * 2)
