"""KITTI odometry (Geiger, Lenz, Urtasun, CVPR 2012): sequences of Velodyne frames with poses from GPS and IMU.

    frames = kitti.scans("kitti/dataset", "03")
    frames[7].read(), frames[7].pose            # (N, 3) in the Velodyne's frame; x_first = pose x_frame

Three layouts are read:

    dataset/sequences/03/velodyne/000000.bin    as published: dataset/poses/03.txt has the poses of the left camera,
    dataset/sequences/03/calib.txt              calib.txt the transform `Tr` from the Velodyne to that camera
    03/velodyne/000000.bin, 03/calib.txt        one sequence, with its poses in 03/poses.txt, as in SemanticKITTI
    000000.bin, poses*.txt                      frames beside one file with the poses of the Velodyne itself
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets.scan_files import ScanFile, as_transform, require_file, select
from graphreg.errors import FileError, InputError
from graphreg.files.folders import as_folder
from graphreg.files.pose_files import read_poses
from graphreg.poses import inverse


def scans(folder: str | os.PathLike[str], sequence: str | None = None) -> list[ScanFile]:
    """List the frames of a sequence in temporal order, with the pose of the Velodyne at each.

    Parameters
    ----------
    folder : path
        The data set, or a folder with one sequence.
    sequence : str, optional
        Such as "03"; not needed if there is only one.

    Returns
    -------
    list of ScanFile
        Line k of the poses belongs to the frame whose file name is the number k, so that frames may be missing.

    Raises
    ------
    FileError
        If a file is missing or damaged.
    """
    root = as_folder(folder)
    if (root / "sequences").is_dir():
        root = _sequence(root / "sequences", sequence)
    elif sequence is not None and sequence != root.resolve().name:
        raise InputError(f"sequence: {root} contains no folder sequences with a sequence {sequence!r}")
    if (root / "velodyne").is_dir():
        path = _camera_poses_file(root)
        poses = _velodyne_poses(list(read_poses(path, format="kitti")), root / "calib.txt")
        return _frames(root / "velodyne", path, poses)
    path = _lidar_poses_file(root)
    return _frames(root, path, list(read_poses(path, format="kitti")))


def _sequence(root: Path, sequence: str | None) -> Path:
    found = {path.name: path for path in root.iterdir() if (path / "velodyne").is_dir()}
    if not found:
        raise FileError(root, "none of its folders contains a folder velodyne; unpack data_odometry_velodyne.zip here")
    return select(found, sequence, "sequence")


def _camera_poses_file(root: Path) -> Path:
    here = root.resolve()
    inside, beside = root / "poses.txt", here.parent.parent / "poses" / f"{here.name}.txt"
    if inside.is_file():
        return inside
    return require_file(beside, "KITTI has poses of the sequences 00 to 10 only, in data_odometry_poses.zip")


def _lidar_poses_file(root: Path) -> Path:
    found = sorted(root.glob("poses*.txt"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise FileError(root, f"expected a folder sequences or velodyne, or one file poses*.txt, found {names}")
    return found[0]


def _velodyne_poses(cameras: list[Floats], calibration: Path) -> list[Floats]:
    """Poses of the Velodyne V = Tr^-1 P Tr from poses P of the left camera."""
    T_camera_velodyne = _calibration(require_file(calibration, "it is in data_odometry_calib.zip"))
    return [inverse(T_camera_velodyne) @ camera @ T_camera_velodyne for camera in cameras]


def _calibration(path: Path) -> Floats:
    """Read `Tr`: x_camera = Tr x_velodyne."""
    for line in path.read_text(encoding="utf-8", errors="backslashreplace").splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "Tr":
            try:
                matrix = np.array(numbers.split(), np.float64).reshape(3, 4)
            except ValueError as problem:
                raise FileError(path, f"Tr should be 12 numbers, but is {numbers.strip()!r}") from problem
            return as_transform(path, matrix, "Tr")
    raise FileError(path, "has no line that begins with Tr: (the transform from the Velodyne to the camera)")


def _frames(folder: Path, path: Path, poses: list[Floats]) -> list[ScanFile]:
    frames = list(folder.glob("*.bin"))
    if not frames:
        raise FileError(folder, "contains no frames (*.bin)")
    for frame in frames:
        if not (frame.stem.isascii() and frame.stem.isdigit()):
            raise FileError(frame, "its name should be the number of the frame, such as 000042.bin")
    frames.sort(key=lambda frame: int(frame.stem))
    if int(frames[-1].stem) >= len(poses):
        raise FileError(
            path, f"has {len(poses)} poses, too few for {frames[-1].name} (the first is that of 000000.bin)"
        )
    return [ScanFile(frame.stem, frame, poses[int(frame.stem)]) for frame in frames]
