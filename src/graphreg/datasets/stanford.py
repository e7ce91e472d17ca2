"""The Stanford 3D Scanning Repository: range scans of small objects, in metres, with their alignment in a .conf file.

    scans = stanford.scans("stanford_bunny")                            # bun000, bun045, ...
    scans = stanford.scans("stanford_armadillo", "ArmadilloStand")      # where there are several .conf files

A line of a .conf file reads

    bmesh bun045.ply tx ty tz qx qy qz qw

and means x_world = R x + t, where R is the rotation of the conjugate quaternion (-qx, -qy, -qz, qw). Lines that begin
with `mesh` name meshes in the same way, most of which were never published; `camera` is a good place to look from.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from graphreg.clouds import Floats
from graphreg.datasets.scanfiles import ScanFile, chosen, must_be_there, unique
from graphreg.errors import FileError
from graphreg.files.folders import as_folder
from graphreg.files.pose_files import POSE_FILE_TOLERANCE
from graphreg.poses import pose


def scans(folder: str | os.PathLike[str], alignment: str | None = None) -> list[ScanFile]:
    """The scans that a .conf file names, in its order.

    folder     where the .conf file and the scans are; may be some levels up
    alignment  the .conf file's name without the suffix; may be left out where there is only one

    Scans on `mesh` lines that are not there are left out.
    """
    root = as_folder(folder)
    found = unique((path.stem, path) for path in sorted(root.rglob("*.conf")))
    if not found:
        raise FileError(root, "holds no .conf file, which says how the scans lie; it is in the archive with the scans")
    path = chosen(found, alignment, "alignment")
    result = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="backslashreplace").splitlines(), 1):
        kind, *words = line.split() or [""]
        if kind not in ("bmesh", "mesh"):
            continue
        if len(words) != 8:
            raise FileError(path, f"line {number} should hold a name and 7 numbers, but is {line.strip()!r}")
        scan = path.parent / words[0]
        if kind == "bmesh":
            must_be_there(scan, f"{path.name} names it")
        if scan.is_file():
            result.append(ScanFile(scan.stem, scan, _pose(path, words[1:], number)))
    if not result:
        raise FileError(path, "names no scans (lines that begin with bmesh)")
    return result


def _pose(path: Path, words: list[str], number: int) -> Floats:
    try:
        numbers = np.array(words, np.float64)
    except ValueError as problem:
        raise FileError(path, f"line {number} should hold 7 numbers, but they are {' '.join(words)!r}") from problem
    translation, quaternion = numbers[:3], numbers[3:]
    length = float(np.linalg.norm(quaternion))
    if not np.isfinite(translation).all() or not abs(length - 1) < POSE_FILE_TOLERANCE:
        raise FileError(
            path, f"line {number} should hold a translation and a unit quaternion, but is {' '.join(words)}"
        )
    return pose(Rotation.from_quat(quaternion).inv().as_matrix(), translation)
