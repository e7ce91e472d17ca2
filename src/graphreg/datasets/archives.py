"""Unpacking of .zip and .tar.gz archives that are not trusted."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO

from graphreg.errors import FileError
from graphreg.files.input_file import CHUNK_BYTES, EXPANSION_ALLOWANCE_BYTES, MAX_EXPANSION

# Name, size and content of each file of an archive.
Members = Generator[tuple[str, int, IO[bytes]], None, None]


def unpack(path: Path, into: Path) -> None:
    """Unpack the files of a .zip or .tar.gz archive below a folder; links and devices are skipped.

    Parameters
    ----------
    path : Path
        The archive.
    into : Path
        The folder.

    Raises
    ------
    FileError
        If the archive is damaged, empty, would write outside the folder, or expands beyond a limit.
    """
    members = _zip_members if path.suffix == ".zip" else _tar_members
    limit = MAX_EXPANSION * path.stat().st_size + EXPANSION_ALLOWANCE_BYTES
    expanded = files = 0
    try:
        with closing(members(path)) as found:
            for name, size, file in found:
                target = _path_inside(path, name, into)
                expanded, files = expanded + size, files + 1
                if expanded > limit:
                    raise FileError(path, f"expands to more than {MAX_EXPANSION} times its size; it was not unpacked")
                target.parent.mkdir(parents=True, exist_ok=True)
                with file, open(target, "wb") as out:
                    shutil.copyfileobj(file, out, CHUNK_BYTES)
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError) as problem:
        raise FileError(path, f"is damaged ({problem}); it was deleted, try again") from problem
    if files == 0:
        raise FileError(path, "contains no files")


def _path_inside(path: Path, name: str, into: Path) -> Path:
    """The path that a file of an archive is unpacked to; FileError if it is outside the folder."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
        raise FileError(path, f"contains {name!r}, a path outside the folder; it was not unpacked")
    return into.joinpath(*parts)


def _zip_members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, member.file_size, archive.open(member)


def _tar_members(path: Path) -> Members:
    with gzip.open(path) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None:
                    yield member.name, member.size, file
        while stream.read(CHUNK_BYTES):  # to its end, where the checksum is
            pass
