"""Folders of scans: which files are frames, and their order."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from graphreg.errors import FileError, InputError
from graphreg.files import formats
from graphreg.files.input_file import as_path


def as_folder(folder: str | os.PathLike[str]) -> Path:
    """Validate a folder of scans.

    Parameters
    ----------
    folder : str or path-like

    Returns
    -------
    Path

    Raises
    ------
    InputError
        Where it is no folder.
    """
    path = as_path(folder, "folder")
    if not path.is_dir():
        raise InputError(f"folder: {path} is no folder")
    return path


def frame_files(folder: str | os.PathLike[str]) -> list[Path]:
    """The frames in a folder, or in its subfolder `velodyne`, sorted by name with 9 before 10.

    Frames are the point clouds of one format, the one that most files have: poses may be in the same folder as text.

    Parameters
    ----------
    folder : str or path-like

    Returns
    -------
    list of Path

    Raises
    ------
    FileError
        Where the folder has no point clouds, or a frame is a link to a file that does not exist.
    """
    root = as_folder(folder)
    root = root / "velodyne" if (root / "velodyne").is_dir() else root
    found = [path for path in root.iterdir() if path.suffix.lower() in formats() and not path.is_dir()]
    if not found:
        raise FileError(root, f"has no frames; point clouds are {' '.join(formats())}")
    ((suffix, _),) = Counter(sorted(path.suffix.lower() for path in found)).most_common(1)
    frames = [path for path in found if path.suffix.lower() == suffix]
    for path in frames:
        if not path.exists():
            raise FileError(path, "is a link to a file that does not exist")
    return sorted(frames, key=lambda path: natural_sort_key(path.name))


def natural_sort_key(name: str) -> list[tuple[int, str]]:
    """A sort key that orders s10 after s9."""
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"([0-9]+)", name)]
