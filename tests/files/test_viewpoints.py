"""The poses that files of scans hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import graphreg
from graphreg.files.ply import CAMERA
from graphreg.files.viewpoints import read_viewpoint
from graphreg.poses import pose, rotation_from_vector

POSE = pose(rotation_from_vector([0.3, -0.2, 1.1]), [4.0, 5.0, -6.0])


def write_pcd(path: Path, T: np.ndarray, points: np.ndarray) -> None:
    """A PCD file with a viewpoint."""
    graphreg.write(path, points)
    x, y, z, w = Rotation.from_matrix(T[:3, :3]).as_quat()
    words = " ".join(map(repr, map(float, (*T[:3, 3], w, x, y, z))))
    path.write_bytes(path.read_bytes().replace(b"VIEWPOINT 0 0 0 1 0 0 0", f"VIEWPOINT {words}".encode()))


def write_camera(path: Path, T: np.ndarray, binary: bool) -> None:
    """A PLY file with the element camera: position, then the axes, the columns of the rotation."""
    values = np.vstack([T[:3, 3], T[:3, :3].T]).ravel()
    format = "binary_little_endian" if binary else "ascii"
    header = [
        "ply", f"format {format} 1.0", "element vertex 2", *(f"property float {axis}" for axis in "xyz"),
        "element camera 1", *(f"property float {name}" for name in CAMERA), "property int viewportx", "end_header\n",
    ]  # fmt: skip
    vertices = np.arange(6, dtype="<f4").reshape(2, 3)
    if binary:
        data = vertices.tobytes() + values.astype("<f4").tobytes() + np.int32(2).tobytes()
    else:
        data = b"0 1 2\n3 4 5\n" + (" ".join(map(repr, values.tolist())) + " 2\n").encode()
    path.write_bytes("\n".join(header).encode() + data)


def test_pcd(tmp_path: Path) -> None:
    write_pcd(tmp_path / "a.pcd", POSE, np.eye(3))
    assert np.allclose(read_viewpoint(tmp_path / "a.pcd"), POSE, atol=1e-12)
    assert np.array_equal(graphreg.read(tmp_path / "a.pcd"), np.eye(3))


@pytest.mark.parametrize("binary", [True, False])
def test_ply(tmp_path: Path, binary: bool) -> None:
    write_camera(tmp_path / "a.ply", POSE, binary)
    assert np.allclose(read_viewpoint(tmp_path / "a.ply"), POSE, atol=1e-6)
    assert len(graphreg.read(tmp_path / "a.ply")) == 2


def test_files_without_a_pose(tmp_path: Path) -> None:
    for name in ("a.ply", "a.xyz", "a.npy"):
        graphreg.write(tmp_path / name, np.eye(3))
        assert read_viewpoint(tmp_path / name) is None


@pytest.mark.parametrize("words", [b"0 0 0 1 0 0", b"0 0 0 0 0 0 0", b"nan 0 0 1 0 0 0", b"a 0 0 1 0 0 0"])
def test_damaged_viewpoints_are_refused(tmp_path: Path, words: bytes) -> None:
    graphreg.write(tmp_path / "a.pcd", np.eye(3))
    data = (tmp_path / "a.pcd").read_bytes().replace(b"VIEWPOINT 0 0 0 1 0 0 0", b"VIEWPOINT " + words)
    (tmp_path / "a.pcd").write_bytes(data)
    with pytest.raises(graphreg.FileError, match="viewpoint|VIEWPOINT"):
        read_viewpoint(tmp_path / "a.pcd")
