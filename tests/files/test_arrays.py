"""numpy's .npy and .npz files: what is read, and that a malicious file does no harm."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg import FileError
from graphreg.files import read_cloud

POINTS = np.arange(12.0).reshape(4, 3)


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    text = header.encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text + data


def test_any_dtype_and_order_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for dtype in ("f8", ">f8", "f4", "f2", "i1", ">i4", "u8", np.longdouble):
        for array in (POINTS.astype(dtype), np.asfortranarray(POINTS.astype(dtype))):
            np.save(path, array)
            np.testing.assert_array_equal(read_cloud(path).points, POINTS)


def test_more_columns_and_fields_are_attributes(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.c_[POINTS, np.arange(4)])
    assert read_cloud(path).attributes["column_3"].tolist() == [0, 1, 2, 3]
    structured = np.zeros(4, [("t", "u8"), ("x", "f4"), ("n", "f4", (3,)), ("y", ">f8"), ("z", "i2")])
    structured["t"] = 2**63
    np.save(path, structured)
    cloud = read_cloud(path)
    assert {name: (v.dtype.str, v.shape) for name, v in cloud.attributes.items()} == {
        "t": ("<u8", (4,)),
        "n": ("<f4", (4, 3)),
    }


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_an_archive_are_attributes(tmp_path: Path, save: Any) -> None:
    path = tmp_path / "a.npz"
    save(path, points=POINTS, colour=np.ones((4, 3), np.uint8), pose=np.eye(3))
    cloud = read_cloud(path)
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert list(cloud.attributes) == ["colour"]
    save(path, whatever=POINTS)
    np.testing.assert_array_equal(read_cloud(path).points, POINTS)
    save(path, a=POINTS, b=POINTS)
    with pytest.raises(FileError, match="no array called points, only a, b"):
        read_cloud(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 3)}", bytes(24)),
            "but 24 bytes follow",
        ),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3)}", bytes(24)), "damaged header"),
        (
            npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**61}, {2**61})}}", bytes(24)),
            "24 bytes follow",
        ),
        (
            npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**70}, 3)}}", bytes(24)),
            "damaged header",
        ),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3)}", bytes(25)), "25 bytes follow"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}"), "has no points"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1, 3)}", bytes(24)), "type object"),
        (
            npy("{'descr': '|S8', 'fortran_order': False, 'shape': (1, 3)}", bytes(24)),
            "not \\(N, 3\\) numbers",
        ),
        (
            npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1, 3)}", bytes(24)),
            "not \\(N, 3\\) numbers",
        ),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", bytes(24)), "not \\(N, 3\\) numbers"),
        (npy("{'descr': '<f8', 'fortran_order': 1, 'shape': (1, 3)}", bytes(24)), "damaged header"),
        (npy("{'descr': '<f8', 'shape': (1, 3)}", bytes(24)), "damaged header"),
        (npy("{'descr': '<q9', 'fortran_order': False, 'shape': (1, 3)}", bytes(24)), "damaged header"),
        (npy("__import__('os').abort()", bytes(24)), "damaged header"),
        (npy("(" * 9000, bytes(24)), "damaged header"),
        (npy(" " * 60_000, bytes(24)), "too long a header"),
        (npy("{}", version=2)[:14] + bytes(9), "damaged header"),
        (npy("{}", version=9), "is no numpy array"),
        (b"\x93NUMPY\x01\x00\xff\xff" + bytes(10), "within its header"),
        (b"\x93NUMPY", "within its header"),
        (b"PK\x03\x04" + bytes(30), "is no numpy array"),
    ],
)
def test_false_headers_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        read_cloud(path)
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("points.npy", content)
    with pytest.raises(FileError, match=message):
        read_cloud(path)


@pytest.mark.slow
def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("points.npy", "w") as stream,
    ):
        stream.write(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4000000, 3)}"))
        for _ in range(96):
            stream.write(bytes(1_000_000))
    with pytest.raises(FileError, match="declares 960000.* after decompression"):
        read_cloud(path)


def test_a_member_that_understates_its_size_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "points.npy",
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3)}", bytes(24)) + bytes(999),
        )
    raw = stream.getvalue()
    size = 24 + len(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3)}"))
    path = tmp_path / "a.npz"
    path.write_bytes(raw.replace((size + 999).to_bytes(4, "little"), size.to_bytes(4, "little")))
    with pytest.raises(FileError):
        read_cloud(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("points.npy", b"x")
    with pytest.raises(FileError, match="numpy does not use"):
        read_cloud(path)


def test_an_archive_without_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", b"x")
    with pytest.raises(FileError, match="only nothing"):
        read_cloud(path)
