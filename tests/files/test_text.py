"""Text files: delimiters, headers, comments and counts, and files that are refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreg import FileError
from graphreg.files import read_cloud
from graphreg.files.input_file import CHUNK_BYTES

POINTS = [[1, 2, 3], [4, 5, 6]]
SUFFIXES = ("xyz", "txt", "asc", "csv", "pts")


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("1 2 3\n4 5 6\n", {}),
        ("1\t2\t3\r\n4\t5\t6\r\n", {}),
        ("  1   2   3  \n\n4 5 6\n\n", {}),
        ("1,2,3\n4,5,6\n", {}),
        ("1, 2, 3\n4, 5, 6\n", {}),
        ("1;2;3\n4;5;6\n", {}),
        ("\ufeff1 2 3\n4 5 6\n", {}),
        ("# a scan\n// today\n1 2 3\n# half\n4 5 6 # last\n", {}),
        ("2\n1 2 3\n4 5 6\n", {}),
        ("1\n1 2 3\n1\n4 5 6\n", {}),
        ("x y z\n1 2 3\n4 5 6\n", {}),
        ("X,Y,Z\n1,2,3\n4,5,6\n", {}),
        ('"x","y","z"\n1,2,3\n4,5,6\n', {}),
        ("z;y;x\n3;2;1\n6;5;4\n", {}),
        ("//X Y Z\n1 2 3\n4 5 6\n", {}),
        ("# x y z gps\n1 2 3 7\n4 5 6 8\n", {"gps": [7, 8]}),
        ("id,x,y,z,label,t\n7,1,2,3,a wall,.5\n8,4,5,6,floor,1e1\n", {"id": [7, 8], "t": [0.5, 10]}),
        ("x,y,z,n,\n1,2,3,,\n4,5,6,9,\n", {"n": [np.nan, 9]}),
        ("1 2 3 wall\n4 5 6 floor\n", {}),
        ("P1 1 2 3\nP2 4 5 6\n", {}),
        ("P1;1,0;2,0;3,0;9\nP2;4;5;6;8,5\n", {"column_4": [9, 8.5]}),
        ("1,0 2,0 3,0\n4,0 5,0 6,0\n", {}),
        ("1,0\t2,0\t3,0\n4,0\t5,0\t6,0\n", {}),
        ("1;2;3\n4,0;5,0;6,0\n", {}),
        ("Easting,Northing,Height\n1,2,3\n4,5,6\n", {}),
        ("Nr;Rechtswert;Hochwert;Höhe\n7;1,0;2,0;3,0\n8;4,0;5,0;6,0\n", {"Nr": [7, 8]}),
        ("Northing [m]\tEasting [m]\tElevation [m]\n2,0\t1,0\t3,0\n5,0\t4,0\t6,0\n", {}),
        ("X[m];Y[m];Z[m]\n1;2;3\n4;5;6\n", {}),
        ("x_coord,y_coord,z_coord\n1,2,3\n4,5,6\n", {}),
        ("E N H\n1 2 3\n4 5 6\n", {}),
        ("# Rechtswert Hochwert Hoehe\n1 2 3\n4 5 6\n", {}),
        ("height,x,y,z\n9,1,2,3\n8,4,5,6\n", {"height": [9, 8]}),
        ("x,y,z,a,a\n1,2,3,4,5\n4,5,6,7,8\n", {"a": [4, 7], "column_4": [5, 8]}),
    ],
)
def test_delimiters_names_and_counts_are_found(tmp_path: Path, text: str, attributes: dict[str, list[float]]) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(text.encode())
        cloud = read_cloud(path)
        assert cloud.points.tolist() == POINTS, suffix
        assert list(cloud.attributes) == list(attributes), suffix
        for name, values in attributes.items():
            np.testing.assert_array_equal(cloud.attributes[name], values, suffix)


def test_names_of_columns_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.xyz"
    path.write_text("1 2 3 9 8\n")
    assert {name: v.tolist() for name, v in read_cloud(path).attributes.items()} == {
        "column_3": [9],
        "column_4": [8],
    }
    path = tmp_path / "a.pts"
    path.write_text("1\n1 2 3 -1200 255 0 128\n")
    assert list(read_cloud(path).attributes) == ["intensity", "red", "green", "blue"]


def test_points_that_are_not_finite_are_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y,z,n\n1,2,3,1\n,2,3,2\nNaN,2,3,3\n1,inf,3,4\n")
    cloud = read_cloud(path)
    assert cloud.kept.tolist() == [True, False, False, False]
    assert cloud.attributes["n"].tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n# nothing\n", "has no points"),
        ("x,y,z\n", "has no points"),
        ("1 2\n3 4\n", "no z coordinate"),
        ("1 2 3\n4 5\n", "line 2: expected 3 numbers, got '4 5'"),
        ("1 2 3\n4 5 6 7\n", "line 2"),
        ("1 2 3\n4 five 6\n", "line 2"),
        ("1 2 3\n4 5", "line 2: expected 3 numbers, got '4 5'; the file ends there"),
        ("1 2 3.5\n4 5 6", "in the middle of a line, '4 5 6'; if that is complete, add a line break to it"),
        ("1 2 3\n4 5 6.", "in the middle of a line"),
        ("1,2,3\n4,5,", "in the middle of a line"),
        ("1,2,3\n4,5, ", "in the middle of a line"),
        ("1 2 3\n4 5 6e-", "line 2"),
        ("1 2 3\n4 5 -", "line 2"),
        ("1 2 3.5e+01\n4 5 6.5e+0", "in the middle of a line"),
        ("1 2 3.5e+01\n4 5 6.5", "in the middle of a line"),
        ("1 2 3.25\n" * 100 + "# 4 5 6\n4 5 6.5", "in the middle of a line"),
        ("1 2 3\r4 5 6\r", "carriage returns"),
        ("3\n1 2 3\n4 5 6\n", "declares 3 points but ends after 2"),
        ("1\n1 2 3\n4 5 6\n", "continues after everything"),
        ("-1\n1 2 3\n", "declares -1 points"),
        ("1000000000000\n1 2 3\n", "ends after 1"),
        ("a,b,c\n1,2,3\n", "no x coordinate, only a, b, c"),
        ("x,y,z\n1,2,3,4\n", "names 3 columns, but its first row is '1,2,3,4'"),
        ("x,y,z\n1,2,wall\n", "no z coordinate"),
        (
            "a;b;c\n1,5;2;3\n",
            "line 2, '1,5;2;3', was read as 3 columns separated by semicolons, with decimal commas; choose",
        ),
        ("East;North\n1,5;2\n", "no x coordinate, only East, North; line 2"),
        ("1.234,5;2;3\n4;5;6\n", "no z coordinate, only x, y"),
        ("1,5;2,25\n4,5;5,5", "in the middle of a line|no z"),
        ("1,5;2,5;3,25\n4,5;5,5;6,2", "in the middle of a line"),
        ("\0\0\0\0", "has no points"),
        ("{\\rtf1}\n", "has no points"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    with pytest.raises(FileError, match=message):
        read_cloud(path)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("1 2 3", 3),
        ("1 2 3.", 3),
        ("1 2 3\n4 5 6", 6),
        ("1 2 3.25\n4 5 6.50", 6.5),
        ("1 2 3.25\n1 2 3.5\n4 5 6.5", 6.5),
        ("1 2 3.\n4 5 6.", 6),
        ("1 2 3.5e+01\n4 5 6.5e+00", 6.5),
        ("1 2 3.25\n4 5 6 ", 6),  # what follows a number shows that it is complete
        ("1 2 3.25\r\n4 5 6\r", 6),
        ("1 2 3.25\n4 5 6 # the l", 6),
        ("1 2 3.25\n4 5 6\n# 7", 6),
        ("x,y,z,name\n1,2,3.25,wall\n4,5,6,fl", 6),
        ("x,y,z,n\n1,2,3.25,\n4,5,6,", 6),
        ("x,y,z,n\n1,2,3.25,0.5\n4,5,6,nan", 6),
        ("1 2 3\n" + "1 2 3.25\n" * 99 + "4 5 6", 6),  # the numbers before are compared, up to the hundredth
    ],
)
def test_a_last_line_without_a_line_break_is_read(tmp_path: Path, text: str, last: float) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    cloud = read_cloud(path)
    assert len(cloud) == sum(line[:1] in ("1", "4") for line in text.split("\n"))
    assert cloud.points[-1, 2] == last


def test_a_last_line_in_a_separate_chunk_is_compared_with_those_before(tmp_path: Path) -> None:
    path = tmp_path / "a.xyz"
    rows = b"1.00 2.00 3.00\n" * 100
    before = b"#" * (CHUNK_BYTES - len(rows) - 1) + b"\n" + rows
    path.write_bytes(before + b"4.00 5.00 6.00")
    assert read_cloud(path).points[-1].tolist() == [4, 5, 6]
    path.write_bytes(before + b"4.00 5.00 6.0")
    with pytest.raises(FileError, match="in the middle of a line"):
        read_cloud(path)


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_is_refused(tmp_path: Path, mark: bytes) -> None:
    path = tmp_path / "a.xyz"
    encoding = "utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"
    path.write_bytes(mark + "1 2 3\n4 5 6\n".encode(encoding))
    with pytest.raises(FileError, match="is text in UTF-16; save it as UTF-8"):
        read_cloud(path)


@pytest.mark.slow
def test_rows_that_span_two_chunks_are_read(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(120_000, 3))
    path = tmp_path / "a.xyz"
    path.write_text("".join("{!r} {!r} {!r}\n".format(*row) for row in points.tolist()))
    np.testing.assert_array_equal(read_cloud(path).points, points)


def test_headers_in_latin_1_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("Höhe;Hochwert;Rechtswert\n3,0;2,0;1,0\n6,0;5,0;4,0\n".encode("latin-1"))
    assert read_cloud(path).points.tolist() == POINTS


NUMBERS = st.decimals(-(10**7), 10**7, allow_nan=False, places=3)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=2, max_size=20),
    delimiter=st.sampled_from([";", "\t", " ", " ; "]),
    header=st.sampled_from(["", "Easting{0}Northing{0}Height\n", "X[m]{0}Y[m]{0}Z[m]\n", "# x{0}y{0}z\n"]),
    comma=st.booleans(),
)
def test_numbers_are_the_same_with_decimal_commas(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Decimal, ...]], delimiter: str, header: str, comma: bool
) -> None:
    path = tmp_path_factory.mktemp("commas") / "a.txt"
    text = "".join(delimiter.join(map(str, row)) + "\n" for row in rows)
    path.write_text(header.format(delimiter) + (text.replace(".", ",") if comma else text))
    np.testing.assert_array_equal(read_cloud(path).points, np.array(rows, float))


def test_a_column_that_counts_the_rows_is_no_coordinate(tmp_path: Path) -> None:
    path = tmp_path / "a.xyz"
    path.write_text("".join(f"{i} {i / 2} 2.5 3\n" for i in range(1, 21)))
    cloud = read_cloud(path)
    assert cloud.points[0].tolist() == [0.5, 2.5, 3]
    assert cloud.attributes["index"].tolist() == list(range(1, 21))
    for rows in (range(1, 6), range(0, 40, 2), [1, *range(1, 20)]):  # too few, steps of two, one twice
        path.write_text("".join(f"{i} {i / 2} 2.5 3\n" for i in rows))
        assert read_cloud(path).points[:, 0].tolist() == list(rows)


def test_columns_are_chosen_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y,z,a,b\n1,2,3,4,5\n6,7,8,9,10\n")
    cloud = read_cloud(f"{path}#5,1,4")
    assert cloud.points.tolist() == [[5, 1, 4], [10, 6, 9]]
    assert list(cloud.attributes) == ["column_1", "column_2"]
    for columns in ("1,2,6", "1,1,2", "0,1,2"):
        with pytest.raises(FileError, match=f"columns {columns} are not three columns of numbers; line 2, '1,2,3,4,5'"):
            read_cloud(f"{path}#{columns}")
