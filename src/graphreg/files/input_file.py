"""A file that is being read: bytes, lines and tables of numbers, with every count checked against the file's size."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.argument_checks import shown
from graphreg.clouds import Floats
from graphreg.errors import FileError, InputError

Progress = Callable[[int, int], None]
"""Called as progress(done_bytes, total_bytes) every few megabytes; what it raises is passed on."""

# Bytes read at a time, between two calls of `progress`; also the longest line that a text file may have.
CHUNK_BYTES = 1 << 22
# A file with more columns than this is taken for damaged.
MAX_COLUMNS = 10_000
# A last line without a line break is compared with this many lines before it.
COMPARED_LINES = 100
# The fraction with its point, and the digits of the exponent. The empty text matches as well.
NUMBER_PARTS = re.compile(rb"[+-]?[0-9]*(\.[0-9]*)?(?:[eE][+-]?([0-9]*))?")
# A compressed file may expand to this many times its size, and in any case to this many bytes.
MAX_EXPANSION = 100
EXPANSION_ALLOWANCE_BYTES = 1 << 24


class InputFile:
    """An open file that is read from its beginning to its end.

    Parameters
    ----------
    path : Path
    progress : Progress, optional

    Attributes
    ----------
    path : Path
    size : int
        Bytes of the file.
    decimal_comma : bool
        Whether numbers of `read_table` have a decimal comma; a point is accepted as well.
    """

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self.path = path
        self._progress = progress
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed by __exit__)
        self.size = os.fstat(self._file.fileno()).st_size
        self._bytes_read = 0
        # What was read from the file but not yet consumed begins at this position of the buffer.
        self._buffer = b""
        self._position = 0
        self._lines_read = 0
        # The last line of the file has no line break; the buffer has one nevertheless.
        self._unterminated = False
        # Numbers in tables have a decimal comma.
        self.decimal_comma = False

    def __enter__(self) -> InputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def fail(self, problem: str) -> NoReturn:
        """Raise a FileError that names this file."""
        raise FileError(self.path, problem)

    @property
    def remaining(self) -> int:
        """The number of bytes that were not consumed yet."""
        return max(self.size - self._bytes_read, 0) + len(self._buffer) - self._position

    def report_progress(self, done: int) -> None:
        """Call `progress` with the number of bytes that are done."""
        if self._progress is not None:
            self._progress(min(done, self.size), self.size)

    def check_expansion(self, size: int, what: str, ratio: int = MAX_EXPANSION) -> None:
        """Refuse compressed contents that would take far more memory than the file itself.

        Parameters
        ----------
        size : int
            Bytes after decompression, as the file declares them.
        what : str
            Name of the contents in the error message.
        ratio : int, default 100
            How many times the size of the file is accepted.
        """
        if size > ratio * self.size + EXPANSION_ALLOWANCE_BYTES:
            self.fail(f"declares {size} bytes of {what} after decompression, too many for a file of {self.size} bytes")

    # -------------------------------------------------------------------------------------------------- bytes

    def _fill_buffer(self) -> bool:
        """Append another chunk of the file to the buffer; False at the end of the file."""
        chunk = self._file.read(CHUNK_BYTES)
        if not chunk:
            return False
        self._buffer = self._buffer[self._position :] + chunk
        self._position = 0
        self._bytes_read += len(chunk)
        self.report_progress(self._bytes_read)
        return True

    def peek(self, count: int) -> bytes:
        """The next bytes, at most one chunk, without consuming them; fewer at the end of the file."""
        while len(self._buffer) - self._position < count and self._fill_buffer():
            pass
        return self._buffer[self._position : self._position + count]

    def read_at(self, offset: int, count: int) -> bytes:
        """Bytes from anywhere in the file, without consuming anything."""
        if not 0 <= offset <= self.size - count:
            self.fail(f"refers to byte {offset}, but has only {self.size}")
        current = self._file.tell()
        self._file.seek(offset)
        data = self._file.read(count)
        self._file.seek(current)
        if len(data) < count:
            self.fail("ends too early")
        return data

    def read_bytes(self, count: int, what: str) -> bytes:
        """Consume `count` bytes; `what` names them in the error message where there are fewer."""
        return self.read_records(np.dtype(np.uint8), count, what).tobytes()

    def read_rest(self) -> NDArray[np.uint8]:
        """Consume all remaining bytes."""
        return self.read_records(np.dtype(np.uint8), self.remaining, "bytes")

    def read_records(self, dtype: np.dtype[Any], count: int, what: str) -> NDArray[Any]:
        """Consume `count` binary records.

        The count is checked against the size of the file before memory is allocated.

        Parameters
        ----------
        dtype : dtype
            Type of a record.
        count : int
            How many records the file declares.
        what : str
            Name of the records in the error message.

        Returns
        -------
        (count,) ndarray of dtype
        """
        if count < 0:
            self.fail(f"declares {count} {what}")
        if count * dtype.itemsize > self.remaining:
            self.fail(f"declares {count} {what} but ends after {self.remaining // dtype.itemsize}")
        values = np.empty(count, dtype)
        if values.nbytes == 0:
            return values
        target = values.view(np.uint8).data
        buffered = self._buffer[self._position : self._position + len(target)]
        target[: len(buffered)] = buffered
        self._position += len(buffered)
        filled = len(buffered)
        while filled < len(target):
            got = self._file.readinto(target[filled : filled + CHUNK_BYTES])
            if not got:
                self.fail(f"declares {count} {what} but ends after {filled // dtype.itemsize}")
            filled += got
            self._bytes_read += got
            self.report_progress(self._bytes_read)
        return values

    # -------------------------------------------------------------------------------------------------- lines

    def _fill_lines(self) -> bool:
        """Like `_fill_buffer`, but at the end of the file terminate a last line that has no line break."""
        if self._fill_buffer():
            return True
        rest = self._buffer[self._position :]
        if b"\r" in rest.rstrip():  # line ends of the classic Mac OS; the whole file would be one line
            self.fail("its last line has carriage returns inside; lines should end in \\n or \\r\\n")
        if rest:
            self._buffer += b"\n"
            self._unterminated = True
        return bool(rest)

    def skip_byte_order_mark(self) -> None:
        """Skip the mark at the beginning of text in UTF-8; refuse text in UTF-16, as spreadsheets export it."""
        if self.peek(3) == b"\xef\xbb\xbf":
            self.read_bytes(3, "bytes")
        elif self.peek(2) in (b"\xff\xfe", b"\xfe\xff"):
            self.fail("is text in UTF-16; save it as UTF-8")

    def peek_line(self) -> str | None:
        """The next line without its line break, without consuming it; None at the end of the file."""
        while (end := self._buffer.find(b"\n", self._position)) < 0:
            self._refuse_long_line()
            if not self._fill_lines():
                return None
        return self._buffer[self._position : end].decode("utf-8", "backslashreplace").rstrip("\r")

    def read_line(self) -> str | None:
        """Consume a line, and return it without its line break; None at the end of the file."""
        line = self.peek_line()
        if line is not None:
            self._position = self._buffer.index(b"\n", self._position) + 1
            self._lines_read += 1
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
        """Consume lines of numbers.

        The last line of the file may have no line break. Where no count shows that such a line is complete, it is
        refused if its last number looks truncated, see `looks_truncated`.

        Parameters
        ----------
        rows : int
            How many rows the file declares; negative to read all lines.
        kinds : str
            One letter for each column: f, i, u for a float or an integer, - for a column to skip, l for a list. Where
            empty, lines are counted and not parsed.
        what : str
            Name of the rows in error messages.
        delimiter, exact, comments, prefix
            As in `_core.parse_table`.

        Returns
        -------
        (N, M) ndarray
            Integers have their own bits, see `attribute_columns.decode_integers`.
        """
        tables: list[Floats] = []
        found = 0
        start = self._bytes_read - len(self._buffer) + self._position
        while True:
            begin = self._position
            table, self._position = _core.parse_table(
                self._with_points(self._buffer),
                begin,
                rows - found if rows >= 0 else -1,
                kinds,
                delimiter=delimiter,
                exact=exact,
                comments=comments,
                prefix=prefix,
            )
            self._lines_read += self._buffer.count(b"\n", begin, self._position)
            found += len(table)
            tables.append(table)
            if found == rows:
                break
            if (end := self._buffer.find(b"\n", self._position)) >= 0:
                line = self._buffer[self._position : end]
                if self._unterminated and rows >= 0:
                    where = f"in the middle of line {self._lines_read + 1}, {quote(line)}"
                    self.fail(f"declares {rows} {what} but ends after {found}, {where}")
                self._refuse_line(line, kinds)
            self._refuse_long_line()
            if not self._fill_lines():
                break
        if found < rows:
            self.fail(f"declares {rows} {what} but ends after {found}")
        if self._unterminated and rows < 0 and len(tables[-1]) and kinds.endswith("f"):
            self._refuse_truncated_number(start, len(kinds) - 1, delimiter, prefix)
        return tables[0] if len(tables) == 1 else np.concatenate(tables)

    def read_faces(self, rows: int, kinds: str, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Consume lines that hold the faces of a mesh.

        Parameters
        ----------
        rows : int
            How many faces the file declares.
        kinds, what
            As in `_core.parse_list_faces`; name of the rows in error messages.

        Returns
        -------
        corners, sizes : ndarray of int
            Numbers of vertices, one face after the other, and how many each face has.
        """
        corners: list[NDArray[np.int64]] = []
        sizes: list[NDArray[np.int64]] = []
        found = 0
        while found < rows:
            begin = self._position
            more, counts, self._position = _core.parse_list_faces(self._buffer, begin, rows - found, kinds)
            self._lines_read += self._buffer.count(b"\n", begin, self._position)
            found += len(counts)
            corners.append(more)
            sizes.append(counts)
            if found < rows:
                if (end := self._buffer.find(b"\n", self._position)) >= 0:
                    line = self._buffer[self._position : end]
                    self.fail(f"line {self._lines_read + 1}: expected a face, got {quote(line)}")
                self._refuse_long_line()
                if not self._fill_lines():
                    self.fail(f"declares {rows} {what} but ends after {found}")
        empty = np.empty(0, np.int64)
        return np.concatenate([empty, *corners]), np.concatenate([empty, *sizes])

    def _with_points(self, data: bytes) -> bytes:
        return data.replace(b",", b".") if self.decimal_comma else data

    @property
    def line_number(self) -> int:
        """The number of the next line, from 1."""
        return self._lines_read + 1

    def expect_no_more_lines(self) -> None:
        """Refuse anything but whitespace in the rest of the file."""
        while True:
            rest = self._buffer[self._position :].lstrip()
            if rest:
                self.fail(f"continues after everything that it declares, with {quote(rest)}")
            self._position = len(self._buffer)
            if not self._fill_buffer():
                return

    def _refuse_line(self, line: bytes, kinds: str) -> NoReturn:
        count = "" if "l" in kinds else f"{len(kinds)} "
        what = "columns" if "-" in kinds else "numbers"
        last = "; the file ends there, without a line break" if self._unterminated else ""
        self.fail(f"line {self._lines_read + 1}: expected {count}{what}, got {quote(line)}{last}")

    def _refuse_long_line(self) -> None:
        if len(self._buffer) - self._position >= CHUNK_BYTES:
            self.fail(f"line {self._lines_read + 1} is longer than {CHUNK_BYTES} bytes")

    def _refuse_truncated_number(self, start: int, column: int, delimiter: str, prefix: str) -> None:
        """Refuse rows from byte `start` to the end of the file where the last number looks truncated."""

        def words(line: bytes) -> list[bytes]:  # of a row, from this column on
            found = line.split(delimiter.encode() or None)
            if prefix and found and found.pop(0).lower() != prefix.encode():
                return []
            return [word.strip() for word in found[column:]] if not line.lstrip().startswith((b"#", b"//")) else []

        start = max(start, self.size - CHUNK_BYTES, 0)
        *lines, last = self._with_points(self.read_at(start, self.size - start)).split(b"\n")
        end = words(last)
        if len(end) != 1 or not last.endswith(end[0]):  # something follows it, if only a blank, so it is complete
            return
        before = (found[0] for line in reversed(lines) if (found := words(line)))
        if looks_truncated(end[0], list(islice(before, COMPARED_LINES))):
            self.fail(f"ends in the middle of a line, {quote(last)}; if that is complete, add a line break to it")


