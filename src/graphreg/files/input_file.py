"""A file as the readers see it: bytes, lines, its size to check every claim against, its name for errors."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import MAX_COORDINATE, Cloud, Floats
from graphreg.errors import FileError, MissingExtraError

Progress = Callable[[int, int], None]

# Bytes between two calls of `progress`; also the longest line that a text file may have.
CHUNK_BYTES = 1 << 22

# More numbers a point than this are damage.
MOST_COLUMNS = 10_000

# A last line without a line break is compared with this many before it.
LINES_COMPARED = 100
# What follows the point, with the point, and the digits of the exponent. An empty number fits as well.
NUMBER_PARTS = re.compile(rb"[+-]?[0-9]*(\.[0-9]*)?(?:[eE][+-]?([0-9]*))?")

# Compressed files may unfold to this many times their size, and to anything small.
MAX_EXPANSION = 100
EXPANSION_ALLOWANCE_BYTES = 1 << 24


class InputFile:
    """An open file. `fail` raises the FileError that names it; the rest reads on from where it is."""

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self.path = path
        self._progress = progress
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed by __exit__)
        self.size = os.fstat(self._file.fileno()).st_size
        self._read = 0
        self._text = b""
        self._at = 0
        self._line = 0
        self._unended = False  # the last line lacks its line break, which `_text` has got all the same

    def __enter__(self) -> InputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def fail(self, problem: str) -> NoReturn:
        raise FileError(self.path, problem)

    @property
    def remaining(self) -> int:
        """How many bytes are left to read."""
        return max(self.size - self._read, 0) + len(self._text) - self._at

    def report_progress(self, done: int) -> None:
        if self._progress is not None:
            self._progress(min(done, self.size), self.size)

    def check_expansion(self, size: int, what: str, times: int = MAX_EXPANSION) -> None:
        """Refuse what would take far more memory than the file itself."""
        if size > times * self.size + EXPANSION_ALLOWANCE_BYTES:
            self.fail(f"says it unfolds to {size} bytes of {what}, too many for a file of {self.size} bytes")

    # -------------------------------------------------------------------------------------------------- bytes

    def _more(self) -> bool:
        """Read another chunk behind the text that is not used up yet; False at the end of the file."""
        chunk = self._file.read(CHUNK_BYTES)
        if not chunk:
            return False
        self._text = self._text[self._at :] + chunk
        self._at = 0
        self._read += len(chunk)
        self.report_progress(self._read)
        return True

    def peek(self, count: int) -> bytes:
        """The next bytes, which stay where they are; fewer at the end of the file. At most one chunk."""
        while len(self._text) - self._at < count and self._more():
            pass
        return self._text[self._at : self._at + count]

    def read_at(self, place: int, count: int) -> bytes:
        """Bytes from anywhere in the file, without moving on."""
        if not 0 <= place <= self.size - count:
            self.fail(f"says that something lies at byte {place}, but has only {self.size}")
        here = self._file.tell()
        self._file.seek(place)
        found = self._file.read(count)
        self._file.seek(here)
        if len(found) < count:
            self.fail("ends too early")
        return found

    def read_bytes(self, count: int, what: str) -> bytes:
        """The next `count` bytes."""
        return self.read_records(np.dtype(np.uint8), count, what).tobytes()

    def read_rest(self) -> NDArray[np.uint8]:
        """All the bytes that are left."""
        return self.read_records(np.dtype(np.uint8), self.remaining, "bytes")

    def read_records(self, dtype: np.dtype[Any], count: int, what: str) -> NDArray[Any]:
        """The next `count` records. The count is checked against the file before memory is set aside."""
        if count < 0:
            self.fail(f"says it holds {count} {what}")
        if count * dtype.itemsize > self.remaining:
            self.fail(f"says it holds {count} {what} but ends after {self.remaining // dtype.itemsize}")
        values = np.empty(count, dtype)
        if values.nbytes == 0:
            return values
        into = values.view(np.uint8).data
        ready = self._text[self._at : self._at + len(into)]
        into[: len(ready)] = ready
        self._at += len(ready)
        filled = len(ready)
        while filled < len(into):
            got = self._file.readinto(into[filled : filled + CHUNK_BYTES])
            if not got:
                self.fail(f"says it holds {count} {what} but ends after {filled // dtype.itemsize}")
            filled += got
            self._read += got
            self.report_progress(self._read)
        return values

    # -------------------------------------------------------------------------------------------------- lines

    def _more_lines(self) -> bool:
        """Like `_more` where the next line is not whole yet; the end of the file ends the last line too."""
        if self._more():
            return True
        rest = self._text[self._at :]
        if b"\r" in rest.rstrip():  # as old Macs end lines; they would pass for one long line
            self.fail("its last line has carriage returns inside; lines should end in \\n or \\r\\n")
        if rest:
            self._text += b"\n"
            self._unended = True
        return bool(rest)

    def peek_line(self) -> str | None:
        """The next line without its end, which stays where it is; None where no line is left."""
        while (end := self._text.find(b"\n", self._at)) < 0:
            self._refuse_long_line()
            if not self._more_lines():
                return None
        return self._text[self._at : end].decode("utf-8", "backslashreplace").rstrip("\r")

    def read_line(self) -> str | None:
        """The next line without its end; None where no line is left."""
        line = self.peek_line()
        if line is not None:
            self._at = self._text.index(b"\n", self._at) + 1
            self._line += 1
        return line

    def read_table(
        self,
        rows: int,
        kinds: str,
        what: str,
        *,
        delimiter: str = "",
        exact: bool = True,
        comments: bool = False,
        prefix: str = "",
    ) -> Floats:
        """Numbers from the next `rows` lines, or from all of them where negative, see `_core.parse_table`.

        With `kinds` empty the lines are counted and nothing more. The last line of the file may lack its line break;
        where no count shows that it is whole, its last number must not look cut short.
        """
        tables: list[Floats] = []
        found = 0
        start = self._read - len(self._text) + self._at
        while True:
            begin = self._at
            table, self._at = _core.parse_table(
                self._text,
                begin,
                rows - found if rows >= 0 else -1,
                kinds,
                delimiter=delimiter,
                exact=exact,
                comments=comments,
                prefix=prefix,
            )
            self._line += self._text.count(b"\n", begin, self._at)
            found += len(table)
            tables.append(table)
            if found == rows:
                break
            if (end := self._text.find(b"\n", self._at)) >= 0:
                line = self._text[self._at : end]
                if self._unended and rows >= 0:
                    where = f"in the middle of line {self._line + 1}, {quote(line)}"
                    self.fail(f"says it holds {rows} {what} but ends after {found}, {where}")
                self._refuse_line(line, kinds)
            self._refuse_long_line()
            if not self._more_lines():
                break
        if found < rows:
            self.fail(f"says it holds {rows} {what} but ends after {found}")
        if self._unended and rows < 0 and len(tables[-1]) and kinds.endswith("f"):
            self._refuse_cut_number(start, len(kinds) - 1, delimiter, prefix)
        return tables[0] if len(tables) == 1 else np.concatenate(tables)

    def expect_no_more_lines(self) -> None:
        """Nothing but blanks may follow."""
        while True:
            rest = self._text[self._at :].lstrip()
            if rest:
                self.fail(f"goes on after everything it says it holds, with {quote(rest)}")
            self._at = len(self._text)
            if not self._more():
                return

    def _refuse_line(self, line: bytes, kinds: str) -> NoReturn:
        count = "" if "l" in kinds else f"{len(kinds)} "
        what = "columns" if "-" in kinds else "numbers"
        last = "; there the file ends, without a line break" if self._unended else ""
        self.fail(f"line {self._line + 1} should hold {count}{what}, but is {quote(line)}{last}")

    def _refuse_long_line(self) -> None:
        if len(self._text) - self._at >= CHUNK_BYTES:
            self.fail(f"line {self._line + 1} is longer than {CHUNK_BYTES} bytes")

    def _refuse_cut_number(self, start: int, column: int, delimiter: str, prefix: str) -> None:
        """Refuse rows from byte `start` to the end of the file whose last number may have been longer."""

        def words(line: bytes) -> list[bytes]:  # of a row, from this column on
            found = line.split(delimiter.encode() or None)
            if prefix and found and found.pop(0).lower() != prefix.encode():
                return []
            return [word.strip() for word in found[column:]] if not line.lstrip().startswith((b"#", b"//")) else []

        start = max(start, self.size - CHUNK_BYTES, 0)
        *lines, last = self.read_at(start, self.size - start).split(b"\n")
        end = words(last)
        if len(end) != 1 or not last.endswith(end[0]):  # something follows it, if only a blank, so it is whole
            return
        before = (found[0] for line in reversed(lines) if (found := words(line)))
        if looks_cut(end[0], list(islice(before, LINES_COMPARED))):
            self.fail(f"ends in the middle of a line, {quote(last)}; if it is whole, end it with a line break")

    # ------------------------------------------------------------------------------------------------- result

    def cloud(self, points: NDArray[Any], attributes: Mapping[str, NDArray[Any]]) -> Cloud:
        """What was read, without the rows that are not finite. `points` may be kept."""
        if len(points) == 0:
            self.fail("holds no points")
        points = np.ascontiguousarray(points, dtype=np.float64)
        finite = np.ones(len(points), bool)
        columns = dict(attributes)
        if not np.isfinite([points.min(), points.max()]).all():  # nan goes through both, and they are quick
            for i in range(3):
                finite &= np.isfinite(points[:, i])
            if not finite.any():
                self.fail(f"none of its {len(points)} points is finite")
            points = points[finite]
            columns = {name: values[finite] for name, values in columns.items()}
        if max(points.max(), -points.min()) > MAX_COORDINATE:
            self.fail(f"holds coordinates beyond {MAX_COORDINATE:g}, too large to square")
        return Cloud(points, finite, columns)

    def split(self, columns: Mapping[str, NDArray[Any]]) -> Cloud:
        """The cloud whose coordinates are the columns x, y, z, and whose attributes are all the others."""
        for axis in "xyz":
            if axis not in columns:
                self.fail(f"has no {axis} coordinate, only {', '.join(columns) or 'nothing'}")
            if columns[axis].ndim != 1 or columns[axis].dtype.kind not in "iuf":
                self.fail(f"its {axis} is not one real number a point")
        points = np.empty((len(columns["x"]), 3))
        for i, axis in enumerate("xyz"):
            points[:, i] = columns[axis]
        # Copies, so that one attribute does not keep the whole file in memory.
        return self.cloud(
            points,
            {
                name: np.array(values, values.dtype.newbyteorder("="))
                for name, values in columns.items()
                if name not in ("x", "y", "z")
            },
        )

    def integers(self, column: Floats, dtype: np.dtype[Any], name: str) -> NDArray[Any]:
        """A column of `table` of kind i or u, in the type that the file declares."""
        whole = column.view(np.uint64 if dtype.kind == "u" else np.int64)
        limits = np.iinfo(dtype)
        wrong = (whole < limits.min) | (whole > limits.max)
        if wrong.any():
            self.fail(f"{name} is {whole[wrong][0]}, which is no {dtype.name}")
        return whole.astype(dtype)


@contextlib.contextmanager
def guarded(file: InputFile) -> Iterator[None]:
    """Whatever another library says about a damaged file, the user gets a FileError."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, FileError):
        raise
    except BaseException as problem:  # a panic of Rust code is no Exception
        if isinstance(problem, OSError) and problem.errno is not None:
            raise
        said = str(problem).strip().split("\n")[0] or type(problem).__name__
        raise FileError(file.path, f"is damaged ({said})") from problem


def library(name: str, purpose: str, extra: str) -> Any:
    """Another library, loaded only now; MissingExtraError where it is not installed."""
    try:
        return import_module(name)
    except ImportError as problem:
        raise MissingExtraError(purpose, extra) from problem


def quote(text: bytes | str) -> str:
    """A piece of the file, short enough for an error message."""
    shown = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
    shown = shown.strip().split("\n")[0]
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")


def looks_cut(number: bytes, before: list[bytes]) -> bool:
    """Whether a number has fewer decimals, or digits in its exponent, than each of those before it."""
    parts = NUMBER_PARTS.fullmatch(number)
    others = [found for found in map(NUMBER_PARTS.fullmatch, before) if found]
    if parts is None or not others:  # nan and inf cannot be cut and still be numbers
        return False
    if not number[-1:].isdigit() and all(other[0][-1:].isdigit() for other in others):
        return True
    return any(len(parts[i] or b"") < min(len(other[i] or b"") for other in others) for i in (1, 2))


def whole_number(text: str) -> int | None:
    """A count as a header writes it, or None."""
    return int(text) if re.fullmatch("[+-]?[0-9]{1,18}", text) else None
