"""Input files of commands: the columns of text files."""

from __future__ import annotations

import re
from pathlib import Path

TEXT_SUFFIXES = (".xyz", ".txt", ".asc", ".csv", ".pts")


def with_columns(columns: str | None, *paths: Path) -> tuple[Path, ...]:
    """The paths of files, of text files with the columns of their coordinates, as in points.csv#2,3,4."""
    from graphreg.errors import InputError

    if columns is None:
        return paths
    if not re.fullmatch("[0-9]{1,5}(,[0-9]{1,5}){2}", columns):
        raise InputError(f"--columns: expected three numbers such as 2,3,4, got {columns!r}")
    if not any(path.suffix.lower() in TEXT_SUFFIXES for path in paths):
        raise InputError(f"--columns: only text files have columns, {' '.join(TEXT_SUFFIXES)}")
    return tuple(
        path.with_name(f"{path.name}#{columns}") if path.suffix.lower() in TEXT_SUFFIXES else path for path in paths
    )
