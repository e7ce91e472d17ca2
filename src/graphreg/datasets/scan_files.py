"""Scans of public data sets that are read when asked for, with the poses or transforms that the data set provides."""

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
    """A scan on disk and its pose.

    Parameters
    ----------
    name : str
        Unique among the scans that are loaded together.
    path : Path
    pose : (4, 4) array
        x_world = pose x_scan; the world is the same for all scans that are loaded together.
    """

    name: str
    path: Path
    pose: Floats

    def read(self) -> Floats:
        """Read the points, (N, 3), in the frame of the scan."""
        return read(self.path)


@dataclass(frozen=True, eq=False)
class PairFile:
    """Two scans on disk and the true transform between them.

    Parameters
    ----------
    name : str
        Unique among the pairs that are loaded together.
    source, target : Path
    T_target_source : (4, 4) array
        x_target = T x_source.
    """

    name: str
    source: Path
    target: Path
    T_target_source: Floats

    def read(self) -> tuple[Floats, Floats]:
        """Read the points of source and target, (N, 3) and (M, 3), each in its own frame."""
        return read(self.source), read(self.target)


def unique_names(named: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Paths by name; FileError where two have the same name, since it is ambiguous which is meant."""
    found: dict[str, Path] = {}
    for name, path in named:
        if name in found:
            raise FileError(path, f"has the same name ({name}) as {found[name]}; pass a folder with only one of them")
        found[name] = path
    return found


def select(found: Mapping[str, Path], wanted: str | None, argument: str) -> Path:
    """The path of the name `wanted`, or the only one of `found`, which is not empty."""
    if wanted is None and len(found) == 1:
        return next(iter(found.values()))
    if wanted is None or wanted not in found:
        names = ", ".join(sorted(found, key=natural_sort_key))
        raise InputError(f"{argument}: expected one of {names}, got {wanted!r}")
    return found[wanted]


def require_file(path: Path, hint: str) -> Path:
    """`path`; FileError with a hint if there is no such file."""
    if not path.is_file():
        raise FileError(path, f"does not exist; {hint}")
    return path


def as_transform(path: Path, matrix: ArrayLike, name: str) -> Floats:
    """A 3x4 or 4x4 matrix of a file as a rigid transform (4, 4); FileError if it is not rigid."""
    rows = np.asarray(matrix, np.float64)
    if rows.shape == (3, 4):
        rows = np.vstack([rows, [0.0, 0.0, 0.0, 1.0]])
    try:
        return as_pose(rows, name, POSE_FILE_TOLERANCE)
    except InputError as problem:
        raise FileError(path, str(problem)) from problem
