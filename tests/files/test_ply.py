"""PLY files: types, byte orders, lists, and false headers."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from graphreg import FileError
from graphreg.files import read_cloud

XYZ = "property float x\nproperty float y\nproperty float z\n"


def save(tmp_path: Path, header: str, data: bytes, form: str = "ascii") -> Path:
    path = tmp_path / "a.ply"
    path.write_bytes(f"ply\nformat {form} 1.0\n{header}end_header\n".encode() + data)
    return path


def test_a_stanford_scan_is_read(tmp_path: Path) -> None:
    header = f"obj_info num_cols 512\ncomment a scan\nelement vertex 2\n{XYZ}element range_grid 4\n"
    header += "property list uchar int vertex_indices\n"
    path = save(tmp_path, header, b"-0.06325 0.0359793 0.0420873 \n1 2 3 \n0 \n1 0 \n0 \n1 1 \n")
    cloud = read_cloud(path)
    assert cloud.points.tolist() == [[-0.06325, 0.0359793, 0.0420873], [1, 2, 3]]
    assert cloud.attributes == {}
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FileError, match="declares 4 lines or records of 'range_grid' but ends after 3"):
        read_cloud(path)


def test_crlf_unknown_header_lines_and_blank_lines_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    text = f"ply\nformat ascii 1.0\nSCANNER 12\n\nelement vertex 2\n{XYZ}end_header\n\n1 2 3\n\n4 5 6\n\n"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert read_cloud(path).points.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("order", ["little", "big"])
def test_every_type_in_every_byte_order(tmp_path: Path, order: str) -> None:
    names = ["char", "uchar", "short", "ushort", "int", "uint", "float", "double"]
    names += ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"]
    values = [-100, 200, -30000, 60000, -(2**31), 2**32 - 1, 0.5, 0.1] * 2
    header = "element vertex 1\n" + "".join(f"property {name} p{i}\n" for i, name in enumerate(names)) + XYZ
    data = struct.pack((">" if order == "big" else "<") + "bBhHiIfd" * 2 + "3f", *values, 1, 2, 3)
    cloud = read_cloud(save(tmp_path, header, data, f"binary_{order}_endian"))
    assert cloud.points.tolist() == [[1, 2, 3]]
    assert [cloud.attributes[f"p{i}"][0] for i in range(16)] == values
    assert [cloud.attributes[f"p{i}"].dtype.str[1:] for i in range(8)] == [
        "i1",
        "u1",
        "i2",
        "u2",
        "i4",
        "u4",
        "f4",
        "f8",
    ]
    assert all(values.dtype.isnative for values in cloud.attributes.values())
    text = " ".join(map(str, [*values, 1, 2, 3])) + "\n"
    again = read_cloud(save(tmp_path, header, text.encode()))
    assert [again.attributes[f"p{i}"][0] for i in range(16)] == values
    assert [again.attributes[f"p{i}"].dtype for i in range(16)] == [cloud.attributes[f"p{i}"].dtype for i in range(16)]


@pytest.mark.parametrize("order", "=<>")
def test_lists_before_within_and_after_the_vertices(tmp_path: Path, order: str) -> None:
    header = (
        "element face 2\nproperty list uchar int vertex_indices\nproperty uchar flags\n"
        "element camera 1\nproperty double f\n"
        "element vertex 2\nproperty list ushort float w\nproperty float x\nproperty float y\n"
        "property list char short v\nproperty float z\nproperty uchar red\n"
        "element edge 1\nproperty list int int e\n"
    )
    if order == "=":
        data = b"3 0 1 1 9\n1 0 8\n0.5\n2 .1 .2 1 2 1 7 3 255\n0 4 5 0 6 254\n2 0 1\n"
        path = save(tmp_path, header, data)
    else:
        parts: list[tuple[str, tuple[float, ...]]] = [
            ("B3iB", (3, 0, 1, 1, 9)),
            ("BiB", (1, 0, 8)),
            ("d", (0.5,)),
            ("H2f2fbhfB", (2, 0.1, 0.2, 1, 2, 1, 7, 3, 255)),
            ("H2fbfB", (0, 4, 5, 0, 6, 254)),
            ("iii", (2, 0, 1)),
        ]
        data = b"".join(struct.pack(order + form, *values) for form, values in parts)
        path = save(tmp_path, header, data, f"binary_{'big' if order == '>' else 'little'}_endian")
    cloud = read_cloud(path)
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.attributes["red"].tolist() == [255, 254]
    assert set(cloud.attributes) == {"red"}


def test_points_that_are_not_finite_are_dropped_and_counted(tmp_path: Path) -> None:
    header = f"element vertex 3\n{XYZ}property uchar n\n"
    cloud = read_cloud(save(tmp_path, header, b"1 2 3 1\nnan 2 3 2\n4 -inf 6 3\n"))
    assert cloud.points.tolist() == [[1, 2, 3]]
    assert cloud.kept.tolist() == [True, False, False]
    assert cloud.dropped == 2
    assert cloud.attributes["n"].tolist() == [1]


def test_coordinates_of_a_national_grid_keep_their_digits(tmp_path: Path) -> None:
    header = "element vertex 1\n" + XYZ.replace("float", "double")
    assert read_cloud(save(tmp_path, header, b"4500000.123 5700000.456 88.5\n")).points.tolist() == [
        [4500000.123, 5700000.456, 88.5]
    ]


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        (f"element vertex 3\n{XYZ}", b"1 2 3\n4 5 6\n", "declares 3 vertices but ends after 2"),
        (
            f"element vertex 1000000000000\n{XYZ}",
            b"1 2 3\n",
            "declares 1000000000000 vertices but ends after 1",
        ),
        (f"element vertex -1\n{XYZ}", b"1 2 3\n", "element vertex -1"),
        (f"element vertex 99999999999999999999999\n{XYZ}", b"1 2 3\n", "cannot be interpreted"),
        (f"element vertex 1e3\n{XYZ}", b"1 2 3\n", "cannot be interpreted"),
        (f"element vertex 0\n{XYZ}", b"", "has no points"),
        (f"element vertex 1\n{XYZ}", b"1 2 abc\n", "line 8: expected 3 numbers, got '1 2 abc'"),
        (f"element vertex 1\n{XYZ}", b"1 2\n", "line 8"),
        (f"element vertex 1\n{XYZ}", b"1 2 3 4\n", "line 8"),
        (f"element vertex 1\n{XYZ}", b"1 2 3\n4 5 6\n", "continues after everything"),
        (
            f"element vertex 1\n{XYZ}",
            b"1 2",
            "declares 1 vertices but ends after 0, in the middle of line 8, '1 2'",
        ),
        (f"element vertex 3\n{XYZ}", b"1 2 3\n4 5 6", "declares 3 vertices but ends after 2"),
        (f"element vertex 1\n{XYZ}", b"nan 2 3\n", "none of its 1 points is finite"),
        (f"element vertex 1\n{XYZ}", b"1e200 2 3\n", "too large"),
        (f"element vertex 1\n{XYZ}property uchar r\n", b"1 2 3 256\n", "r is 256, which is no uint8"),
        (f"element vertex 1\n{XYZ}property uchar r\n", b"1 2 3 -1\n", "line 9"),
        ("element vertex 1\nproperty float x\nproperty float y\n", b"1 2\n", "no z coordinate"),
        ("element vertex 1\n", b"1 2\n", "no x coordinate"),
        ("element face 1\nproperty int x\n", b"1\n", "one element 'vertex'"),
        (f"element vertex 1\n{XYZ}element vertex 1\n{XYZ}", b"1 2 3\n1 2 3\n", "one element 'vertex'"),
        ("property float x\n", b"", "cannot be interpreted"),
        (f"element vertex 1\n{XYZ}property float x\n", b"1 2 3 4\n", "cannot be interpreted"),
        (f"element vertex 1\n{XYZ}property quad q\n", b"1 2 3 4\n", "cannot be interpreted"),
        (f"element vertex 1\n{XYZ}property list float int q\n", b"1 2 3 0\n", "cannot be interpreted"),
        (f"element vertex 1\n{XYZ}property list uchar int q\n", b"1 2 3 2 5\n", "line 9"),
        (f"element vertex 1\n{XYZ}property list uchar int q\n", b"1 2 3 -1\n", "line 9"),
    ],
)
def test_text_with_a_false_header_is_refused(tmp_path: Path, header: str, data: bytes, message: str) -> None:
    path = save(tmp_path, header, data)
    with pytest.raises(FileError, match=message) as caught:
        read_cloud(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        (f"element vertex 3\n{XYZ}", bytes(35), "declares 3 vertices but ends after 2"),
        (
            f"element vertex 1000000000000\n{XYZ}",
            bytes(24),
            "declares 1000000000000 vertices but ends after 2",
        ),
        (f"element vertex 900000000000000000\n{XYZ}", bytes(24), "ends after 2"),
        (f"element vertex 1\n{XYZ}", bytes(24), "12 bytes more"),
        (
            f"element vertex 1\n{XYZ}element face 1\nproperty list uchar int i\n",
            bytes(12) + b"\x02" + bytes(7),
            "ends after 0",
        ),
        (
            f"element vertex 1\n{XYZ}element face 2\nproperty list uint int i\n",
            bytes(12) + b"\xff" * 8,
            "ends after 0",
        ),
        (
            f"element vertex 1\n{XYZ}element face 1\nproperty list char int i\n",
            bytes(12) + b"\xff" * 8,
            "ends after 0",
        ),
        (f"element vertex 1000000000000\n{XYZ}property list uchar int i\n", bytes(26), "ends after 2"),
        (
            f"element a 1000000000000\nproperty list uchar int i\nelement vertex 1\n{XYZ}",
            bytes(26),
            "ends after 26",
        ),
        (f"element a 1000000000000\nelement vertex 1\n{XYZ}", bytes(13), "1 bytes more"),
    ],
)
def test_binary_with_a_false_header_is_refused(tmp_path: Path, header: str, data: bytes, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_cloud(save(tmp_path, header, data, "binary_little_endian"))


@pytest.mark.parametrize(
    "text", ["", "plz\n", "ply", "ply\n", "ply\nformat ascii 1.0\n", "ply\nformat odd 1.0\nend_header\n"]
)
def test_a_missing_header_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.ply"
    path.write_text(text)
    with pytest.raises(FileError):
        read_cloud(path)


def test_a_header_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    path.write_text("ply\nformat ascii 1.0\n" + "comment\n" * 20_000)
    with pytest.raises(FileError, match="no end_header"):
        read_cloud(path)


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, f"element vertex 1\n{XYZ}", b"1" * (5 << 20))
    with pytest.raises(FileError, match="longer than"):
        read_cloud(path)


@pytest.mark.slow
def test_lines_that_span_two_chunks_are_read(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(120_000, 3))
    text = "".join("{!r} {!r} {!r}\n".format(*row) for row in points.tolist())
    assert len(text) > 1.5 * (1 << 22)
    header = f"element vertex {len(points)}\n{XYZ}element face 3\nproperty list uchar int i\n"
    cloud = read_cloud(save(tmp_path, header, text.encode() + b"0\n0\n0\n"))
    np.testing.assert_array_equal(cloud.points, points)
