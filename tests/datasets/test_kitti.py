"""KITTI odometry: every layout gives the poses of the Velodyne; a damaged file is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets import kitti
from graphreg.datasets.scan_files import ScanFile
from graphreg.poses import inverse

FRAMES = 4
POSES = [np.eye(4), *(random_transform(seed, 10.0) for seed in range(1, FRAMES))]
T_CAMERA_VELODYNE = random_transform(99, 0.3)


def clouds() -> list[np.ndarray]:
    return [random_cloud("surface", 50, seed).astype(np.float32).astype(np.float64) for seed in range(FRAMES)]


def write_frames(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, points in enumerate(clouds()):
        graphreg.write(folder / f"{number:06}.bin", points)


def write_poses(path: Path, poses: list[np.ndarray]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, [pose[:3].ravel() for pose in poses])


def write_calibration(path: Path) -> None:
    projections = "".join(f"P{k}: {' '.join(['7.0e+02'] * 12)}\n" for k in range(4))
    path.write_text(projections + "Tr: " + " ".join(map(repr, T_CAMERA_VELODYNE[:3].ravel().tolist())) + "\n")


def write_data_set(root: Path, sequence: str = "03") -> Path:
    """As published: poses of the left camera."""
    write_frames(root / "sequences" / sequence / "velodyne")
    write_calibration(root / "sequences" / sequence / "calib.txt")
    write_poses(
        root / "poses" / f"{sequence}.txt", [T_CAMERA_VELODYNE @ pose @ inverse(T_CAMERA_VELODYNE) for pose in POSES]
    )
    return root


def write_plain(root: Path) -> Path:
    write_frames(root)
    write_poses(root / "poses_of_the_velodyne.txt", POSES)
    return root


def assert_complete(frames: list[ScanFile]) -> None:
    assert [frame.name for frame in frames] == [f"{number:06}" for number in range(FRAMES)]
    for frame, points, pose in zip(frames, clouds(), POSES, strict=True):
        np.testing.assert_array_equal(frame.read(), points)
        np.testing.assert_allclose(frame.pose, pose, atol=1e-13)


def test_as_published(tmp_path: Path) -> None:
    root = write_data_set(tmp_path / "dataset")
    assert_complete(kitti.scans(root))
    assert_complete(kitti.scans(str(root), "03"))
    assert_complete(kitti.scans(root / "sequences" / "03"))


def test_poses_inside_the_sequence(tmp_path: Path) -> None:
    root = write_data_set(tmp_path / "dataset")
    (root / "poses" / "03.txt").rename(root / "sequences" / "03" / "poses.txt")
    assert_complete(kitti.scans(root, "03"))


def test_frames_beside_their_poses(tmp_path: Path) -> None:
    assert_complete(kitti.scans(write_plain(tmp_path / "frames")))


def test_points_are_read_only_on_request(tmp_path: Path) -> None:
    root = write_plain(tmp_path / "frames")
    (root / "000002.bin").write_bytes(b"cut")
    frames = kitti.scans(root)
    with pytest.raises(FileError, match=r"000002\.bin: its size of 3 bytes"):
        frames[2].read()


def test_missing_frames_do_not_change_the_poses_of_others(tmp_path: Path) -> None:
    root = write_plain(tmp_path / "frames")
    (root / "000001.bin").unlink()
    frames = kitti.scans(root)
    assert [frame.name for frame in frames] == ["000000", "000002", "000003"]
    np.testing.assert_allclose(frames[1].pose, POSES[2], atol=1e-13)


def test_a_sequence_must_be_named_if_there_are_several(tmp_path: Path) -> None:
    write_data_set(tmp_path / "dataset", "03")
    write_data_set(tmp_path / "dataset", "04")
    assert len(kitti.scans(tmp_path / "dataset", "04")) == FRAMES
    for wrong in (None, "05", "../03"):
        with pytest.raises(InputError, match="sequence: expected one of 03, 04"):
            kitti.scans(tmp_path / "dataset", wrong)


def test_a_sequence_of_a_folder_without_sequences(tmp_path: Path) -> None:
    root = write_plain(tmp_path / "frames")
    with pytest.raises(InputError, match="sequence: .*frames contains no folder sequences"):
        kitti.scans(root, "03")


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder: .*nowhere is no folder"):
        kitti.scans(tmp_path / "nowhere")


def stretched(root: Path) -> None:
    write_poses(root / "poses" / "03.txt", [np.diag([1.1, 1.1, 1.1, 1.0])] * FRAMES)


def mirrored(root: Path) -> None:
    write_poses(root / "poses" / "03.txt", [np.diag([1.0, 1.0, -1.0, 1.0])] * FRAMES)


def not_numbers(root: Path) -> None:
    write_poses(root / "poses" / "03.txt", [np.full((4, 4), np.nan)] * FRAMES)


def too_few(root: Path) -> None:
    write_poses(root / "poses" / "03.txt", POSES[:3])


def cut_line(root: Path) -> None:
    path = root / "poses" / "03.txt"
    path.write_text(path.read_text()[:-60])


def renamed(root: Path) -> None:
    (root / "sequences" / "03" / "velodyne" / "000001.bin").rename(root / "sequences" / "03" / "velodyne" / "one.bin")


def without_tr(root: Path) -> None:
    (root / "sequences" / "03" / "calib.txt").write_text("P0: 1 2 3\n")


def short_tr(root: Path) -> None:
    (root / "sequences" / "03" / "calib.txt").write_text("Tr: 1 0 0 0 0 1 0 0\n")


def no_frames(root: Path) -> None:
    for path in (root / "sequences" / "03" / "velodyne").iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (stretched, r"03\.txt: line 1: the pose: expected a rotation without scale"),
        (mirrored, r"03\.txt: line 1: the pose: expected a rotation, got a reflection"),
        (not_numbers, r"03\.txt: line 1: the pose: expected finite numbers"),
        (too_few, r"03\.txt: has 3 poses, too few for 000003\.bin"),
        (cut_line, r"03\.txt: line 4: expected 12 numbers"),
        (lambda root: (root / "poses" / "03.txt").write_text("\n"), r"03\.txt: .*no poses"),
        (lambda root: (root / "poses" / "03.txt").unlink(), r"03\.txt: does not exist; KITTI has poses"),
        (lambda root: (root / "sequences" / "03" / "calib.txt").unlink(), r"calib\.txt: does not exist"),
        (without_tr, r"calib\.txt: has no line that begins with Tr:"),
        (short_tr, r"calib\.txt: Tr should be 12 numbers"),
        (renamed, r"one\.bin: its name should be the number of the frame"),
        (no_frames, r"velodyne: contains no frames"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, damage: object, message: str) -> None:
    root = write_data_set(tmp_path / "dataset")
    damage(root)
    with pytest.raises(FileError, match=message):
        kitti.scans(root, "03")


def test_folders_with_something_else(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="expected a folder sequences or velodyne, or one file .*, found none"):
        kitti.scans(tmp_path)
    (tmp_path / "sequences").mkdir()
    with pytest.raises(FileError, match="none of its folders contains a folder velodyne"):
        kitti.scans(tmp_path)


def test_two_files_of_poses_are_ambiguous(tmp_path: Path) -> None:
    root = write_plain(tmp_path / "frames")
    write_poses(root / "poses.txt", POSES)
    with pytest.raises(FileError, match=r"found poses\.txt, poses_of_the_velodyne\.txt"):
        kitti.scans(root)
