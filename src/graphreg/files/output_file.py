"""Atomic writing: a file appears under its name only when it is complete."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from graphreg.clouds import Cloud
from graphreg.errors import FileError
from graphreg.files.input_file import CHUNK_BYTES, Progress


class OutputFile:
    """A temporary file, open for writing, see `atomic_write`.

    Attributes
    ----------
    path : Path
        The temporary file.
    suffix : str
        Suffix of the file that it will become.
    file : binary file
    written_attributes : set of str
        Names of the attributes that the writer of a cloud has stored.
    """

    def __init__(self, path: Path, suffix: str, progress: Progress | None) -> None:
        self.path = path
        self.suffix = suffix
        self.file = open(path, "xb")  # noqa: SIM115 (closed by `atomic_write`)
        self.written_attributes: set[str] = set()
        self._progress = progress

    def chunks(self, cloud: Cloud, max_rows: int | None = None) -> Iterator[slice]:
        """Divide the rows of a cloud into chunks of a few megabytes, and report progress after each.

        Parameters
        ----------
        cloud : Cloud
        max_rows : int, optional
            The most rows of a chunk.

        Yields
        ------
        slice
        """
        row_bytes = sum(values.nbytes for values in cloud.attributes.values()) // len(cloud) + 24
        return self.row_chunks(len(cloud), row_bytes, max_rows)

    def row_chunks(self, count: int, row_bytes: int, max_rows: int | None = None) -> Iterator[slice]:
        """The same for `count` rows of `row_bytes` each."""
        step = min(max(CHUNK_BYTES // row_bytes, 1), max_rows or count)
        for begin in range(0, count, step):
            rows = slice(begin, min(begin + step, count))
            yield rows
            if self._progress is not None:
                self._progress(rows.stop * row_bytes, count * row_bytes)


def check_output_path(path: Path) -> Path:
    """Check that a file can be written, before the work that leads to it is done.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Path
        The file that would be written, with links resolved.

    Raises
    ------
    FileError
        Where it is a folder or no regular file.
    FileNotFoundError, PermissionError
        Where its folder does not exist, or may not be written to.
    """
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
    """Write a file through a temporary one in the same folder, which replaces it at the end of the block.

    On any failure before that (a full disk, Ctrl-C) an existing file stays as it was, and the temporary one is
    removed.

    Parameters
    ----------
    path : Path
    progress : Progress, optional

    Yields
    ------
    OutputFile
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
        # The message names the user's file, not the temporary one.
        raise OSError(problem.errno, f"{problem.strerror or problem}; the file was not written", str(path)) from problem
