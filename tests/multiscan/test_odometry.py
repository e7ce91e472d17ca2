"""sequence(): the way of a sensor, and what becomes of frames that cannot be registered."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from tests.support.walks import NOISE, frame, from_first, place, poses, walk

import graphreg
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.files.folders import frame_files
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan.odometry import FrameResult, Odometry, Trajectory, relative_transforms, sequence
from graphreg.poses import inverse, pose, rotation_from_vector

COUNT = 10
# A pose stands on thousands of points: it is known better than any of them.
DEGREES, METRES = 0.1, 2 * NOISE


@pytest.fixture(scope="module")
def frames() -> list[np.ndarray]:
    return walk(COUNT)


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return from_first(poses(COUNT))


@pytest.fixture(scope="module")
def found(frames: list[np.ndarray]) -> Trajectory:
    return sequence(frames, keep_map=True)


def assert_same_way(poses: Any, truth: Any, steps: int = 1) -> None:
    for here, there in zip(poses, truth, strict=True):
        assert angular_error(here, there) < steps * DEGREES
        assert translation_error(here, there) < steps * METRES


def test_the_way_is_found(found: Trajectory, truth: np.ndarray) -> None:
    assert found.success
    assert np.array_equal(found.poses[0], np.eye(4))
    assert_same_way(found.poses, truth, steps=2)
    assert [step.number for step in found.steps] == list(range(COUNT))
    assert all(step.target == "map" and not step.global_search for step in found.steps[1:])


def test_pairs_lay_each_frame_on_the_one_before(frames: list[np.ndarray], truth: np.ndarray) -> None:
    paired = sequence(frames, mode="pairs")
    assert paired.success
    assert all(
        step.target == "previous frame" and step.global_search and not step.keyframe for step in paired.steps[1:]
    )
    assert_same_way(relative_transforms(paired.poses), relative_transforms(truth))


def test_any_number_of_threads_and_one_by_one_give_the_same_bits(frames: list[np.ndarray], found: Trajectory) -> None:
    odometry = Odometry(threads=1)
    assert np.array_equal([odometry.add(frame).pose for frame in frames], found.poses)
    assert np.array_equal(sequence(frames, threads=3).poses, found.poses)


def test_no_frame_is_asked_for_in_vain(frames: list[np.ndarray]) -> None:
    coming = iter(frames)
    sequence(coming, every=3, limit=2)
    assert len(list(coming)) == COUNT - 4


def test_frames_are_asked_for_one_by_one_and_let_go() -> None:
    held: list[weakref.ref[Any]] = []

    def coming() -> Iterator[np.ndarray]:
        for k, at in enumerate(poses(6)):
            points = frame(at, k)
            held.append(weakref.ref(points))
            yield points

    def watch(step: FrameResult) -> None:
        assert len(held) == step.number + 1
        # The one that was just added, and no other.
        assert sum(frame() is not None for frame in held) <= 2

    assert sequence(coming(), callback=watch).success


def test_the_local_map_stays_small(
    frames: list[np.ndarray], truth: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A frame that lies on it by less than the best one so far goes into it.
    monkeypatch.setattr("graphreg.multiscan.odometry.WORN", 1.0)
    monkeypatch.setattr("graphreg.multiscan.odometry.PLACES", 2)
    odometry = Odometry()
    steps = [odometry.add(frame) for frame in frames]
    assert sum(step.keyframe for step in steps) > 2
    assert len(odometry._places) == 2
    assert odometry._map is not None
    assert len(odometry._map[0]) <= EngineSettings.points
    assert_same_way([step.pose for step in steps], truth, steps=COUNT)


def test_a_sensor_that_stands_still_leaves_the_map_alone() -> None:
    still = sequence([frame(poses(1)[0], k) for k in range(6)])
    assert [step.keyframe for step in still.steps] == [True] + 5 * [False]
    assert_same_way(still.poses, [np.eye(4)] * 6)


def test_every_nth_up_to_a_limit_and_the_callback_can_stop(frames: list[np.ndarray]) -> None:
    assert [step.number for step in sequence(iter(frames), every=3, limit=2).steps] == [0, 3]
    assert [step.number for step in sequence(frames, every=4).steps] == [0, 4, 8]
    assert len(sequence(frames, callback=lambda step: step.number == 1).steps) == 2


@pytest.mark.parametrize(
    "bad", [np.empty((0, 3)), np.full((50, 3), np.nan), np.ones((500, 3)), np.zeros((9, 2)), "no/such/file.ply", None]
)
@pytest.mark.parametrize("mode", ["map", "pairs"])
def test_what_is_no_frame_is_told_and_gone_on_without(
    frames: list[np.ndarray], truth: np.ndarray, mode: str, bad: Any
) -> None:
    mixed = sequence([*frames[:3], bad, *frames[4:6]], mode=mode)
    assert [step.success for step in mixed.steps] == [True, True, True, False, True, True]
    lost = mixed.steps[3]
    assert lost.reason.startswith("not registered: ")
    assert not lost.keyframe
    # As if it had gone on as before.
    assert np.allclose(lost.pose, mixed.poses[2] @ inverse(mixed.poses[1]) @ mixed.poses[2])
    assert_same_way(mixed.poses[[0, 1, 2, 4, 5]], truth[[0, 1, 2, 4, 5]], steps=2)


@pytest.mark.parametrize("mode", ["map", "pairs"])
@pytest.mark.parametrize("bad", [np.empty((0, 3)), np.ones((500, 3))])
def test_a_first_frame_that_is_none_leaves_the_place_to_the_next(
    frames: list[np.ndarray], mode: str, bad: np.ndarray
) -> None:
    late = sequence([bad, *frames[:3]], mode=mode)
    assert [step.success for step in late.steps] == [False, True, True, True]
    assert_same_way(late.poses[1:], from_first(poses(3)), steps=2)


def test_a_frame_of_another_place_keeps_the_guess(frames: list[np.ndarray], truth: np.ndarray) -> None:
    strange = frame(np.eye(4), 0, "facade")
    mixed = sequence([*frames[:3], strange, *frames[4:7]])
    assert [step.success for step in mixed.steps] == [True, True, True, False, True, True, True]
    assert np.allclose(mixed.poses[3], mixed.poses[2] @ inverse(mixed.poses[1]) @ mixed.poses[2])
    # The map is still there.
    assert_same_way(mixed.poses[4:], truth[4:7], steps=2)


def test_a_sensor_that_was_carried_off_is_searched_for(frames: list[np.ndarray]) -> None:
    far = poses(1)[0] @ pose(rotation_from_vector([0.1, 0.1, 2.5]), [0.5, -0.4, 0.1])
    jumped = sequence([*frames[:3], frame(far, 50)])
    assert jumped.success
    assert jumped.steps[3].global_search
    assert_same_way(jumped.poses[3:], [inverse(poses(1)[0]) @ far])


def test_after_a_gap_the_way_goes_on_from_a_guess() -> None:
    """From one place to another between two frames: how they lie to each other, nobody can tell."""
    there = [frame(at, k, "facade") for k, at in enumerate(poses(4))]
    parted = sequence([*walk(3), *there])
    assert [step.success for step in parted.steps] == [True, True, True, False, True, True, True]
    assert parted.steps[4].target == "previous frame"
    assert parted.steps[4].keyframe
    # The facade is large, and its points lie far apart.
    for here, there in zip(
        relative_transforms(parted.poses)[3:], relative_transforms(from_first(poses(4))), strict=True
    ):
        assert translation_error(here, there) < parted.steps[4].voxel / 10


def test_the_whole_map_lies_on_what_was_scanned(found: Trajectory) -> None:
    assert found.map is not None
    assert 1000 < len(found.map) < COUNT * 6000
    in_room = found.map @ poses(1)[0][:3, :3].T + poses(1)[0][:3, 3]
    apart = cKDTree(place()).query(in_room)[0]
    assert np.median(apart) < found.steps[1].voxel
    assert sequence(walk(2)).map is None


def test_no_frames_are_no_success() -> None:
    nothing = sequence([], keep_map=True)
    assert not nothing.success
    assert nothing.poses.shape == (0, 4, 4)
    assert nothing.map is not None
    assert nothing.map.shape == (0, 3)


@pytest.mark.parametrize(
    ("frames", "settings", "said"),
    [
        (np.zeros((5, 3)), {}, "frames: expected one cloud after the other, got an array of shape"),
        (3, {}, "frames: expected a folder or clouds to go through, got int"),
        ("no/such/folder", {}, "folder: no/such/folder is no folder"),
        ([], {"every": 0}, "every: expected a whole number from 1 on, got 0"),
        ([], {"limit": 2.5}, "limit: expected a whole number from 1 on, got 2.5"),
        ([], {"seed": -1}, "seed: expected a whole number from 0 on, got -1"),
        ([], {"mode": "fast"}, "mode: expected one of map, pairs, got 'fast'"),
        ([], {"threads": 0}, "threads: "),
    ],
)
def test_what_cannot_be_used_is_told(frames: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        sequence(frames, **settings)


def test_a_folder_is_read_in_the_order_of_numbers(tmp_path: Path, frames: list[np.ndarray]) -> None:
    for number in (10, 9, 100):
        graphreg.write(tmp_path / f"scan{number}.ply", frames[0][:50])
    (tmp_path / "poses.txt").write_text("1 2 3\n")
    assert [path.name for path in frame_files(tmp_path)] == ["scan9.ply", "scan10.ply", "scan100.ply"]
    (tmp_path / "velodyne").mkdir()
    with pytest.raises(InputError, match="holds no frames; point clouds are .ply"):
        frame_files(tmp_path)
    graphreg.write(tmp_path / "velodyne" / "000000.bin", frames[0])
    assert [path.name for path in frame_files(tmp_path)] == ["000000.bin"]


def test_files_in_between_are_not_read(tmp_path: Path, frames: list[np.ndarray], found: Trajectory) -> None:
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", frames[number])
    (tmp_path / "1.npy").write_bytes(b"no array")
    steps = sequence(tmp_path, every=2).steps
    assert [(step.name, step.success) for step in steps] == [("0.npy", True), ("2.npy", True)]
    damaged = sequence(tmp_path).steps[1]
    assert not damaged.success
    assert "1.npy" in damaged.reason
