"""Folders of frames: which files are frames, and their order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphreg
from graphreg.errors import FileError, InputError
from graphreg.files.folders import frame_files


def test_a_folder_is_read_in_the_order_of_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 100):
        graphreg.write(tmp_path / f"scan{number}.ply", np.eye(3))
    (tmp_path / "poses.txt").write_text("1 2 3\n")
    assert [path.name for path in frame_files(tmp_path)] == ["scan9.ply", "scan10.ply", "scan100.ply"]
    (tmp_path / "velodyne").mkdir()
    with pytest.raises(InputError, match="has no frames; point clouds are .ply"):
        frame_files(tmp_path)
    graphreg.write(tmp_path / "velodyne" / "000000.bin", np.eye(3))
    assert [path.name for path in frame_files(tmp_path)] == ["000000.bin"]


def test_a_frame_that_is_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    graphreg.write(tmp_path / "a1.ply", np.eye(3))
    (tmp_path / "a2.ply").symlink_to(tmp_path / "gone.ply")
    with pytest.raises(FileError, match=r"a2\.ply: is a link to a file that does not exist"):
        graphreg.sequence(tmp_path)
    (tmp_path / "a2.ply").rename(tmp_path / "poses.txt")
    (tmp_path / "folder.ply").mkdir()
    assert [path.name for path in frame_files(tmp_path)] == ["a1.ply"]
