"""An append-only file of JSON lines, written by one process at a time; a kill at any moment leaves it usable."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphreg.errors import FileError

# Seconds between two calls of fsync. A line is passed to the system as soon as it is written, so that a killed process
# loses none; fsync guards against a power cut, but takes a disk longer than a short job.
SYNC_INTERVAL = 1.0


class Journal:
    """An append-only file of JSON lines, locked against other processes while it is open.

    Entries that exist are read when it is opened; an incomplete last line is removed.

    Parameters
    ----------
    path : Path
        Created where it does not exist.
    on_entry : callable
        Called as on_entry(entry, offset) with each entry that exists and the byte offset of its line; raises a
        ValueError, KeyError or TypeError where the entry is not valid.
    problem : str
        The problem that is reported of a line that is not valid.
    truncate : bool, default False
        Whether to discard what exists.

    Raises
    ------
    FileError
        Where another process has it open, or a line is not valid.
    """

    def __init__(self, path: Path, on_entry: Callable[[Any, int], None], problem: str, truncate: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by `close`)
        try:
            self._lock(path)
            self.end = 0 if truncate else self._read(path, on_entry, problem)
            self._file.truncate(self.end)
        except BaseException:
            self._file.close()
            raise
        self._synced = time.monotonic()

    def append(self, entry: Any) -> int:
        """Append an entry. A line that does not fit on the disk is removed again.

        Parameters
        ----------
        entry : JSON-serialisable

        Returns
        -------
        int
            Byte offset of its line.
        """
        begin, line = self.end, memoryview(canonical_json(entry).encode() + b"\n")
        try:
            while self.end < begin + len(line):
                self.end += self._file.write(line[self.end - begin :])
        except BaseException:
            self._file.truncate(begin)
            self.end = begin
            raise
        if time.monotonic() - self._synced > SYNC_INTERVAL:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()
        return begin

    def close(self) -> None:
        """Sync the file to the disk and close it."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def _lock(self, path: Path) -> None:
        import portalocker  # slow to import, and needed here alone

        try:
            # The system releases the lock when the process ends, also when it is killed.
            portalocker.lock(self._file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException as problem:
            raise FileError(
                path, "another process is writing to it; wait until it ends, or name another file"
            ) from problem

    def _read(self, path: Path, on_entry: Callable[[Any, int], None], problem: str) -> int:
        """Read the entries that exist; returns the byte offset of the end of the last complete line."""
        end = 0
        # Through the file that has the lock: on Windows, no other can read it.
        self._file.seek(0)
        lines = io.BufferedReader(self._file)
        try:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    on_entry(json.loads(line), end)
                except (ValueError, KeyError, TypeError, RecursionError) as fault:
                    raise FileError(path, f"line {number} {problem}") from fault
                end += len(line)
        finally:
            lines.detach()
        return end


def canonical_json(value: Any) -> str:
    """JSON with sorted keys: the same text for equal values."""
    return json.dumps(value, sort_keys=True, allow_nan=False)
