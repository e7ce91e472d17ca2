"""Velodyne frames of KITTI."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from graphreg import FileError, InputError
from graphreg.files import read_cloud, write


def save(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_frame_is_read(tmp_path: Path) -> None:
    cloud = read_cloud(save(tmp_path, "a.bin", struct.pack("<8f", 1, 2, 3, 0.5, 4, 5, 6, 0.25)))
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.attributes["reflectance"].tolist() == [0.5, 0.25]
    with pytest.raises(FileError, match="no whole number of points"):
        read_cloud(save(tmp_path, "a.bin", bytes(33)))


def test_signalling_nan_is_dropped_without_a_warning(tmp_path: Path) -> None:
    single = bytes.fromhex("0000a07f")
    cloud = read_cloud(save(tmp_path, "a.bin", single * 3 + bytes(4) + struct.pack("<4f", 1, 2, 3, 4)))
    assert cloud.kept.tolist() == [False, True]
    vertices = single + struct.pack("<8f", 1, 2, 3, 4, 5, 6, 7, 8)
    path = save(tmp_path, "a.stl", bytes(80) + struct.pack("<I", 1) + bytes(12) + vertices + bytes(2))
    assert read_cloud(path).dropped == 1
    double = bytes.fromhex("000000000000f47f")
    header = "ply\nformat binary_little_endian 1.0\nelement vertex 2\n"
    header += "".join(f"property double {axis}\n" for axis in "xyz") + "end_header\n"
    path = save(tmp_path, "a.ply", header.encode() + double * 3 + struct.pack("<3d", 1, 2, 3))
    assert read_cloud(path).kept.tolist() == [False, True]


def test_coordinates_of_a_national_grid_are_refused_as_single_precision_would_round_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rounds them by 0\.3"):
        write(tmp_path / "a.bin", np.random.default_rng(0).normal(size=(9, 3)) + np.array([4e5, 5e6, 0]))
    assert not list(tmp_path.iterdir())