def as_path(value: Any, name: str = "path") -> Path:
    """Validate the name of a file, whether or not the file exists.

    Parameters
    ----------
    value : str or path-like
    name : str, default "path"
        Name of the argument in error messages.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        Where it is no name that a file can have: of another type, empty, or with characters that the system refuses.
    """
    try:
        text = os.fsdecode(value)
        os.fsencode(text)
    except (TypeError, UnicodeError) as problem:
        raise InputError(f"{name}: expected the name of a file, got {shown(value)}") from problem
    if not text or "\0" in text:
        raise InputError(f"{name}: expected the name of a file, got {shown(value)}")
    return Path(text)


def require_file(path: Path) -> None:
    """Refuse a folder, and a pipe or device, which may never end. A file that does not exist is for `open` to refuse.

    Parameters
    ----------
    path : Path

    Raises
    ------
    FileError
    """
    if path.is_dir():
        raise FileError(path, "is a folder, not a file")
    if path.exists() and not path.is_file():
        raise FileError(path, "is not a regular file")


def quote(text: bytes | str) -> str:
    """An excerpt of a file, short enough for an error message."""
    shown = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
    shown = shown.strip().split("\n")[0]
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")


def looks_truncated(number: bytes, before: list[bytes]) -> bool:
    """Whether a number has fewer decimals, or digits in its exponent, than each of the numbers before it."""
    parts = NUMBER_PARTS.fullmatch(number)
    others = [found for found in map(NUMBER_PARTS.fullmatch, before) if found]
    if parts is None or not others:  # nan and inf are no numbers any more when they are truncated
        return False
    if not number[-1:].isdigit() and all(other[0][-1:].isdigit() for other in others):
        return True
    return any(len(parts[i] or b"") < min(len(other[i] or b"") for other in others) for i in (1, 2))


def parse_integer(text: str) -> int | None:
    """An integer of up to 18 digits as headers write it; None where the text is something else."""
    return int(text) if re.fullmatch("[+-]?[0-9]{1,18}", text) else None
