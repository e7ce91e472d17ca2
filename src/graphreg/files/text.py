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
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+,", re.ASCII)
COORDINATE_NAMES = {"x", "y", "z"}
# Other words for them, without units, in small letters; compared with letters and digits alone.
COORDINATE_WORDS = {
    word: axis
    for axis, words in {
        "x": "x xcoord xcoordinate coordx xkoordinate posx e east easting eastings rechtswert rechts rw ostwert ost "
        "est este",
        "y": "y ycoord ycoordinate coordy ykoordinate posy n north northing northings hochwert hoch hw "
        "nordwert nord norte",
        "z": "z zcoord zcoordinate coordz zkoordinate posz h height elevation elev level altitude alt hoehe höhe "
        "quota cota altura nn nhn",
    }.items()
    for word in words.split()
}
# [m], (mm) and the like after a name.
UNIT_OF_NAME = re.compile(r"[\[(<].*?[\])>]|_(m|mm|cm|ft|us_ft)$", re.IGNORECASE)
# How letters of German headers look where the file is not UTF-8.
LATIN_1 = {"\\xf6": "ö", "\\xd6": "Ö", "\\xe4": "ä", "\\xfc": "ü"}
DELIMITER_NAMES = {";": "semicolons", ",": "commas", "": "blanks"}
# .pts has no names for its columns; these are the usual ones, by the number of columns.
PTS_COLUMNS = {4: ["intensity"], 6: ["red", "green", "blue"], 7: ["intensity", "red", "green", "blue"]}
# Fewer rows do not tell an index from a coordinate.
MIN_INDEXED_ROWS = 10


def read(file: InputFile, columns: str | None = None) -> Cloud:
    """Read columns separated by blanks, commas or semicolons. Lines that begin with # or // are comments.

    The names of the columns come from a header line, or from the comment before the first row where that names x, y
    and z. Other words for these are understood: Easting, Northing, Height; Rechtswert, Hochwert, Höhe; X [m]. Without
    names the first three columns of numbers are the coordinates, and the others are column_3, column_4, ...; before
    them a column that counts the rows, 1, 2, 3, ..., is called index. A line with one integer before the rows declares
    how many there are. Columns of words are left out.

    Numbers may have a decimal comma where columns are separated by semicolons, tabs or blanks.

    Without that integer, a last line without a line break is refused where its last number looks truncated: where it
    has fewer decimals than each of the 100 before it.

    Parameters
    ----------
    file : InputFile
    columns : str, optional
        The numbers of the columns of x, y and z, from 1, such as "2,3,4"; by default they are found.

    Returns
    -------
    Cloud
    """
    file.skip_byte_order_mark()
    comment, row = _next_row(file)
    count = parse_integer(row)
    if count is not None:
        file.read_line()
        comment, row = _next_row(file)
    delimiter = _delimiter(row)
    first = _split(row, delimiter)
    if len(first) > MAX_COLUMNS:
        file.fail(f"has {len(first)} columns, more than {MAX_COLUMNS}")
    names = _axis_names(_split(comment, delimiter))
    header = None
    words = _axis_names(row.split("\t") if "\t" in row and not delimiter else first)
    if _has_axes(words) or not any(_is_number(word) for word in first):
        header, names = row, words
        file.read_line()
        row = _next_row(file)[1]
        if not delimiter or len(_split(row, delimiter)) != len(names):
            delimiter = _delimiter(row)
        first = _split(row, delimiter)
        if len(first) != len(names):
            file.fail(f"its header names {len(names)} columns, but its first row is {quote(row)}")
    named = header is not None or (_has_axes(names) and len(names) == len(first))
    file.decimal_comma = delimiter != "," and any(DECIMAL_COMMA.fullmatch(word) for word in first)
    file.decimal_comma |= delimiter == ";"  # the first row may have integers alone
    if not named:
        names = [""] * len(first)
    kinds = "".join(
        "f" if _is_number(word, file.decimal_comma) or (not word and name) else "-"
        for word, name in zip(first, names, strict=True)
    )
    separated = DELIMITER_NAMES[delimiter] + (", with decimal commas" if file.decimal_comma else "")
    understood = f"line {file.line_number}, {quote(row)}, was read as {len(first)} columns separated by {separated}"
    table = _read_rows(file, kinds, delimiter, count)
    numeric = [i for i, kind in enumerate(kinds) if kind == "f"]
    if not named:
        names = _default_names(file, names, numeric, table)
    if columns is not None:
        names = _chosen_names(file, names, numeric, columns, understood)
    found = [names[i] for i in numeric]
    if not _has_axes(found):
        missing = next(axis for axis in "xyz" if axis not in [name.lower() for name in found])
        hint = "choose the coordinates by their numbers, as in --columns 1,2,3"
        others = f", only {', '.join(found)}" if found else ""
        file.fail(f"has no {missing} coordinate{others}; {understood}; {hint}")
    return cloud_from_columns(file, _named_columns(table, found))


