"""Scans of public data sets as they lie on disk, with the pose or the motion that the data set gives for them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from graphreg.clouds import Floats
from graphreg.errors import FileError, InputError
from graphreg.files import read
from graphreg.files.source import Source
from graphreg.poses import as_pose


@dataclass(frozen=True, eq=False)
class ScanFile:
    """One scan, not read yet.

    name  unique in its data set
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

    name    unique in its data set
    motion  (4, 4): x_target = motion x_source
    """

    name: str
    source: Path
    target: Path
    motion: Floats

    def read(self) -> tuple[Floats, Floats]:
        """The points of source and target, (N, 3) and (M, 3), each in its own frame."""
        return read(self.source), read(self.target)


def as_folder(folder: str | os.PathLike[str]) -> Path:
    """The door of every loader."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError(f"folder: {path} is no folder")
    return path


def rigid(path: Path, matrix: ArrayLike, what: str) -> Floats:
    """A motion that a file holds, as 3x4 or 4x4 numbers; FileError where it is not rigid."""
    rows = np.asarray(matrix, np.float64)
    if rows.shape == (3, 4):
        rows = np.vstack([rows, [0.0, 0.0, 0.0, 1.0]])
    try:
        return as_pose(rows, what)
    except InputError as problem:
        raise FileError(path, str(problem)) from problem


def rows_of_numbers(path: Path, columns: int, what: str) -> Floats:
    """All the rows of a text file; blank lines and comments do not count."""
    with Source(path, None) as source:
        table = source.table(-1, "f" * columns, what, comments=True)
        if len(table) == 0:
            source.fail(f"holds no {what}")
        return table


def poses_by_line(path: Path) -> list[Floats]:
    """One pose a line: the twelve numbers of a 3x4 matrix, row by row, as KITTI has them."""
    rows = rows_of_numbers(path, 12, "poses")
    return [rigid(path, row.reshape(3, 4), f"pose {number}") for number, row in enumerate(rows)]
