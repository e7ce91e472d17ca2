"""Checks of LAZ files before they are decompressed."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from graphreg import FileError
from graphreg.files import read_cloud, write

pytest.importorskip("laspy")

POINTS = np.random.default_rng(0).uniform(0, 100, (500, 3)).round(3)


def save(path: Path) -> Path:
    write(path, POINTS)
    return path


def test_compressed_points_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "a.laz")
    good = path.read_bytes()
    start = struct.unpack_from("<I", good, 96)[0]
    table = struct.unpack_from("<q", good, start)[0]
    width = struct.unpack_from("<H", good, 105)[0]
    for offset, form, value, message in [
        (start, "q", 2**62, "chunk table outside of the file"),
        (table + 4, "I", 2**32 - 1, "declares 4294967295 chunks"),
        (start + 8 + width, "I", 499, "damaged chunk after 0 of 500 points"),
        (start + 8 + width + 4, "I", 2**32 - 1, "damaged chunk after 0 of 500 points"),
        (247, "Q", 10**12, "too many for a file"),
        (247, "Q", 1000, "damaged chunk after 0 of 1000 points"),
    ]:
        data = bytearray(good)
        struct.pack_into("<" + str(form), data, offset, value)
        path.write_bytes(data)
        with pytest.raises(FileError, match=str(message)):
            read_cloud(path)


@pytest.mark.slow
def test_a_regular_grid_expands_to_thousands_of_times_its_size(tmp_path: Path) -> None:
    points = np.stack(np.meshgrid(np.arange(800) / 100, np.arange(800) / 100, [0.0]), axis=-1).reshape(-1, 3)
    path = tmp_path / "a.laz"
    write(path, points)
    assert path.stat().st_size * 1000 < 30 * len(points)
    np.testing.assert_allclose(read_cloud(path).points, points, rtol=0, atol=1e-8)


def test_files_written_as_a_stream_are_read(tmp_path: Path) -> None:
    """The offset of the chunk table is at the end of the file where the writer could not seek back."""
    path = save(tmp_path / "a.laz")
    data = bytearray(path.read_bytes())
    start = struct.unpack_from("<I", data, 96)[0]
    table = struct.unpack_from("<q", data, start)[0]
    struct.pack_into("<q", data, start, -1)
    path.write_bytes(data + struct.pack("<q", table))
    np.testing.assert_allclose(read_cloud(path).points, POINTS, rtol=0, atol=1e-8)
