"""AngErr, RMSD, RPE, ATE and KITTI segment errors of known transforms."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphreg
from graphreg.errors import InputError
from graphreg.files.pose_files import write_poses
from graphreg.metrics import angular_error, rmsd, segment_errors, sequence_errors, translation_error
from graphreg.poses import inverse, pose, rotation_from_vector
from tests.support.strategies import random_cloud, random_transform, seeds, transforms


@given(st.floats(1e-9, 180), transforms, seeds)
def test_the_angular_error_is_exact_from_0_to_180_degrees(degrees: float, truth: np.ndarray, seed: int) -> None:
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    estimate = pose(rotation_from_vector(np.radians(degrees) * axis), [0, 0, 0]) @ truth
    assert angular_error(estimate, truth) == pytest.approx(degrees, rel=1e-7, abs=1e-12)
    assert angular_error(truth, estimate) == pytest.approx(degrees, rel=1e-7, abs=1e-12)


def test_the_identity_has_no_angular_error() -> None:
    assert angular_error(np.eye(4), np.eye(4)) == 0
    assert angular_error(np.diag([1.0, -1, -1]), np.eye(3)) == 180


@given(transforms)
def test_rmsd_of_a_translation_is_its_length(truth: np.ndarray) -> None:
    points = random_cloud("blob", 50, 0)
    estimate = pose(np.eye(3), [3, 4, 12]) @ truth
    assert rmsd(estimate, truth, points) == pytest.approx(13, rel=1e-7)
    assert translation_error(estimate, truth) == pytest.approx(13, rel=1e-7)
    assert rmsd(truth, truth, points) == 0


def test_the_true_trajectory_has_no_errors() -> None:
    poses = [random_transform(seed, 5.0) for seed in range(6)]
    steps = [inverse(a) @ b for a, b in pairwise(poses)]
    errors = sequence_errors(steps, poses)
    assert max(vars(errors).values()) < 1e-10


def test_errors_of_steps_accumulate() -> None:
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


def test_segment_errors_measure_a_scale_error_for_any_length() -> None:
    for frames, lengths in ((251, (100.0, 200.0)), (41, tuple(5.0 * k for k in range(1, 9)))):
        errors = segment_errors(straight(frames, 1.0, 1.02), straight(frames, 1.0))
        assert errors is not None
        assert errors.lengths == pytest.approx(lengths)
        assert errors.count == sum(frames - int(length) for length in lengths)
        assert errors.translation_percent == pytest.approx(2)
        assert errors.rotation_per_length == pytest.approx(0, abs=1e-9)


def test_segment_errors_measure_a_rotation_and_do_not_depend_on_the_world_frame() -> None:
    world = pose(rotation_from_vector([0.3, -0.2, 0.9]), [5.0, 1.0, 2.0])
    rotating = [pose(rotation_from_vector([0, 0, np.radians(0.1 * k)]), [1.0 * k, 0, 0]) for k in range(151)]
    errors = segment_errors([world @ here for here in rotating], straight(151, 1.0))
    assert errors is not None
    assert errors.rotation_per_length == pytest.approx(0.1)


def test_a_sensor_that_does_not_move_has_no_segment_errors() -> None:
    assert segment_errors(straight(5, 0.0), straight(5, 0.0)) is None
    with pytest.raises(InputError, match="truth: expected poses of shape"):
        segment_errors(straight(5, 1.0), straight(4, 1.0))


def test_errors_and_files_are_those_of_evo(tmp_path: Path) -> None:
    file_interface = pytest.importorskip("evo.tools.file_interface")
    from evo.core import metrics as evo
    from evo.core.trajectory import PosePath3D

    rng = np.random.default_rng(3)
    truth = [np.eye(4)]
    for _ in range(30):
        truth.append(
            truth[-1] @ pose(rotation_from_vector(0.1 * rng.normal(size=3)), [1, 0, 0] + 0.1 * rng.normal(size=3))
        )
    found = [each @ pose(rotation_from_vector(0.01 * rng.normal(size=3)), 0.02 * rng.normal(size=3)) for each in truth]
    found = [np.linalg.inv(found[0]) @ each for each in found]
    stamps = np.linspace(100.0, 103.0, len(found))
    write_poses(tmp_path / "poses.tum", found, times=stamps)
    write_poses(tmp_path / "poses.kitti", found)
    read = file_interface.read_tum_trajectory_file(tmp_path / "poses.tum")
    assert np.allclose(read.poses_se3, found, atol=1e-6)
    assert np.allclose(read.timestamps, stamps)
    assert np.allclose(file_interface.read_kitti_poses_file(tmp_path / "poses.kitti").poses_se3, found, atol=1e-9)
    steps = [np.linalg.inv(a) @ b for a, b in pairwise(found)]
    ours = sequence_errors(steps, truth)
    paths = PosePath3D(poses_se3=truth), PosePath3D(poses_se3=found)
    relations = {"rotation": evo.PoseRelation.rotation_angle_deg, "translation": evo.PoseRelation.translation_part}
    for name, relation in relations.items():
        relative = evo.RPE(relation, delta=1, delta_unit=evo.Unit.frames)
        absolute = evo.APE(relation)
        for metric in (relative, absolute):
            metric.process_data(paths)
        assert getattr(ours, f"rpe_{name}") == pytest.approx(relative.get_statistic(evo.StatisticsType.mean), rel=1e-4)
        # The mean of evo counts the first frame.
        mean = absolute.get_statistic(evo.StatisticsType.mean) * len(found) / (len(found) - 1)
        assert getattr(ours, f"ate_{name}") == pytest.approx(mean, rel=1e-4)
