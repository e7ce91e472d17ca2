"""A file of JSON lines that is only appended to, by one process at a time; a kill at any moment leaves it usable."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphreg.errors import FileError

# A line is with the system as soon as it is written, so a killed process loses none. For a power cut it is brought to
# the disk, but not more often than this, in seconds: a disk takes longer for it than a short job.
SYNC_EVERY = 1.0


class Journal:
    """JSON lines. What is there is read at the opening; a last line that was cut off is dropped."""

    def __init__(self, path: Path, take: Callable[[Any, int], None], problem: str, fresh: bool = False) -> None:
        """Open or begin it, and lock it against other processes until it is closed.

        take     called with each entry that is there and where its line begins; what it cannot take, it raises
        problem  what is told of a line that cannot be taken
        fresh    forget what is there
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by `close`)
        try:
            self._lock(path)
            self.end = 0 if fresh else self._read(path, take, problem)
            self._file.truncate(self.end)
        except BaseException:
            self._file.close()
            raise
        self._synced = time.monotonic()

    def append(self, entry: Any) -> int:
        """Write an entry; returns where its line begins. A line that does not fit on the disk is taken back."""
        begin, line = self.end, memoryview(text_of(entry).encode() + b"\n")
        try:
            while self.end < begin + len(line):
                self.end += self._file.write(line[self.end - begin :])
        except BaseException:
            self._file.truncate(begin)
            self.end = begin
            raise
        if time.monotonic() - self._synced > SYNC_EVERY:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()
        return begin

    def close(self) -> None:
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def _lock(self, path: Path) -> None:
        import fcntl  # which Windows does not have; all but this need not do without it

        try:
            # The system lets go of it when the process ends, however it ends.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            raise FileError(
                path, "another process is writing to it; wait for its end, or name another file"
            ) from problem

    def _read(self, path: Path, take: Callable[[Any, int], None], problem: str) -> int:
        """Where the last whole line ends."""
        end = 0
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    take(json.loads(line), end)
                except (ValueError, KeyError, TypeError) as fault:
                    raise FileError(path, f"line {number} {problem}") from fault
                end += len(line)
        return end


def text_of(value: Any) -> str:
    """The same text for the same value."""
    return json.dumps(value, sort_keys=True, allow_nan=False)
