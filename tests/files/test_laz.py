"""Checks of LAZ files before they are decompressed."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg import FileError
from graphreg.files import read_cloud, write

laspy: Any = pytest.importorskip("laspy")
lazrs: Any = pytest.importorskip("lazrs")

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


def description(data: bytes) -> int:
    """Offset of the description of the compression."""
    offset, _, records = struct.unpack_from("<HII", data, 94)
    for _ in range(records):
        number, length = struct.unpack_from("<18xHH", data, offset)
        if number == 22204:
            return int(offset + 54)
        offset += 54 + length
    raise AssertionError("no description")


READ = """
import resource, sys
from graphreg.files import read_cloud
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
for path in sys.argv[1:]:
    try:
        read_cloud(path)
    except ValueError as problem:
        print(problem)
"""


@pytest.mark.slow
def test_layers_larger_than_the_file_do_not_end_the_process(tmp_path: Path) -> None:
    """The decompressor reads layers wherever the items have version 3, whatever the compressor is called."""
    pytest.importorskip("resource")
    paths = []
    for compressor, version in ((2, 3), (2, 4), (3, 3)):
        paths.append(save(tmp_path / f"{compressor}{version}.laz"))
        data = bytearray(paths[-1].read_bytes())
        at = description(data)
        struct.pack_into("<H", data, at, compressor)
        struct.pack_into("<3H", data, at + 34, 10, 30, version)
        start, width = struct.unpack_from("<I", data, 96)[0], struct.unpack_from("<H", data, 105)[0]
        struct.pack_into("<2I", data, start + 8 + width + 4, 2**32 - 1, 2**32 - 1)
        paths[-1].write_bytes(data)
    child = subprocess.run([sys.executable, "-c", READ, *map(str, paths)], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    problems = child.stdout.splitlines()
    assert len(problems) == len(paths)
    assert all("does not fit its points" in problem or "damaged chunk" in problem for problem in problems)


def test_items_that_do_not_belong_to_the_compressor_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "a.laz")
    good = path.read_bytes()
    at = description(good)
    for compressor in range(5):
        for version in range(6):
            data = bytearray(good)
            struct.pack_into("<H", data, at, compressor)
            struct.pack_into("<H", data, at + 38, version)
            path.write_bytes(data)
            if (compressor, version) not in [(3, 3), (3, 4)]:  # 4 is for the library to support or not
                with pytest.raises(FileError, match="a compression that does not fit its points"):
                    read_cloud(path)


def with_extra_bytes(data: bytes, more: int) -> bytes:
    """A file that declares points with so many more bytes."""
    at = description(data)
    items = struct.unpack_from("<H", data, at + 32)[0]
    end = at + 34 + 6 * items
    changed = bytearray(data[:end] + struct.pack("<3H", 14, more, 3) + data[end:])
    for offset, form, value in [
        (96, "I", 6),  # offset of the points
        (105, "H", more),  # bytes of a point
        (at - 34, "H", 6),  # bytes of the description
        (at + 32, "H", 1),  # items
    ]:
        before = struct.unpack_from("<" + form, changed, offset)[0]
        struct.pack_into("<" + form, changed, offset, before + value)
    return bytes(changed)


def test_points_of_many_extra_bytes_are_refused(tmp_path: Path) -> None:
    """The decompressor takes 10 kB for each of them."""
    path = save(tmp_path / "a.laz")
    path.write_bytes(with_extra_bytes(path.read_bytes(), 60_000))
    with pytest.raises(FileError, match="declares points of 60030 bytes, too many"):
        read_cloud(path)


def test_points_in_very_many_chunks_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "a.laz")
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, description(data) + 12, 1)
    path.write_bytes(data)
    with pytest.raises(FileError, match="divides 500 points into 500 chunks"):
        read_cloud(path)


def save_in_chunks(path: Path, sizes: list[int], described: list[int]) -> Path:
    """A file of chunks of various sizes, with a chunk table that may describe other ones."""
    write(path, POINTS)
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, description(data) + 12, 2**32 - 1)
    start, width = struct.unpack_from("<I", data, 96)[0], struct.unpack_from("<H", data, 105)[0]
    vlr = lazrs.LazVlr(bytes(data[description(data) :]))
    with laspy.open(path) as reader:
        points = reader.read_points(-1).memoryview().cast("B")
    stream = io.BytesIO()
    compressor = lazrs.LasZipCompressor(stream, vlr)
    at = 0
    for size in sizes:
        if at:
            compressor.finish_current_chunk()
        compressor.compress_many(points[at * width : (at + size) * width])
        at += size
    compressor.done()
    content = stream.getvalue()
    table = struct.unpack_from("<q", content)[0]
    stream.seek(table)
    counts = lazrs.read_chunk_table_only(stream, vlr)
    stream = io.BytesIO()
    lazrs.write_chunk_table(stream, [(n, size) for n, (_, size) in zip(described, counts, strict=True)], vlr)
    path.write_bytes(bytes(data[:start]) + struct.pack("<q", start + table) + content[8:table] + stream.getvalue())
    return path


def test_chunks_of_various_sizes_are_read(tmp_path: Path) -> None:
    path = save_in_chunks(tmp_path / "a.laz", [100, 250, 150], [100, 250, 150])
    np.testing.assert_allclose(read_cloud(path).points, POINTS, rtol=0, atol=1e-8)


def test_a_table_that_describes_other_chunks_is_refused(tmp_path: Path) -> None:
    """The decompressor would look for a chunk where none is, and take what is there for the sizes of its layers."""
    path = save_in_chunks(tmp_path / "a.laz", [100, 250, 150], [100, 50, 150])
    with pytest.raises(FileError, match="damaged chunk after 100 of 500 points"):
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
