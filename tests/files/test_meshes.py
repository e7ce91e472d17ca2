"""OBJ, STL, OFF: the vertices of meshes; and KITTI's frames."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from graphreg import FileError, InputError
from graphreg.files import read_cloud, write

SOLID = """solid two  triangles
  facet normal 0 0 1
    outer loop
      vertex 0 0 0
      VERTEX 1 0 0
      vertex 0 1e0 0
    endloop
  endfacet
  facet normal 0 0 1
    outer loop
      vertex 1 0 -0
      vertex 1 1 0
      vertex 0 1 0
    endloop
  endfacet
endsolid two
"""
CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]


def save(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_obj(tmp_path: Path) -> None:
    text = "# a comment\no thing\nv 1 2 3\nvn 0 0 1\nvt 0 0\nv\t4 5 6 1.0\r\nf 1//1 2//1 1//1\nv 7 8 9\n"
    assert read_cloud(save(tmp_path, "a.obj", text)).points.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_obj_with_colours(tmp_path: Path) -> None:
    cloud = read_cloud(save(tmp_path, "a.obj", "v 1 2 3 .1 .2 .3\nv 4 5 6 1 1 1\nf 1 2 1"))
    assert cloud.attributes["blue"].tolist() == [0.3, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("f 1 2 3\n", "holds no points"),
        ("v 1 2\n", "line 1"),
        ("v 1 2 x\n", "line 1"),
        ("v 1 2 3.5\nv 1 2 3", "middle of a line, 'v 1 2 3'; if it is whole, end it with a line break"),
        ("v 1 2 3.5\n" + "f 1 1 1\n" * 200 + "v 1 2 3", "middle of a line"),
        ("v 1 2 3.5 1.0\nv 1 2 3", "middle of a line"),
        ("v 1 2 3\nv 1 2", "line 2 should hold 3 numbers, but is 'v 1 2'; there the file ends"),
        ("v 1 2 3\rv 4 5 6\r", "carriage returns"),
        ("v 1 2 3 1 1 1\nv 1 2 3\n", "line 2"),
    ],
)
def test_bad_obj(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        read_cloud(save(tmp_path, "a.obj", text))


def test_stl_text(tmp_path: Path) -> None:
    assert read_cloud(save(tmp_path, "a.stl", SOLID)).points.tolist() == CORNERS


def binary_stl(header: bytes, count: int) -> bytes:
    triangles = [(0, 0, 1, *(0, 0, 0, 1, 0, 0, 0, 1, 0), 7), (0, 0, 1, *(1, 0, 0, 1, 1, 0, 0, 1, 0), 7)]
    return header.ljust(80) + struct.pack("<I", count) + b"".join(struct.pack("<12fH", *t) for t in triangles)


@pytest.mark.parametrize("header", [b"", b"solid but binary"])
def test_stl_binary(tmp_path: Path, header: bytes) -> None:
    assert read_cloud(save(tmp_path, "a.stl", binary_stl(header, 2))).points.tolist() == CORNERS


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (binary_stl(b"", 3), "says it holds 3 triangles, but that does not fit its size of 184"),
        (binary_stl(b"", 2**32 - 1), "does not fit"),
        (binary_stl(b"", 2)[:-1], "does not fit"),
        (binary_stl(b"", 0)[:84], "holds no points"),
        (b"abc", "too short"),
        (SOLID.replace("endsolid", "end"), "before its endsolid"),
        (SOLID.replace("      vertex 0 0 0\n", ""), "holds 5 corners"),
        (SOLID.replace("vertex 0 0 0", "vertex 0 0"), "line 4"),
        ("solid\nendsolid\n", "holds no points"),
    ],
)
def test_bad_stl(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(FileError, match=said):
        read_cloud(save(tmp_path, "a.stl", content))


@pytest.mark.parametrize(
    "text",
    [
        "OFF\n2 1 0\n1 2 3\n4 5 6\n3 0 1 0\n",
        "OFF 2 1 0\n1 2 3\n4 5 6\n3 0 1 0",
        "OFF2 1 0\n1 2 3\n4 5 6\n3 0 1 0\n",
        "OFF # a comment\n\n# another\n2 0 0\n\n1 2 3 # one\n4 5 6\n",
        "OFF\n2 0\n1 2 3 255 0 0\n4 5 6 255 0 0\n",
    ],
)
def test_off(tmp_path: Path, text: str) -> None:
    cloud = read_cloud(save(tmp_path, "a.off", text))
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.attributes == {}


def test_off_with_normals_and_colours(tmp_path: Path) -> None:
    cloud = read_cloud(save(tmp_path, "a.off", "CNOFF\n1 0 0\n1 2 3 0 0 1 255 128 0\n"))
    assert {name: v.tolist() for name, v in cloud.attributes.items()} == {
        "nx": [0],
        "ny": [0],
        "nz": [1],
        "red": [255],
        "green": [128],
        "blue": [0],
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PLY\n", "should begin with OFF"),
        ("OFF BINARY\n1 0 0\n", "numbers of vertices"),
        ("OFF\n-1 0 0\n", "numbers of vertices"),
        ("OFF\n0 0 0\n", "holds no points"),
        ("OFF\n3 0 0\n1 2 3\n", "says it holds 3 vertices but ends after 1"),
        ("OFF\n1000000000000 0 0\n1 2 3\n", "ends after 1"),
        ("OFF\n1 2 0\n1 2 3\n3 0 0 0\n", "says it holds 2 faces but ends after 1"),
        ("OFF\n1 0 0\n1 2\n", "line 3"),
        ("OFF\n2 0 0\n1 2 3\n1 2", "line 4"),
        ("OFF\n2 0 0\n1 2 3", "says it holds 2 vertices but ends after 1"),
        ("OFF\n", "within its header"),
    ],
)
def test_bad_off(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        read_cloud(save(tmp_path, "a.off", text))


def test_kitti(tmp_path: Path) -> None:
    cloud = read_cloud(save(tmp_path, "a.bin", struct.pack("<8f", 1, 2, 3, 0.5, 4, 5, 6, 0.25)))
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.attributes["reflectance"].tolist() == [0.5, 0.25]
    with pytest.raises(FileError, match="no whole number of points"):
        read_cloud(save(tmp_path, "a.bin", bytes(33)))


def test_signalling_nan_is_dropped_without_a_warning(tmp_path: Path) -> None:
    single = bytes.fromhex("0000a07f")
    cloud = read_cloud(save(tmp_path, "a.bin", single * 3 + bytes(4) + struct.pack("<4f", 1, 2, 3, 4)))
    assert cloud.kept.tolist() == [False, True]
    corners = single + struct.pack("<8f", 1, 2, 3, 4, 5, 6, 7, 8)
    path = save(tmp_path, "a.stl", bytes(80) + struct.pack("<I", 1) + bytes(12) + corners + bytes(2))
    assert read_cloud(path).dropped == 1
    double = bytes.fromhex("000000000000f47f")
    header = "ply\nformat binary_little_endian 1.0\nelement vertex 2\n"
    header += "".join(f"property double {axis}\n" for axis in "xyz") + "end_header\n"
    path = save(tmp_path, "a.ply", header.encode() + double * 3 + struct.pack("<3d", 1, 2, 3))
    assert read_cloud(path).kept.tolist() == [False, True]


def test_kitti_does_not_spoil_coordinates_of_a_national_grid(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rounds them by 0\.3"):
        write(tmp_path / "a.bin", np.random.default_rng(0).normal(size=(9, 3)) + np.array([4e5, 5e6, 0]))
    assert not list(tmp_path.iterdir())
