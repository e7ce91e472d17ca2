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
from typing import IO, NoReturn, cast

from graphreg.errors import FileError
from graphreg.files.input_file import CHUNK_BYTES, EXPANSION_ALLOWANCE_BYTES, MAX_EXPANSION

# Name, size and content of each file of an archive.
Members = Generator[tuple[str, int, IO[bytes]], None, None]
# What a file counts for beside its content, so that the number of files is limited as well.
HEADER_BYTES = 512


class _BoundedStream:
    """A compressed stream that ends in a FileError where it expands beyond a limit."""

    def __init__(self, stream: gzip.GzipFile, path: Path, limit: int) -> None:
        self._stream, self._path, self._left = stream, path, limit

    def read(self, size: int) -> bytes:
        chunk = self._stream.read(size)
        self._left -= len(chunk)
        if self._left < 0:
            _refuse_expansion(self._path)
        return chunk


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
        with closing(members(path, limit)) as found:
            for name, size, file in found:
                target = _path_inside(path, name, into)
                expanded, files = expanded + size + HEADER_BYTES, files + 1
                if expanded > limit:
                    _refuse_expansion(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                with file, open(target, "wb") as out:
                    shutil.copyfileobj(file, out, CHUNK_BYTES)
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError) as problem:
        raise FileError(path, f"is damaged ({problem}); it was deleted, try again") from problem
    if files == 0:
        raise FileError(path, "contains no files")


def _refuse_expansion(path: Path) -> NoReturn:
    raise FileError(path, f"expands to more than {MAX_EXPANSION} times its size; it was not unpacked")


def _path_inside(path: Path, name: str, into: Path) -> Path:
    """The path that a file of an archive is unpacked to; FileError if it is outside the folder."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0] or "\0" in name:
        raise FileError(path, f"contains {name!r}, a path outside the folder; it was not unpacked")
    return into.joinpath(*parts)


def _zip_members(path: Path, limit: int) -> Members:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise zipfile.BadZipFile(f"{member.filename!r} is compressed by an unusual method")
            if not member.is_dir():
                yield member.filename, member.file_size, archive.open(member)


def _tar_members(path: Path, limit: int) -> Members:
    with gzip.open(path) as compressed:
        # Not only its files: headers, which are read into memory, may be of any size.
        stream = _BoundedStream(compressed, path, limit)
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None:
                    yield member.name, member.size, file
        while stream.read(CHUNK_BYTES):  # to its end, where the checksum is
            pass
