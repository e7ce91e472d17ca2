"""STL files: triangles with distinct vertices."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from graphreg import FileError
from graphreg.files import read_cloud, read_mesh

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
VERTICES = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
FACES = [[0, 1, 2], [1, 3, 2]]


def save(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "a.stl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_text_is_read(tmp_path: Path) -> None:
    mesh = read_mesh(save(tmp_path, SOLID))
    assert mesh.vertices.tolist() == VERTICES
    assert mesh.faces.tolist() == FACES


def binary_stl(header: bytes, count: int) -> bytes:
    triangles = [(0, 0, 1, *(0, 0, 0, 1, 0, 0, 0, 1, 0), 7), (0, 0, 1, *(1, 0, 0, 1, 1, 0, 0, 1, 0), 7)]
    return header.ljust(80) + struct.pack("<I", count) + b"".join(struct.pack("<12fH", *t) for t in triangles)


@pytest.mark.parametrize("header", [b"", b"solid but binary"])
def test_binary_is_read(tmp_path: Path, header: bytes) -> None:
    mesh = read_mesh(save(tmp_path, binary_stl(header, 2)))
    assert mesh.vertices.tolist() == VERTICES
    assert mesh.faces.tolist() == FACES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (binary_stl(b"", 3), "declares 3 triangles, but that does not fit its size of 184"),
        (binary_stl(b"", 2**32 - 1), "does not fit"),
        (binary_stl(b"", 2)[:-1], "does not fit"),
        (binary_stl(b"", 0)[:84], "has no points"),
        (b"abc", "too short"),
        (SOLID.replace("endsolid", "end"), "before its endsolid"),
        (SOLID.replace("      vertex 0 0 0\n", ""), "has 5 vertices"),
        (SOLID.replace("vertex 0 0 0", "vertex 0 0"), "line 4"),
        ("solid\nendsolid\n", "has no points"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_cloud(save(tmp_path, content))
