"""Lines of numbers: .xyz, .txt, .asc, .csv, .pts. Delimiter and names of columns are found from the first lines."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud
from graphreg.files.attribute_columns import cloud_from_columns, scalar_columns
from graphreg.files.input_file import MAX_COLUMNS, InputFile, parse_integer, quote
from graphreg.files.output_file import OutputFile

DECIMAL_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE
)
COORDINATE_NAMES = {"x", "y", "z"}
# .pts has no names for its columns; these are the usual ones, by the number of columns.
PTS_COLUMNS = {4: ["intensity"], 6: ["red", "green", "blue"], 7: ["intensity", "red", "green", "blue"]}


def read(file: InputFile) -> Cloud:
    """Read columns separated by blanks, commas or semicolons. Lines that begin with # or // are comments.

    The names of the columns come from a header line, or from the comment before the first row where that names x, y
    and z. Without names the first three columns are the coordinates, and the others are column_3, column_4, ... A line
    with one integer before the rows declares how many there are. Columns of words are left out.

    Without that integer, a last line without a line break is refused where its last number looks truncated: where it
    has fewer decimals than each of the 100 before it.
    """
    if file.peek(3) == b"\xef\xbb\xbf":  # the byte order mark
        file.read_bytes(3, "bytes")
    comment, row = _next_row(file)
    count = parse_integer(row)
    if count is not None:
        file.read_line()
        comment, row = _next_row(file)
    delimiter = next((letter for letter in ";," if letter in row), "")
    first = _split(row, delimiter)
    if len(first) > MAX_COLUMNS:
        file.fail(f"has {len(first)} columns, more than {MAX_COLUMNS}")
    names = _split(comment, delimiter)
    if not _has_axes(names) or len(names) != len(first):
        names = _default_names(file, len(first))
    words = [word.strip("\"'") for word in first]
    if _has_axes(words) or not any(DECIMAL_NUMBER.fullmatch(word) for word in words):
        names = words
        file.read_line()
        row = _next_row(file)[1]
        first = _split(row, delimiter)
        if len(first) != len(names):
            file.fail(f"its header names {len(names)} columns, but its first row is {quote(row)}")
    kinds = "".join(
        "f" if DECIMAL_NUMBER.fullmatch(word) or (not word and name) else "-"
        for word, name in zip(first, names, strict=True)
    )
    table = _read_rows(file, kinds, delimiter, count)
    numeric = [name for name, kind in zip(names, kinds, strict=True) if kind == "f"]
    return cloud_from_columns(file, _named_columns(table, numeric))


def _next_row(file: InputFile) -> tuple[str, str]:
    """The comment before the next row, and the row, which is not consumed."""
    comment = ""
    while True:
        line = file.peek_line()
        if line is None:
            file.fail("has no points")
        text = line.strip()
        if text and not text.startswith(("#", "//")):
            return comment, text
        comment = text.lstrip("#/ ")
        file.read_line()


def _has_axes(names: list[str]) -> bool:
    return COORDINATE_NAMES.issubset(name.lower() for name in names)


def _split(line: str, delimiter: str) -> list[str]:
    return [word.strip() for word in line.split(delimiter)] if delimiter else line.split()


def _default_names(file: InputFile, columns: int) -> list[str]:
    known = PTS_COLUMNS.get(columns, []) if file.path.suffix.lower() == ".pts" else []
    return ["x", "y", "z", *(known or [f"column_{i}" for i in range(3, columns)])][:columns]


def _read_rows(file: InputFile, kinds: str, delimiter: str, count: int | None) -> NDArray[np.float64]:
    if count is None:
        return file.read_table(-1, kinds, "points", delimiter=delimiter, comments=True)
    tables = []
    while count is not None:  # .pts may have several scans, each after its own count
        if count < 0:
            file.fail(f"declares {count} points")
        tables.append(file.read_table(count, kinds, "points", delimiter=delimiter, comments=True))
        line = file.peek_line()
        count = parse_integer(line.strip()) if line is not None else None
        if count is not None:
            file.read_line()
    file.expect_no_more_lines()
    return np.concatenate(tables)


def _named_columns(table: NDArray[np.float64], names: list[str]) -> dict[str, NDArray[Any]]:
    result: dict[str, NDArray[Any]] = {}
    for i, name in enumerate(names):
        axis = name.lower() if name.lower() in COORDINATE_NAMES else name
        result[f"column_{i}" if axis in result else axis] = table[:, i]
    return result


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write x y z separated by blanks, with all digits of float64; .pts begins with the number of points."""
    if output.suffix == ".pts":
        output.file.write(f"{len(cloud)}\n".encode())
    write_lines(output, cloud, " ".join(["{!r}"] * 3))


def write_csv(output: OutputFile, cloud: Cloud) -> None:
    """Write a header line, then x,y,z and the attributes. They are read as float64.

    Names that a spreadsheet would take for a formula begin with an underscore.
    """
    extra = scalar_columns(cloud)
    output.written_attributes.update(extra)
    names = ["x", "y", "z", *(re.sub("^(?=[=+@-])|[,;\"']", "_", name) for name in extra)]
    output.file.write((",".join(names) + "\n").encode())
    write_lines(output, cloud, ",".join(["{!r}"] * len(names)), list(extra.values()))


def write_lines(output: OutputFile, cloud: Cloud, line: str, extra: list[NDArray[Any]] | None = None) -> None:
    """Write one line per point, formatted from the coordinates and the columns `extra`."""
    for rows in output.chunks(cloud):
        numbers = [column[rows].tolist() for column in (*cloud.points.T, *(extra or []))]
        output.file.write("".join(map((line + "\n").format, *numbers)).encode())
