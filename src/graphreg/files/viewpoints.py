"""The poses that scan files hold: of E57 scans, the VIEWPOINT of PCD files, and the element camera of PLY files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import FileError
from graphreg.files import list_scans, split_scan
from graphreg.files.input_file import InputFile, as_path, require_file
from graphreg.files.pcd import viewpoint_of as pcd_viewpoint
from graphreg.files.ply import camera_of as ply_viewpoint
from graphreg.poses import pose

# How far a camera's axes may be from a rotation: they are stored in single precision or as text.
ROTATION_TOLERANCE = 1e-3


def read_viewpoint(path: str | os.PathLike[str]) -> Floats | None:
    """Read the pose that a file gives for its points: x_world = T x_scan.

    Readers leave points of PCD and PLY files as they are stored, and apply the poses of E57 scans, so that T is the
    identity for these.

    Parameters
    ----------
    path : path_like

    Returns
    -------
    (4, 4) ndarray or None
        None where the file holds no pose.

    Raises
    ------
    FileError
        If the file cannot be read, or its pose is no rotation.
    """
    file_path, part = split_scan(as_path(path))
    require_file(file_path)
    suffix = file_path.suffix.lower()
    if suffix == ".e57":
        scans = list_scans(file_path)
        chosen = [scan for scan in scans if part in (None, scan.name, str(scan.number))]
        return np.eye(4) if chosen and all(scan.pose is not None for scan in chosen) else None
    if suffix not in (".pcd", ".ply"):
        return None
    with InputFile(file_path) as file:
        found = pcd_viewpoint(file) if suffix == ".pcd" else ply_viewpoint(file)
    return None if found is None else _checked(file_path, *found)


def _checked(path: Path, rotation: Floats, position: Floats) -> Floats:
    error = np.abs(rotation @ rotation.T - np.eye(3)).max()
    if not (np.isfinite(position).all() and error < ROTATION_TOLERANCE and np.linalg.det(rotation) > 0):
        raise FileError(path, "has a viewpoint that is no rotation")
    u, _, vt = np.linalg.svd(rotation)
    return pose(u @ vt, position)
