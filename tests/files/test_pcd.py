"""PCD files: text, binary and compressed data, and false headers."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from graphreg import FileError
from graphreg.files import read_cloud


def save(tmp_path: Path, data: bytes, kind: str = "ascii", **changes: str) -> Path:
    header = {
        "VERSION": ".7",
        "FIELDS": "x y z",
        "SIZE": "4 4 4",
        "TYPE": "F F F",
        "COUNT": "1 1 1",
        "WIDTH": "2",
        "HEIGHT": "1",
        "VIEWPOINT": "9 9 9 1 0 0 0",
        "POINTS": "2",
    } | changes
    path = tmp_path / "a.pcd"
    lines = "".join(f"{key} {value}\n" for key, value in header.items() if value)
    path.write_bytes(f"# .PCD v.7 - Point Cloud Data file format\n{lines}DATA {kind}\n".encode() + data)
    return path


def literals(data: bytes) -> bytes:
    """LZF of literal runs alone."""
    return b"".join(bytes([len(data[i : i + 32]) - 1]) + data[i : i + 32] for i in range(0, len(data), 32))


def test_text_of_an_organised_cloud_is_read(tmp_path: Path) -> None:
    path = save(tmp_path, b"1 2 3\nnan nan nan\r\n4 5 6\n7 8 9\n", WIDTH="2", HEIGHT="2", POINTS="4")
    cloud = read_cloud(path)
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert cloud.kept.tolist() == [True, False, True, True]


WIDE = {
    "FIELDS": "a x _ y z rgb t u d h _",
    "SIZE": "1 8 1 4 4 4 8 8 8 2 2",
    "TYPE": "I F U F F F U I F U U",
    "COUNT": "1 1 3 1 1 1 1 1 33 1 1",
    "WIDTH": "1",
    "POINTS": "1",
}
FORM = "<bd3xfffQq33dHH"
VALUES = (-5, 4500000.125, 2.0, 3.0, 4.2108e06, 2**64 - 1, -(2**63), *(i / 7 for i in range(33)), 65535, 1)


def check_wide(path: Path) -> None:
    cloud = read_cloud(path)
    assert cloud.points.tolist() == [[4500000.125, 2, 3]]
    assert list(cloud.attributes) == ["a", "rgb", "t", "u", "d", "h"]
    assert [cloud.attributes[name].dtype.str[1:] for name in "atuh"] == ["i1", "u8", "i8", "u2"]
    assert cloud.attributes["rgb"].dtype == np.float32
    assert [int(cloud.attributes[name][0]) for name in "atuh"] == [-5, 2**64 - 1, -(2**63), 65535]
    assert cloud.attributes["d"].tolist() == [[i / 7 for i in range(33)]]


def test_every_size_type_and_count_as_binary(tmp_path: Path) -> None:
    check_wide(save(tmp_path, struct.pack(FORM, *VALUES), "binary", **WIDE))


def test_every_size_type_and_count_compressed(tmp_path: Path) -> None:
    data = struct.pack(FORM, *VALUES)  # of one point, the fields are in the same order
    packed = literals(data)
    check_wide(save(tmp_path, struct.pack("<II", len(packed), len(data)) + packed, "binary_compressed", **WIDE))


def test_every_size_type_and_count_as_text(tmp_path: Path) -> None:
    words = [repr(value) for value in VALUES]
    words[2:2] = ["0", "0", "0"]
    check_wide(save(tmp_path, " ".join(words).encode() + b"\n", **WIDE))


def test_compressed_data_are_stored_field_by_field(tmp_path: Path) -> None:
    data = struct.pack("<6f", 1, 4, 2, 5, 3, 6)
    packed = literals(data)
    path = save(tmp_path, struct.pack("<II", len(packed), 24) + packed + b"padding", "binary_compressed")
    assert read_cloud(path).points.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_packed_colour_keeps_its_bits(tmp_path: Path) -> None:
    colours = np.array([0x00FF8001, 0x00000000], np.uint32)
    data = b"".join(struct.pack("<3fI", 1, 2, 3, colour) for colour in colours)
    path = save(tmp_path, data, "binary", FIELDS="x y z rgb", SIZE="4 4 4 4", TYPE="F F F F", COUNT="1 1 1 1")
    np.testing.assert_array_equal(read_cloud(path).attributes["rgb"].view(np.uint32), colours)


def test_old_headers_without_count_and_points(tmp_path: Path) -> None:
    assert len(read_cloud(save(tmp_path, b"1 2 3\n4 5 6\n", COUNT="", POINTS="", VIEWPOINT="", HEIGHT=""))) == 2


@pytest.mark.parametrize(
    ("data", "kind", "changes", "message"),
    [
        (b"1 2 3\n", "ascii", {}, "declares 2 points but ends after 1"),
        (b"1 2 3\n4 5\n", "ascii", {}, "line 13: expected 3 numbers"),
        (b"1 2 3\n4 5 6\n7 8 9\n", "ascii", {}, "continues after everything"),
        (bytes(23), "binary", {}, "declares 2 points of 12 bytes, but only 23 bytes follow"),
        (bytes(24), "binary", {"WIDTH": "1000000000000", "POINTS": "1000000000000"}, "only 24 bytes follow"),
        (bytes(24), "binary", {"WIDTH": "-2", "POINTS": "-2"}, "WIDTH: expected a count"),
        (bytes(24), "binary", {"POINTS": "3"}, "POINTS is 3, but WIDTH times HEIGHT is 2"),
        (bytes(24), "binary", {"WIDTH": "0", "POINTS": "0"}, "has no points"),
        (bytes(24), "binary", {"WIDTH": "", "POINTS": ""}, "no WIDTH"),
        (bytes(24), "binary", {"SIZE": "4 4 3"}, "is not supported"),
        (bytes(24), "binary", {"TYPE": "F F Q"}, "is not supported"),
        (bytes(24), "binary", {"SIZE": "1 4 4"}, "is not supported"),
        (bytes(24), "binary", {"COUNT": "1 1 0"}, "is not supported"),
        (bytes(24), "binary", {"COUNT": "1 1 999999999999"}, "is not supported"),
        (bytes(24), "binary", {"COUNT": "90 90 90"}, "larger than the file"),
        (
            bytes(30),
            "binary",
            {"COUNT": "2 1 1", "WIDTH": "1", "POINTS": "1"},
            "its x is not one real number",
        ),
        (bytes(24), "binary", {"SIZE": "4 4"}, "one word for each field"),
        (bytes(24), "binary", {"FIELDS": "x y y"}, "two fields are called 'y'"),
        (bytes(24), "binary", {"FIELDS": "x y w"}, "no z coordinate"),
        (bytes(24), "zipped", {}, "DATA: expected ascii.*, got 'zipped'"),
        (bytes(24), "binary", {"COLOUR": "red"}, "'COLOUR red' cannot be interpreted"),
        (
            struct.pack("<II", 5, 25) + bytes(30),
            "binary_compressed",
            {},
            "declares 25 bytes after decompression, but its points have 24",
        ),
        (struct.pack("<II", 99, 24) + bytes(30), "binary_compressed", {}, "ends after 30"),
        (struct.pack("<II", 30, 24) + bytes(30), "binary_compressed", {}, "damaged"),
        (struct.pack("<II", 3, 24) + b"\xe0\xff\x00", "binary_compressed", {}, "damaged"),
        (b"\0\0", "binary_compressed", {}, "ends after 2"),
        (
            struct.pack("<II", 3, 4294967280) + b"\xe0\xff\x00",
            "binary_compressed",
            {"WIDTH": "357913940", "POINTS": "357913940"},
            "only 11 bytes follow",
        ),
    ],
)
def test_false_headers_are_refused(
    tmp_path: Path, data: bytes, kind: str, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(FileError, match=message):
        read_cloud(save(tmp_path, data, kind, **changes))
