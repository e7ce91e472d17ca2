"""LiDAR odometry: accurate trajectories, frames that cannot be registered, memory, and bad input."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from tests.support.walks import NOISE, POINTS, frame_at, in_first_frame, scene_points, walk_frames, walk_poses

from graphreg.datasets import city_routes, synthetic
from graphreg.errors import InputError
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan.maps import LazyCloud, LocalMap, MapParameters
from graphreg.multiscan.odometry import Odometry, sequence
from graphreg.multiscan.tracking import FrameVoxels, TrackedFrame
from graphreg.multiscan.trajectory import FrameResult, Trajectory, relative_transforms
from graphreg.poses import inverse, pose, rotation_from_vector, transform

COUNT = 10
# A pose is estimated from thousands of points, so its error is below the noise of one.
DEGREES, METRES = 0.1, 2 * NOISE


@pytest.fixture(scope="module")
def frames() -> list[np.ndarray]:
    return walk_frames(COUNT)


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return in_first_frame(walk_poses(COUNT))


@pytest.fixture(scope="module")
def trajectory(frames: list[np.ndarray]) -> Trajectory:
    return sequence(frames, keep_map=True)


def assert_same_poses(poses: Any, truth: Any, steps: int = 1) -> None:
    """Within the error of this many registrations."""
    for here, there in zip(poses, truth, strict=True):
        assert angular_error(here, there) < steps * DEGREES
        assert translation_error(here, there) < steps * METRES


@pytest.mark.slow
def test_the_second_frame_is_searched_for_and_not_refined_from_a_guess() -> None:
    """In this street a wrong pose near that of the first frame fits: the rings of both frames meet on the ground."""
    scans = list(synthetic.sequence("street", 3, 1.5, points=15_000, variant=1))
    truth = inverse(scans[0].pose) @ np.array([scan.pose for scan in scans])
    assert_same_poses(sequence([scan.points for scan in scans]).poses, truth, steps=2)


@pytest.mark.slow
def test_a_wrong_pose_near_the_prediction_is_compared_with_what_the_search_finds() -> None:
    """Where the sensor begins to turn by 17 degrees a frame, a pose that is off by 6 degrees fits, but not the map."""
    back: city_routes.Route = ((0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (0, 0))
    route = city_routes.follow(
        back, variant=4, step=2.5, block=(60.0, 50.0), points=4000, alike=True, seed=4, length=160.0
    )
    scans = list(islice(route, 40, None))
    truth = inverse(scans[0].pose) @ np.array([scan.pose for scan in scans])
    trajectory = sequence([scan.points for scan in scans])
    for step, here in zip(trajectory.steps, truth, strict=True):
        # A tenth of the voxel size, a metre: frames are sparse.
        assert not step.success or (angular_error(step.pose, here) < 1 and translation_error(step.pose, here) < 0.3)
    assert trajectory.success


@pytest.mark.slow
def test_a_sensor_with_sparse_frames_that_begins_to_turn_by_18_degrees_a_frame_is_followed() -> None:
    back: city_routes.Route = ((0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (0, 0))
    route = city_routes.follow(
        back, variant=3, step=2.5, block=(60.0, 50.0), points=4000, alike=True, seed=3, length=110.0
    )
    scans = list(islice(route, 24, None))
    truth = inverse(scans[0].pose) @ np.array([scan.pose for scan in scans])
    trajectory = sequence([scan.points for scan in scans])
    assert trajectory.success
    for here, there in zip(trajectory.poses, truth, strict=True):
        # A tenth of the voxel size, a metre, for each of the few dozen metres.
        assert angular_error(here, there) < 1
        assert translation_error(here, there) < 0.3


class FittingAt:
    """Tracks a frame at these poses along x, each explained by so much; elsewhere at none."""

    voxel = 1.0

    def __init__(self, explained: dict[float, float]) -> None:
        self.explained = explained

    def voxels_of(self, points: np.ndarray, _: np.ndarray | None) -> FrameVoxels:
        return FrameVoxels(np.ones(len(points)), points, np.zeros((len(points), 6)), np.zeros(len(points)))

    def track(self, _: FrameVoxels, start: np.ndarray) -> TrackedFrame:
        share = self.explained.get(round(float(start[0, 3]), 3), 0.0)
        return TrackedFrame(start, share > 0, "tracked: ", share, 1000, 1000, 0.9, 0.1, 0.95)


@pytest.mark.parametrize(
    ("explained", "expected"),
    [
        ({1.0: 0.9}, 1.0),
        ({1.0: 0.9, 4.0: 0.7}, 1.0),
        # The other one fits as well, or the same.
        ({1.0: 0.9, 4.0: 0.8}, None),
        ({1.0: 0.9, 1.5: 0.9}, 1.0),
        # Another place far away that looks like this one is ruled out by the prediction; so is that one alone.
        ({1.0: 0.9, 40.0: 1.0}, 1.0),
        ({40.0: 1.0}, None),
        # Explained too little.
        ({1.0: 0.6}, None),
        ({}, None),
    ],
)
def test_a_frame_without_a_registration_needs_one_pose_that_fits(
    explained: dict[float, float], expected: float | None
) -> None:
    odometry = Odometry()
    odometry._tracker = FittingAt(explained)  # type: ignore[assignment]
    scan = LazyCloud(np.random.default_rng(0).normal(size=(100, 3)), 0)
    poses = [pose(np.eye(3), [x, 0, 0]) for x in (*explained, 2.0)]
    # The second frame: the map of one frame cannot tell.
    assert odometry._sure_of_one(scan, np.eye(4), poses) is None
    odometry._velocity = np.eye(4)
    found = odometry._sure_of_one(scan, np.eye(4), poses)
    assert (None if found is None else found.pose[0, 3]) == expected


@pytest.mark.slow
def test_the_trajectory_is_estimated(trajectory: Trajectory, truth: np.ndarray) -> None:
    assert trajectory.success
    assert np.array_equal(trajectory.poses[0], np.eye(4))
    assert_same_poses(trajectory.poses, truth, steps=2)
    assert [step.number for step in trajectory.steps] == list(range(COUNT))
    assert all(step.target == "map" for step in trajectory.steps[1:])
    assert [step.global_search for step in trajectory.steps] == [False, True] + [False] * (COUNT - 2)
    # The first step has no prediction; from then on no frame needs descriptors.
    assert all(step.reason.startswith("tracked") for step in trajectory.steps[2:])


@pytest.mark.slow
def test_looking_for_loops_changes_nothing_where_there_are_none(
    frames: list[np.ndarray], trajectory: Trajectory
) -> None:
    found = sequence(frames, keep_map=True, loops=True)
    assert found.loops == ()
    assert trajectory.loops is None
    np.testing.assert_allclose(found.poses, trajectory.poses, atol=1e-12)
    assert found.map is not None
    assert trajectory.map is not None
    assert cKDTree(trajectory.map).query(found.map)[0].max() < trajectory.steps[0].voxel


def test_loops_need_keyframes_and_all_steps() -> None:
    with pytest.raises(InputError, match="loops: can be found in mode 'map' only"):
        Odometry(mode="pairs", loops=True)
    with pytest.raises(InputError, match="loops: expected True or False"):
        Odometry(loops="yes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="loops: expected loops=True"):
        Odometry().corrected([])
    odometry = Odometry(loops=True)
    step = odometry.add(np.empty((0, 3)))
    assert odometry.corrected([step], keep_map=True).loops == ()
    with pytest.raises(InputError, match="steps: expected one for each of 1 frames, got 0"):
        odometry.corrected([])


@pytest.mark.slow
def test_pairs_register_each_frame_to_the_previous_one(frames: list[np.ndarray], truth: np.ndarray) -> None:
    result = sequence(frames, mode="pairs")
    assert result.success
    attempts = {(step.target, step.global_search, step.keyframe) for step in result.steps[1:]}
    assert attempts == {("previous frame", True, False)}
    assert_same_poses(relative_transforms(result.poses), relative_transforms(truth))


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads_and_one_by_one(
    frames: list[np.ndarray], trajectory: Trajectory
) -> None:
    odometry = Odometry(threads=1)
    assert np.array_equal([odometry.add(frame).pose for frame in frames], trajectory.poses)
    assert np.array_equal(sequence(frames[:5], threads=3).poses, trajectory.poses[:5])


def test_no_frame_is_taken_that_is_not_used(frames: list[np.ndarray]) -> None:
    remaining = iter(frames)
    sequence(remaining, every=3, limit=2)
    assert len(list(remaining)) == COUNT - 4


def test_frames_are_taken_one_by_one_and_released() -> None:
    taken: list[weakref.ref[Any]] = []

    def frames() -> Iterator[np.ndarray]:
        for k, T_world_frame in enumerate(walk_poses(6)):
            points = frame_at(T_world_frame, k)
            taken.append(weakref.ref(points))
            yield points

    def watch(step: FrameResult) -> None:
        assert len(taken) == step.number + 1
        # The generator and the caller may still refer to the last one.
        assert sum(frame() is not None for frame in taken) <= 2

    assert sequence(frames(), callback=watch).success


@pytest.mark.slow
def test_poses_stay_accurate_when_the_local_map_is_renewed_often(frames: list[np.ndarray], truth: np.ndarray) -> None:
    odometry = Odometry()
    odometry._map = LocalMap(parameters=MapParameters(keyframes=2, distance=0.1))
    steps = [odometry.add(frame) for frame in frames]
    assert sum(step.keyframe for step in steps) > 2
    assert_same_poses([step.pose for step in steps], truth, steps=COUNT)


def test_a_sensor_that_stands_still_adds_no_keyframes() -> None:
    still = sequence([frame_at(walk_poses(1)[0], k) for k in range(6)])
    assert [step.keyframe for step in still.steps] == [True] + 5 * [False]
    assert_same_poses(still.poses, [np.eye(4)] * 6)


@pytest.mark.slow
def test_every_nth_up_to_a_limit_and_the_callback_can_stop(frames: list[np.ndarray]) -> None:
    assert [step.number for step in sequence(iter(frames), every=3, limit=2).steps] == [0, 3]
    assert [step.number for step in sequence(frames, every=4).steps] == [0, 4, 8]
    assert len(sequence(frames, callback=lambda step: step.number == 1).steps) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "bad"),
    [
        ("map", np.empty((0, 3))),
        ("map", np.ones((500, 3))),
        ("map", "no/such/file.ply"),
        ("map", None),
        ("pairs", np.ones((500, 3))),
    ],
)
def test_a_frame_that_cannot_be_used_is_reported_and_skipped(
    frames: list[np.ndarray], truth: np.ndarray, mode: str, bad: Any
) -> None:
    result = sequence([*frames[:3], bad, *frames[4:6]], mode=mode)
    assert [step.success for step in result.steps] == [True, True, True, False, True, True]
    lost = result.steps[3]
    assert lost.reason.startswith("not registered: ")
    assert not lost.keyframe
    # The constant-velocity prediction.
    assert np.allclose(lost.pose, result.poses[2] @ inverse(result.poses[1]) @ result.poses[2])
    assert_same_poses(result.poses[[0, 1, 2, 4, 5]], truth[[0, 1, 2, 4, 5]], steps=2)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["map", "pairs"])
@pytest.mark.parametrize("bad", [np.empty((0, 3)), np.ones((500, 3))])
def test_if_the_first_frame_cannot_be_used_the_second_is_the_reference(
    frames: list[np.ndarray], mode: str, bad: np.ndarray
) -> None:
    result = sequence([bad, *frames[:3]], mode=mode)
    assert [step.success for step in result.steps] == [False, True, True, True]
    assert_same_poses(result.poses[1:], in_first_frame(walk_poses(3)), steps=2)


@pytest.mark.slow
def test_a_frame_of_another_scene_keeps_the_predicted_pose(frames: list[np.ndarray], truth: np.ndarray) -> None:
    foreign = frame_at(np.eye(4), 0, "facade")
    result = sequence([*frames[:3], foreign, *frames[4:7]])
    assert [step.success for step in result.steps] == [True, True, True, False, True, True, True]
    assert np.allclose(result.poses[3], result.poses[2] @ inverse(result.poses[1]) @ result.poses[2])
    # The local map is unchanged.
    assert_same_poses(result.poses[4:], truth[4:7], steps=2)


@pytest.mark.slow
def test_a_sensor_that_shakes_is_tracked(frames: list[np.ndarray], truth: np.ndarray) -> None:
    shakes = [pose(rotation_from_vector([0.1 * (-1) ** k, 0.08 * (-1) ** (k // 2), 0]), np.zeros(3)) for k in range(6)]
    shaken = [transform(inverse(shake), frame) for shake, frame in zip(shakes, frames[:6], strict=True)]
    result = sequence(shaken)
    assert all(step.reason.startswith("tracked") for step in result.steps[2:])
    expected = [inverse(shakes[0]) @ T @ shake for T, shake in zip(truth, shakes, strict=False)]
    assert_same_poses(result.poses, expected, steps=2)


@pytest.mark.slow
def test_a_jump_of_the_sensor_is_found_by_global_search(frames: list[np.ndarray]) -> None:
    far = walk_poses(1)[0] @ pose(rotation_from_vector([0.1, 0.1, 2.5]), [0.5, -0.4, 0.1])
    result = sequence([*frames[:3], frame_at(far, 50)])
    assert result.success
    assert result.steps[3].global_search
    assert_same_poses(result.poses[3:], [inverse(walk_poses(1)[0]) @ far])


@pytest.mark.slow
def test_after_a_change_of_scene_the_trajectory_continues_from_the_prediction() -> None:
    """The transform between the scenes cannot be estimated; within the second one poses are right."""
    second_scene = [frame_at(T_world_frame, k, "facade") for k, T_world_frame in enumerate(walk_poses(4))]
    result = sequence([*walk_frames(3), *second_scene])
    assert [step.success for step in result.steps] == [True, True, True, False, True, True, True]
    assert result.steps[4].target == "previous frame"
    assert result.steps[4].keyframe
    # The facade is large, and its points are far apart.
    truth = relative_transforms(in_first_frame(walk_poses(4)))
    for here, there in zip(relative_transforms(result.poses)[3:], truth, strict=True):
        assert translation_error(here, there) < result.steps[4].voxel / 10


@pytest.mark.slow
def test_the_global_map_coincides_with_the_scene(trajectory: Trajectory) -> None:
    assert trajectory.map is not None
    assert 1000 < len(trajectory.map) < COUNT * POINTS
    distance = cKDTree(scene_points()).query(transform(walk_poses(1)[0], trajectory.map))[0]
    assert np.median(distance) < trajectory.steps[1].voxel
    assert sequence(walk_frames(2)).map is None


def test_no_frames_are_no_success() -> None:
    nothing = sequence([], keep_map=True)
    assert not nothing.success
    assert nothing.poses.shape == (0, 4, 4)
    assert nothing.map is not None
    assert nothing.map.shape == (0, 3)


@pytest.mark.parametrize(
    ("frames", "settings", "message"),
    [
        (np.zeros((5, 3)), {}, "frames: expected a folder or several clouds, got one array of shape"),
        (3, {}, "frames: expected a folder or several clouds, got int"),
        ("no/such/folder", {}, "folder: no/such/folder is no folder"),
        ([], {"every": 0}, "every: expected a whole number from 1 on, got 0"),
        ([], {"limit": 2.5}, "limit: expected a whole number from 1 on, got 2.5"),
        ([], {"seed": -1}, "seed: expected a whole number from 0 on, got -1"),
        ([], {"mode": "fast"}, "mode: expected one of map, pairs, got 'fast'"),
        ([], {"threads": 0}, "threads: "),
    ],
)
def test_bad_input_is_named(frames: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sequence(frames, **settings)


@pytest.mark.slow
def test_files_that_are_skipped_are_not_read(tmp_path: Path, frames: list[np.ndarray]) -> None:
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", frames[number])
    (tmp_path / "1.npy").write_bytes(b"no array")
    steps = sequence(tmp_path, every=2).steps
    assert [(step.name, step.success) for step in steps] == [("0.npy", True), ("2.npy", True)]
    damaged = sequence(tmp_path).steps[1]
    assert not damaged.success
    assert "1.npy" in damaged.reason
