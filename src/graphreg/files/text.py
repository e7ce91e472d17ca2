"""Points as lines of numbers: .xyz, .txt, .asc, .csv, .pts. What a line holds is seen from the first ones."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud
from graphreg.files.sink import Sink, flat_columns
from graphreg.files.source import MOST_COLUMNS, Source, quote, whole_number

NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE)
AXES = {"x", "y", "z"}
# .pts has no names for its columns, but everybody agrees on them.
PTS_NAMES = {4: ["intensity"], 6: ["red", "green", "blue"], 7: ["intensity", "red", "green", "blue"]}


def read(source: Source) -> Cloud:
    """Columns between blanks, commas or semicolons. Lines that begin with # or // are comments.

    The names come from a header line, or from the comment before the first row where that names x, y and z.
    Without names the first three columns are the coordinates, and the others are column_3, column_4, ...
    A line with one whole number before the rows says how many there are. Columns of words are left out.
    Without that number, a last line without a line break is refused where its last number looks cut short: where
    it has fewer decimals than each of the 100 before it.
    """
    if source.peek(3) == b"\xef\xbb\xbf":  # what Windows puts before UTF-8
        source.take(3, "bytes")
    comment, row = _next_row(source)
    count = whole_number(row)
    if count is not None:
        source.line()
        comment, row = _next_row(source)
    delimiter = next((letter for letter in ";," if letter in row), "")
    first = _split(row, delimiter)
    if len(first) > MOST_COLUMNS:
        source.fail(f"has {len(first)} columns, more than {MOST_COLUMNS}")
    names = _split(comment, delimiter)
    if not _has_axes(names) or len(names) != len(first):
        names = _default_names(source, len(first))
    words = [word.strip("\"'") for word in first]
    if _has_axes(words) or not any(NUMBER.fullmatch(word) for word in words):
        names = words
        source.line()
        row = _next_row(source)[1]
        first = _split(row, delimiter)
        if len(first) != len(names):
            source.fail(f"its header names {len(names)} columns, but its first row is {quote(row)}")
    kinds = "".join(
        "f" if NUMBER.fullmatch(word) or (not word and name) else "-" for word, name in zip(first, names, strict=True)
    )
    table = _read_rows(source, kinds, delimiter, count)
    return source.split(_name(table, [name for name, kind in zip(names, kinds, strict=True) if kind == "f"]))


def _next_row(source: Source) -> tuple[str, str]:
    """The comment before the next row, and the row itself, which is not taken yet."""
    comment = ""
    while True:
        line = source.peek_line()
        if line is None:
            source.fail("holds no points")
        text = line.strip()
        if text and not text.startswith(("#", "//")):
            return comment, text
        comment = text.lstrip("#/ ")
        source.line()


def _has_axes(names: list[str]) -> bool:
    return AXES.issubset(name.lower() for name in names)


def _split(line: str, delimiter: str) -> list[str]:
    return [word.strip() for word in line.split(delimiter)] if delimiter else line.split()


def _default_names(source: Source, columns: int) -> list[str]:
    known = PTS_NAMES.get(columns, []) if source.path.suffix.lower() == ".pts" else []
    return ["x", "y", "z", *(known or [f"column_{i}" for i in range(3, columns)])][:columns]


def _read_rows(source: Source, kinds: str, delimiter: str, count: int | None) -> NDArray[np.float64]:
    if count is None:
        return source.table(-1, kinds, "points", delimiter=delimiter, comments=True)
    tables = []
    while count is not None:  # .pts may hold several scans, each after its own count
        if count < 0:
            source.fail(f"says it holds {count} points")
        tables.append(source.table(count, kinds, "points", delimiter=delimiter, comments=True))
        line = source.peek_line()
        count = whole_number(line.strip()) if line is not None else None
        if count is not None:
            source.line()
    source.expect_end_of_lines()
    return np.concatenate(tables)


def _name(table: NDArray[np.float64], names: list[str]) -> dict[str, NDArray[Any]]:
    result: dict[str, NDArray[Any]] = {}
    for i, name in enumerate(names):
        axis = name.lower() if name.lower() in AXES else name
        result[f"column_{i}" if axis in result else axis] = table[:, i]
    return result


def write(sink: Sink, cloud: Cloud) -> None:
    """x y z between blanks, with all the digits that float64 has; .pts begins with the number of points."""
    if sink.suffix == ".pts":
        sink.file.write(f"{len(cloud)}\n".encode())
    write_lines(sink, cloud, " ".join(["{!r}"] * 3))


def write_csv(sink: Sink, cloud: Cloud) -> None:
    """A header line, then x,y,z and the attributes. Reading gives all of them as float64."""
    extra = flat_columns(cloud)
    sink.held.update(extra)
    names = ["x", "y", "z", *(re.sub("[,;\"']", "_", name) for name in extra)]
    sink.file.write((",".join(names) + "\n").encode())
    write_lines(sink, cloud, ",".join(["{!r}"] * len(names)), list(extra.values()))


def write_lines(sink: Sink, cloud: Cloud, line: str, extra: list[NDArray[Any]] | None = None) -> None:
    """One line a point, formatted from the coordinates and what is `extra`."""
    for part in sink.parts(cloud):
        numbers = [column[part].tolist() for column in (*cloud.points.T, *(extra or []))]
        sink.file.write("".join(map((line + "\n").format, *numbers)).encode())
