"""OBJ files: the vertices of a mesh."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg import FileError
from graphreg.files import read_cloud


def save(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.obj"
    path.write_bytes(text.encode())
    return path


def test_vertices_are_read(tmp_path: Path) -> None:
    text = "# a comment\no thing\nv 1 2 3\nvn 0 0 1\nvt 0 0\nv\t4 5 6 1.0\r\nf 1//1 2//1 1//1\nv 7 8 9\n"
    assert read_cloud(save(tmp_path, text)).points.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_colours_are_read(tmp_path: Path) -> None:
    cloud = read_cloud(save(tmp_path, "v 1 2 3 .1 .2 .3\nv 4 5 6 1 1 1\nf 1 2 1"))
    assert cloud.attributes["blue"].tolist() == [0.3, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f 1 2 3\n", "has no points"),
        ("v 1 2\n", "line 1"),
        ("v 1 2 x\n", "line 1"),
        ("v 1 2 3.5\nv 1 2 3", "middle of a line, 'v 1 2 3'; if that is complete, add a line break to it"),
        ("v 1 2 3.5\n" + "f 1 1 1\n" * 200 + "v 1 2 3", "middle of a line"),
        ("v 1 2 3.5 1.0\nv 1 2 3", "middle of a line"),
        ("v 1 2 3\nv 1 2", "line 2: expected 3 numbers, got 'v 1 2'; the file ends there"),
        ("v 1 2 3\rv 4 5 6\r", "carriage returns"),
        ("v 1 2 3 1 1 1\nv 1 2 3\n", "line 2"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_cloud(save(tmp_path, text))
