"""The other end: a file that takes the place of the old one only when it is whole."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from graphreg.clouds import Cloud
from graphreg.errors import FileError, InputError
from graphreg.files.input_file import CHUNK_BYTES, Progress


class OutputFile:
    """A new file, open for writing. Its `path` is not yet the one that the user gave, its `suffix` is.

    held  the attributes that the writer has put in, by the names they have in the file
    """

    def __init__(self, path: Path, suffix: str, progress: Progress | None) -> None:
        self.path = path
        self.suffix = suffix
        self.file = open(path, "xb")  # noqa: SIM115 (closed by `atomic_write`)
        self.held: set[str] = set()
        self._progress = progress

    def parts(self, cloud: Cloud, most: int | None = None) -> Iterator[slice]:
        """The cloud's rows in pieces of a few megabytes; progress is reported after each."""
        width = sum(values.nbytes for values in cloud.attributes.values()) // len(cloud) + 24
        step = min(max(CHUNK_BYTES // width, 1), most or len(cloud))
        for begin in range(0, len(cloud), step):
            part = slice(begin, min(begin + step, len(cloud)))
            yield part
            if self._progress is not None:
                self._progress(part.stop * width, len(cloud) * width)


def check_output_path(path: Path) -> Path:
    """Where a file would be written, links followed; an error says why none can be."""
    if path.is_dir():
        raise FileError(path, "is a folder, not a file")
    if path.exists() and not path.is_file():
        raise FileError(path, "is not a regular file, so it cannot be replaced")
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {path.parent} to write it to", str(path))
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "is write-protected, so it cannot be replaced", str(path))
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"the folder {path.parent} is write-protected", str(path))
    return target


@contextlib.contextmanager
def atomic_write(path: Path, progress: Progress | None = None) -> Iterator[OutputFile]:
    """A temporary file beside `path`, which becomes it at the end of the block.

    Whatever goes wrong before (a full disk, Ctrl-C), the old file stays and the temporary one is removed.
    """
    target = check_output_path(path)
    temporary = target.with_name(f".graphreg-{secrets.token_hex(8)}.tmp")
    try:
        output = OutputFile(temporary, path.suffix.lower(), progress)
        try:
            with output.file:
                yield output
                if not output.file.closed:
                    output.file.flush()
                    # A full disk may only be noticed when the data leave the cache.
                    os.fsync(output.file.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as problem:
        # The user knows nothing of the temporary file.
        raise OSError(problem.errno, f"{problem.strerror or problem}; the file was not written", str(path)) from problem


def columns(cloud: Cloud) -> dict[str, NDArray[Any]]:
    """The attributes that are numbers, as (N, k) arrays of little-endian types, by names without blanks.

    Truth values become 0 and 1, and floats become single or double.
    """
    result: dict[str, NDArray[Any]] = {}
    for name, values in cloud.attributes.items():
        if values.dtype.kind in "biuf" and values.size:
            dtype = {"b": "<u1", "f": "<f4" if values.dtype.itemsize <= 4 else "<f8"}.get(values.dtype.kind)
            table = values.reshape(len(cloud), -1).astype(dtype or values.dtype.newbyteorder("<"), copy=False)
            _add(result, in_file(name), table)
    return result


def flat_columns(cloud: Cloud) -> dict[str, NDArray[Any]]:
    """Like `columns`, but one number a point each: several become name_0, name_1, ..."""
    result: dict[str, NDArray[Any]] = {}
    for name, values in columns(cloud).items():
        for i in range(values.shape[1]):
            _add(result, name if values.shape[1] == 1 else f"{name}_{i}", values[:, i])
    return result


def left_out(cloud: Cloud, held: Collection[str]) -> tuple[str, ...]:
    """The attributes of which a file holds nothing, given the names of what it holds."""
    return tuple(str(name) for name in cloud.attributes if not {(word := in_file(name)), f"{word}_0"} & set(held))


def in_file(name: str) -> str:
    """A name without blanks."""
    return "_".join(str(name).split())


def _add(result: dict[str, NDArray[Any]], name: str, values: NDArray[Any]) -> None:
    if name in ("x", "y", "z", "") or name in result:
        raise InputError(f"points: an attribute would have to be called {name!r} in the file, but that name is taken")
    result[name] = values
