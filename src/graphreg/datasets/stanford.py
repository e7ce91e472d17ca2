"""The Stanford 3D Scanning Repository: range scans of small objects, in metres, with their alignment in a .conf file.

    scans = stanford.scans("stanford_bunny")                            # bun000, bun045, ...
    scans = stanford.scans("stanford_armadillo", "ArmadilloStand")      # where there are several .conf files

A line of a .conf file reads

    bmesh bun045.ply tx ty tz qx qy qz qw

and means x_world = R x + t, where R is the rotation of the conjugate quaternion (-qx, -qy, -qz, qw). Lines that begin
with `mesh` have the same fields, but most of their meshes were never published; `camera` is a viewpoint for pictures.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from graphreg.clouds import Floats
from graphreg.datasets.scan_files import ScanFile, require_file, select, unique_names
from graphreg.errors import FileError
from graphreg.files.folders import as_folder
from graphreg.files.pose_files import POSE_FILE_TOLERANCE
from graphreg.poses import pose


def scans(folder: str | os.PathLike[str], alignment: str | None = None) -> list[ScanFile]:
    """List the scans of a .conf file, in its order.

    Parameters
    ----------
    folder : path
        Contains the .conf file and the scans, at any depth.
    alignment : str, optional
        Name of the .conf file without its suffix; not needed if there is only one.

    Returns
    -------
    list of ScanFile
        Without the `mesh` lines whose file does not exist.

    Raises
    ------
    FileError
        If a file is missing or damaged.
    """
    root = as_folder(folder)
    found = unique_names((path.stem, path) for path in sorted(root.rglob("*.conf")))
    if not found:
        raise FileError(root, "contains no .conf file with the poses of the scans; it is in the archive with the scans")
    path = select(found, alignment, "alignment")
    result = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="backslashreplace").splitlines(), 1):
        kind, *words = line.split() or [""]
        if kind not in ("bmesh", "mesh"):
            continue
        if len(words) != 8:
            raise FileError(path, f"line {number} should be a name and 7 numbers, but is {line.strip()!r}")
        scan = path.parent / words[0]
        if kind == "bmesh":
            require_file(scan, f"{path.name} names it")
        if scan.is_file():
            result.append(ScanFile(scan.stem, scan, _pose(path, words[1:], number)))
    if not result:
        raise FileError(path, "names no scans (lines that begin with bmesh)")
    return result


def _pose(path: Path, words: list[str], number: int) -> Floats:
    try:
        numbers = np.array(words, np.float64)
    except ValueError as problem:
        raise FileError(path, f"line {number} should have 7 numbers, but has {' '.join(words)!r}") from problem
    translation, quaternion = numbers[:3], numbers[3:]
    length = float(np.linalg.norm(quaternion))
    if not np.isfinite(translation).all() or not abs(length - 1) < POSE_FILE_TOLERANCE:
        raise FileError(
            path, f"line {number} should have a translation and a unit quaternion, but has {' '.join(words)}"
        )
    return pose(Rotation.from_quat(quaternion).inv().as_matrix(), translation)
