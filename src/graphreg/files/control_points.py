"""Control points and tie targets: tables of points that were measured in scans, with or without world coordinates."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphreg.files.input_file import InputFile, as_path, quote, require_file
from graphreg.files.text import COORDINATE_WORDS, DECIMAL_COMMA, DECIMAL_NUMBER, simplified

Coordinates = tuple[float, float, float]

# Words for the other columns, in small letters without blanks.
COLUMN_WORDS = {
    word: column
    for column, words in {
        "name": "name point pointname pointid id pt nr no number target targetname punkt punktnummer punktnr nummer",
        "scan": "scan scanname station setup standpunkt file",
        "sigma": "sigma std stddev stdev standarddeviation accuracy precision uncertainty genauigkeit s mse",
    }.items()
    for word in words.split()
}
# What marks a coordinate as one of the scan or of the world, before or after the axis: x_world, local y.
LOCAL_MARK = re.compile("^(local|scan|scanner|measured|lokal)|(local|scan|scanner|measured|lokal)$")
WORLD_MARK = re.compile("^(world|global|control|known|soll)|(world|global|control|known|soll)$")
# The order of the columns of a table without a header.
DEFAULT_COLUMNS = ("name", "scan", "x", "y", "z", "X", "Y", "Z", "sigma")


@dataclass(frozen=True)
class ControlPoint:
    """A point that was measured in a scan: a control point, or a target that ties scans together.

    Attributes
    ----------
    name : str
        Observations of one point in several scans have the same name.
    scan : str
        Name of the scan; empty where the table names none.
    point : tuple of 3 float
        The coordinates in the scan's frame.
    world : tuple of 3 float, or None
        The world coordinates; None for a target that only ties scans together.
    sigma : float or None
        Standard deviation of a coordinate, of the measurement in the scan and of the world coordinates together.

    Examples
    --------
    >>> ControlPoint("P1", "hall.e57", (1.0, 2.0, 3.0), (501.0, 202.0, 33.0), 0.003).world
    (501.0, 202.0, 33.0)
    """

    name: str
    scan: str
    point: Coordinates
    world: Coordinates | None = None
    sigma: float | None = None


def read_control_points(path: str | os.PathLike[str]) -> list[ControlPoint]:
    """Read a table of control points and targets.

    A row is one point in one scan: name, scan, x, y, z in the scan, X, Y, Z in the world, sigma. World coordinates are
    left empty for targets that only tie scans together. Columns are separated by commas, semicolons, tabs or blanks;
    numbers may have a decimal comma unless commas separate the columns. A header may name the columns in any order and
    in other words: point, station, Easting, Northing, Height, Rechtswert, Hochwert, Höhe, x_world, accuracy. Without a
    header they are in the order above. Lines that begin with # are comments.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    list of ControlPoint

    Raises
    ------
    FileError
        Where the table cannot be understood; the message has the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "control.csv")
    ...     _ = path.write_text("name,scan,x,y,z,X,Y,Z,sigma\\nP1,hall,1,2,3,501,202,33,0.003\\nT1,hall,4,5,6\\n")
    ...     points = read_control_points(path)
    >>> points[0].world, points[1].world
    ((501.0, 202.0, 33.0), None)
    """
    path = as_path(path)
    require_file(path)
    with InputFile(path) as file:
        return _read(file)


def _read(file: InputFile) -> list[ControlPoint]:
    columns: Sequence[str] = ()
    delimiter = ""
    points: list[ControlPoint] = []
    file.skip_byte_order_mark()
    while (line := file.peek_line()) is not None:
        text = line.strip()
        if text and not text.startswith(("#", "//")):
            first = not columns
            delimiter = _delimiter(text) if first else delimiter
            words = _split(file, text, delimiter)
            columns = _columns(file, words) if first else columns
            if len(words) > len(columns):
                file.fail(f"{_where(file, text)}: has {len(words)} columns, expected {', '.join(columns)}")
            if not first or columns is DEFAULT_COLUMNS:
                points.append(_point(file, text, dict(zip(columns, words, strict=False)), delimiter != ","))
        file.read_line()
    if not points:
        file.fail("has no points")
    return points


def _where(file: InputFile, text: str) -> str:
    return f"line {file.line_number}, {quote(text)}"


def _delimiter(text: str) -> str:
    for delimiter in ";\t":
        if delimiter in text:
            return delimiter
    words = text.split()
    with_comma = [word for word in words if "," in word]
    # Decimal commas between blanks separate nothing.
    decimal = len(words) >= 5 and all(DECIMAL_COMMA.fullmatch(word) for word in with_comma)
    return "," if with_comma and not decimal else ""


def _split(file: InputFile, text: str, delimiter: str) -> list[str]:
    if not delimiter:
        return text.split()
    try:
        return [word.strip() for word in next(csv.reader([text], delimiter=delimiter))]
    except csv.Error as problem:  # such as a carriage return in the line, or a cell of a megabyte
        file.fail(f"{_where(file, text)}: {problem}")


def _columns(file: InputFile, words: list[str]) -> Sequence[str]:
    """What each column is, by the header; in the usual order where the line is none."""
    if sum(bool(DECIMAL_NUMBER.fullmatch(word) or DECIMAL_COMMA.fullmatch(word)) for word in words) >= 3:
        return DEFAULT_COLUMNS
    by_case = {"x", "y", "z", "X", "Y", "Z"} <= set(words)
    found: list[str] = []
    for word in words:
        simple = simplified(word)
        of_world, of_scan = WORLD_MARK.search(simple), LOCAL_MARK.search(simple)
        bare = WORLD_MARK.sub("", LOCAL_MARK.sub("", simple))
        axis = COORDINATE_WORDS.get(simple, COORDINATE_WORDS.get(bare, ""))
        if not axis:
            found.append(COLUMN_WORDS.get(simple, word))
        elif by_case and word in "xyzXYZ":
            found.append(word)
        else:
            # Easting and the like are of the world; of two columns of x, the second.
            world = of_world or not (of_scan or (axis in bare and axis not in found))
            found.append(axis.upper() if world else axis)
    world_axes = [column for column in "XYZ" if column in found]
    complete = all(column in found for column in ("name", "x", "y", "z")) and len(world_axes) in (0, 3)
    if not complete or any(found.count(column) > 1 for column in DEFAULT_COLUMNS):
        file.fail(
            f"its header, {quote(' '.join(words))}, was understood as {', '.join(found)}; "
            f"expected {', '.join(DEFAULT_COLUMNS)}, x, y, z in the scan and X, Y, Z in the world"
        )
    return found


def _point(file: InputFile, text: str, row: dict[str, str], decimal_comma: bool) -> ControlPoint:
    where = _where(file, text)

    def number(column: str) -> float | None:
        word = row.get(column, "")
        if word in ("", "-"):
            return None
        plain = word.replace(",", ".") if decimal_comma else word
        if not DECIMAL_NUMBER.fullmatch(plain) or not abs(float(plain)) < float("inf"):
            file.fail(f"{where}: {column} is {quote(word)}, expected a number")
        return float(plain)

    def coordinates(axes: str) -> Coordinates | None:
        x, y, z = (number(axis) for axis in axes)
        if x is None and y is None and z is None:
            return None
        if x is None or y is None or z is None:
            file.fail(f"{where}: expected all of {', '.join(axes)}, or none")
        return x, y, z

    point = coordinates("xyz")
    if not row.get("name") or point is None:
        file.fail(f"{where}: expected a name and x, y, z")
    sigma = number("sigma")
    if sigma is not None and not sigma > 0:
        file.fail(f"{where}: sigma is {sigma:g}, expected a positive number")
    return ControlPoint(row["name"], row.get("scan", ""), point, coordinates("XYZ"), sigma)
