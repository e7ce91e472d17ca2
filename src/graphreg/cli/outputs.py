"""Output files of commands: checked before the work begins, and notes on attributes that a format does not support."""

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
    """Refuse outputs that cannot be written: an unknown suffix, a missing folder, one file for two outputs."""
    from graphreg.errors import FileError
    from graphreg.files import check_writable
    from graphreg.files.output_file import check_output_path
    from graphreg.files.pose_files import pose_format

    if pose is not None:
        pose_format(pose)
    if cloud is not None:
        check_writable(cloud)
    expect_suffix(page, (".html", ".htm"), "report")
    expect_suffix(picture, (".png",), "picture")
    expect_suffix(table, (".csv",), "table")
    taken = set()
    for path in (pose, cloud, page, picture, table):
        if path is not None:
            resolved = check_output_path(path)
            if resolved in taken:
                raise FileError(path, "is the path of two outputs")
            taken.add(resolved)


def check_folder(path: Path) -> None:
    """Refuse a folder for results that is a file, or that cannot be created."""
    from graphreg.errors import FileError

    if path.exists() and not path.is_dir():
        raise FileError(path, "is a file, expected a folder")
    existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise FileError(path, f"cannot be created, because {existing} is not a writable folder")


def expect_suffix(path: Path | None, suffixes: Collection[str], what: str) -> None:
    """Refuse a path with another suffix."""
    from graphreg.errors import FileError

    if path is not None and path.suffix.lower() not in suffixes:
        raise FileError(path, f"expected a {what} that ends in {' or '.join(suffixes)}")


def write_cloud(path: Path, cloud: Cloud) -> tuple[str, ...]:
    """Write a cloud; returns the names of the attributes that the format does not support, after a note on them."""
    from graphreg.cli.console import note
    from graphreg.cli.progress import byte_progress
    from graphreg.files import write

    with byte_progress(f"writing {path.name}") as show:
        lost = write(path, cloud, progress=show)
    suffix = path.suffix.lower()
    if lost:
        note(f"{path}: {suffix} files do not support all attributes; left out: {', '.join(lost)}")
    if suffix == ".bin":
        note(f"{path}: .bin files have coordinates in single precision")
    return lost


def dropped_rows(cloud: Cloud) -> str:
    """The number of non-finite rows of a file, to be appended to a sentence; empty if there are none."""
    return f", without {cloud.dropped:,} non-finite rows" if cloud.dropped else ""