def _delimiter(row: str) -> str:
    if ";" in row:
        return ";"
    words = row.split()
    commas = [word for word in words if "," in word]
    decimal = len(words) >= 3 and all(DECIMAL_COMMA.fullmatch(word) and word[-1] != "," for word in commas)
    return "," if commas and not decimal else ""


def _is_number(word: str, decimal_comma: bool = True) -> bool:
    return bool(DECIMAL_NUMBER.fullmatch(word) or (decimal_comma and DECIMAL_COMMA.fullmatch(word)))


def _axis_names(words: list[str]) -> list[str]:
    """Names of columns, with x, y and z for other words for them where these name each once."""
    names = [word.strip().strip("\"'") for word in words]
    if _has_axes(names):
        return names
    axes = [COORDINATE_WORDS.get(simplified(name), "") for name in names]
    if all(axes.count(axis) == 1 for axis in "xyz"):
        return [axis or name for axis, name in zip(axes, names, strict=True)]
    return names


def simplified(name: str) -> str:
    """The name of a column in small letters, without unit, blanks and signs."""
    for escape, letter in LATIN_1.items():
        name = name.replace(escape, letter)
    return "".join(letter for letter in UNIT_OF_NAME.sub("", name).lower() if letter.isalnum())


def _default_names(file: InputFile, names: list[str], numeric: list[int], table: NDArray[np.float64]) -> list[str]:
    """Names of columns without a header."""
    indexed = len(numeric) >= 4 and _is_index(table)
    coordinates = numeric[1:4] if indexed else numeric[:3]
    result = [f"column_{i}" for i in range(len(names))]
    if indexed:
        result[numeric[0]] = "index"
    for axis, i in zip("xyz", coordinates, strict=False):
        result[i] = axis
    if file.path.suffix.lower() == ".pts" and coordinates == [0, 1, 2]:
        return result[:3] + PTS_COLUMNS.get(len(names), result[3:])
    return result


def _is_index(table: NDArray[np.float64]) -> bool:
    """Whether the first column counts the rows, and the coordinates after it are no counts."""
    counts = table[:, 0]
    return (
        len(table) >= MIN_INDEXED_ROWS
        and counts[0] in (0, 1)
        and bool((np.diff(counts) == 1).all())
        and bool((table[:, 1:4] != np.round(table[:, 1:4])).any())
    )


def _chosen_names(file: InputFile, names: list[str], numeric: list[int], columns: str, understood: str) -> list[str]:
    chosen = [int(word) - 1 for word in columns.split(",")]
    if len(set(chosen)) != 3 or not set(chosen) <= set(numeric):
        file.fail(f"columns {columns} are not three columns of numbers; {understood}")
    result = [f"column_{i}" if name.lower() in COORDINATE_NAMES else name for i, name in enumerate(names)]
    for axis, i in zip("xyz", chosen, strict=True):
        result[i] = axis
    return result


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
