"""Checks of LAZ files that the decompressor does not make: where it runs out of memory, the whole process aborts."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import repeat
from typing import NamedTuple

from graphreg.files.input_file import EXPANSION_ALLOWANCE_BYTES, MAX_EXPANSION, InputFile
from graphreg.files.optional_libraries import import_library, reporting_damage

LASZIP_RECORD = (b"laszip encoded", 22204)
VARIABLE_CHUNK_SIZE = 0xFFFFFFFF
POINTWISE, LAYERED = 2, 3
# The versions of the items that each compressor is for. The decompressor itself goes by the version alone.
VERSIONS = {POINTWISE: (1, 2), LAYERED: (3, 4)}
# Bytes of each kind of item. Extra bytes are as many as the item says.
ITEM_SIZES = {POINTWISE: {6: 20, 7: 8, 8: 6, 9: 29}, LAYERED: {10: 30, 11: 6, 12: 8, 13: 29}}
EXTRA_BYTES = {POINTWISE: 0, LAYERED: 14}
# Layers of each kind of item; extra bytes have one for each byte.
LAYERS = {10: 9, 11: 1, 12: 2, 13: 1}
# Chosen: chunks may have fewer points than this on average where they are few. One takes milliseconds to begin; the
# usual size is 50,000 points.
MIN_CHUNK_POINTS = 100
MAX_SMALL_CHUNKS = 200
# Memory that the decompressor takes for each extra byte of a point, measured.
MODEL_BYTES = 10_000


class Item(NamedTuple):
    """A part of a point that is compressed by itself."""

    kind: int
    size: int
    version: int


def check(file: InputFile, header_size: int, records: int, data: int, width: int, count: int) -> None:
    """Refuse a file whose compressed points do not add up.

    Parameters
    ----------
    file : InputFile
    header_size, records : int
        Offset of the variable-length records, and their number.
    data, width, count : int
        Offset of the points, bytes of each, and their number.
    """
    record = _description(file, header_size, records, data)
    compressor, chunk_size, items = struct.unpack_from("<H10xI16xH", record)
    parts = [Item(*struct.unpack_from("<3H", record, 34 + 6 * i)) for i in range(items)]
    valid = compressor in VERSIONS and all(
        part.version in VERSIONS[compressor]
        and (part.kind == EXTRA_BYTES[compressor] or part.size == ITEM_SIZES[compressor].get(part.kind))
        for part in parts
    )
    if not valid or sum(part.size for part in parts) != width or not chunk_size:
        file.fail("describes a compression that does not fit its points")
    if width * MODEL_BYTES > MAX_EXPANSION * file.size + EXPANSION_ALLOWANCE_BYTES:
        file.fail(f"declares points of {width} bytes, too many for a file of {file.size} bytes")
    table = struct.unpack("<q", file.read_at(data, 8))[0]
    if table == -1:  # written as a stream: the offset is known only at the end
        table = struct.unpack("<q", file.read_at(file.size - 8, 8))[0]
    if not data + 8 <= table <= file.size - 8:
        file.fail("declares a chunk table outside of the file")
    chunks = struct.unpack("<II", file.read_at(table, 8))[1]
    if chunks > table - data:  # a chunk takes a byte at least
        file.fail(f"declares {chunks} chunks, too many for a file of {file.size} bytes")
    used = chunks if chunk_size == VARIABLE_CHUNK_SIZE else -(-count // chunk_size)
    if used > MAX_SMALL_CHUNKS + count // MIN_CHUNK_POINTS:
        file.fail(f"divides {count} points into {used} chunks, which would take too long to decompress")
    if compressor == LAYERED:
        layers = sum(LAYERS.get(part.kind, part.size) for part in parts)
        sizes = repeat(chunk_size) if chunk_size != VARIABLE_CHUNK_SIZE else _chunk_sizes(file, table, record)
        _check_chunks(file, data + 8, table, layers, width, sizes, count)


def _description(file: InputFile, offset: int, records: int, data: int) -> bytes:
    """The record that describes the compression: at offset 32 the number of items, six bytes for each of them after."""
    for _ in range(records):
        user, number, length = struct.unpack("<2x16sHH", file.read_at(offset, 22))
        if offset + 54 + length > data:
            break
        if (user.rstrip(b"\0"), number) == LASZIP_RECORD and length >= 34:
            record = file.read_at(offset + 54, length)
            if length < 34 + 6 * struct.unpack_from("<H", record, 32)[0]:
                break
            return record
        offset += 54 + length
    return file.fail("is compressed, but does not describe how")


def _chunk_sizes(file: InputFile, table: int, record: bytes) -> Iterable[int]:
    """The number of points of each chunk, by which the decompressor goes where chunks have various sizes."""
    lazrs = import_library("lazrs", "reading LAZ files", "las")
    with reporting_damage(file.path), open(file.path, "rb") as source:
        source.seek(table)
        return [points for points, _ in lazrs.read_chunk_table_only(source, lazrs.LazVlr(record))]


def _check_chunks(
    file: InputFile, offset: int, end: int, layers: int, width: int, chunk_sizes: Iterable[int], count: int
) -> None:
    """Each chunk: its first point, the number of its points, the size of each layer, the layers."""
    found = 0
    for size in chunk_sizes:
        if found >= count:
            return
        start = width + 4 + 4 * layers
        if end - offset < start:
            break
        points, *sizes = struct.unpack(f"<{1 + layers}I", file.read_at(offset + width, start - width))
        if not points or points != min(size, count - found) or start + sum(sizes) > end - offset:
            file.fail(f"has a damaged chunk after {found} of {count} points")
        found += points
        offset += start + sum(sizes)
    if found < count:
        file.fail(f"declares {count} points but ends after {found}")
