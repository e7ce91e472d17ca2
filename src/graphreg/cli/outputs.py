"""Files that a command writes: looked at before the work begins, and what they cannot hold is told."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphreg.clouds import Cloud


def check_outputs(
    *,
    pose: Path | None = None,
    cloud: Path | None = None,
    page: Path | None = None,
    picture: Path | None = None,
    table: Path | None = None,
) -> None:
    """Refuse what could not be written at the end: an unknown suffix, a folder that is not there, one file for two."""
    from graphreg.errors import FileError
    from graphreg.files import check_writable
    from graphreg.files.output_file import check_output_path
    from graphreg.files.pose_files import pose_format

    if pose is not None:
        pose_format(pose)
    if cloud is not None:
        check_writable(cloud)
    _expect_suffix(page, (".html", ".htm"), "a report")
    _expect_suffix(picture, (".png",), "a picture")
    _expect_suffix(table, (".csv",), "a table")
    taken = set()
    for path in (pose, cloud, page, picture, table):
        if path is not None:
            place = check_output_path(path)
            if place in taken:
                raise FileError(path, "is named twice, but only one thing can be written to it")
            taken.add(place)


def check_folder(path: Path) -> None:
    """Refuse a folder for results that is none, or that could not be made."""
    from graphreg.errors import FileError

    if path.exists() and not path.is_dir():
        raise FileError(path, "is a file, expected a folder or a name for one")
    there = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise FileError(path, f"cannot be made a folder for results, for {there} is no folder that can be written to")


def write_cloud(path: Path, cloud: Cloud) -> tuple[str, ...]:
    """Write a cloud, tell what got lost on the way, and return the names of attributes that did."""
    from graphreg.cli.console import note
    from graphreg.cli.progress import reading
    from graphreg.files import write

    with reading(f"writing {path.name}") as show:
        lost = write(path, cloud, progress=show)
    suffix = path.suffix.lower()
    if lost:
        note(f"{path}: {suffix} files cannot hold all attributes; left out: {', '.join(lost)}")
    if suffix == ".bin":
        note(f"{path}: .bin files hold coordinates in single precision")
    return lost


def left_out(cloud: Cloud) -> str:
    """How many rows of a file were not finite, where there were some, to be appended to a sentence."""
    return f", without {cloud.dropped:,} rows that were not finite" if cloud.dropped else ""


def _expect_suffix(path: Path | None, suffixes: Collection[str], what: str) -> None:
    from graphreg.errors import FileError

    if path is not None and path.suffix.lower() not in suffixes:
        raise FileError(path, f"expected a name that ends in {' or '.join(suffixes)}, for {what} is written to it")
