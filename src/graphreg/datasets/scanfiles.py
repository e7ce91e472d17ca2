"""Scans of public data sets as they lie on disk, with the pose or the motion that the data set gives for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from graphreg.clouds import Floats
from graphreg.errors import FileError, InputError
from graphreg.files import read
from graphreg.files.folders import natural_sort_key
from graphreg.files.pose_files import POSE_FILE_TOLERANCE
from graphreg.poses import as_pose


@dataclass(frozen=True, eq=False)
class ScanFile:
    """One scan, not read yet.

    name  unique in what it was loaded with
    pose  (4, 4): x_world = pose x_scan, where the world is the same for all scans that came together
    """

    name: str
    path: Path
    pose: Floats

    def read(self) -> Floats:
        """Its points, (N, 3), in its own frame."""
        return read(self.path)


@dataclass(frozen=True, eq=False)
class PairFile:
    """Two scans, not read yet, and the motion between them.

    name    unique in what it was loaded with
    T_target_source  (4, 4): x_target = T x_source
    """

    name: str
    source: Path
    target: Path
    T_target_source: Floats

    def read(self) -> tuple[Floats, Floats]:
        """The points of source and target, (N, 3) and (M, 3), each in its own frame."""
        return read(self.source), read(self.target)


def unique(named: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Paths by name; FileError where two have the same, for then nobody knows which is meant."""
    found: dict[str, Path] = {}
    for name, path in named:
        if name in found:
            raise FileError(path, f"goes by the name {name} like {found[name]}; give a folder with only one of them")
        found[name] = path
    return found


def chosen(found: Mapping[str, Path], wanted: str | None, argument: str) -> Path:
    """What is called `wanted`, or the only one there is; `found` is not empty."""
    if wanted is None and len(found) == 1:
        return next(iter(found.values()))
    if wanted is None or wanted not in found:
        names = ", ".join(sorted(found, key=natural_sort_key))
        raise InputError(f"{argument}: expected one of {names}, got {wanted!r}")
    return found[wanted]


def must_be_there(path: Path, advice: str) -> Path:
    if not path.is_file():
        raise FileError(path, f"is not there; {advice}")
    return path


def rigid(path: Path, matrix: ArrayLike, what: str) -> Floats:
    """A motion that a file holds, as 3x4 or 4x4 numbers; FileError where it is not rigid."""
    rows = np.asarray(matrix, np.float64)
    if rows.shape == (3, 4):
        rows = np.vstack([rows, [0.0, 0.0, 0.0, 1.0]])
    try:
        return as_pose(rows, what, POSE_FILE_TOLERANCE)
    except InputError as problem:
        raise FileError(path, str(problem)) from problem
