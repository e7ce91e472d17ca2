"""OFF files: the vertices of a mesh, with normals and colours."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg import FileError
from graphreg.files import read_cloud


def save(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.off"
    path.write_bytes(text.encode())
    return path


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
def test_vertices_are_read(tmp_path: Path, text: str) -> None:
    cloud = read_cloud(save(tmp_path, text))
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.attributes == {}


def test_normals_and_colours_are_read(tmp_path: Path) -> None:
    cloud = read_cloud(save(tmp_path, "CNOFF\n1 0 0\n1 2 3 0 0 1 255 128 0\n"))
    assert {name: v.tolist() for name, v in cloud.attributes.items()} == {
        "nx": [0],
        "ny": [0],
        "nz": [1],
        "red": [255],
        "green": [128],
        "blue": [0],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PLY\n", "expected OFF"),
        ("OFF BINARY\n1 0 0\n", "numbers of vertices"),
        ("OFF\n-1 0 0\n", "numbers of vertices"),
        ("OFF\n0 0 0\n", "has no points"),
        ("OFF\n3 0 0\n1 2 3\n", "declares 3 vertices but ends after 1"),
        ("OFF\n1000000000000 0 0\n1 2 3\n", "ends after 1"),
        ("OFF\n1 2 0\n1 2 3\n3 0 0 0\n", "declares 2 faces but ends after 1"),
        ("OFF\n1 0 0\n1 2\n", "line 3"),
        ("OFF\n2 0 0\n1 2 3\n1 2", "line 4"),
        ("OFF\n2 0 0\n1 2 3", "declares 2 vertices but ends after 1"),
        ("OFF\n", "within its header"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_cloud(save(tmp_path, text))
