"""Checks of LAZ files that the decompressor does not make: where it runs out of memory, the whole process aborts."""

from __future__ import annotations

import struct

from graphreg.files.input_file import InputFile

LASZIP_RECORD = (b"laszip encoded", 22204)
VARIABLE_CHUNK_SIZE = 0xFFFFFFFF
COMPRESSORS = {2: "pointwise and chunked", 3: "layered and chunked"}
LAYERED = 3
# Layers of each kind of item; a record of extra bytes (14) has one for each byte.
LAYERS = {10: 9, 11: 1, 12: 2, 13: 1}
EXTRA_BYTES = 14


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
    compressor, chunk_size, items = _description(file, header_size, records, data)
    if compressor not in COMPRESSORS or sum(size for _, size in items) != width or not chunk_size:
        file.fail("describes a compression that does not fit its points")
    table = struct.unpack("<q", file.read_at(data, 8))[0]
    if table == -1:  # written as a stream: the offset is known only at the end
        table = struct.unpack("<q", file.read_at(file.size - 8, 8))[0]
    if not data + 8 <= table <= file.size - 8:
        file.fail("declares a chunk table outside of the file")
    chunks = struct.unpack("<II", file.read_at(table, 8))[1]
    if chunks > table - data:  # a chunk takes a byte at least
        file.fail(f"declares {chunks} chunks, too many for a file of {file.size} bytes")
    if compressor == LAYERED:
        layers = sum(size if kind == EXTRA_BYTES else LAYERS.get(kind, 0) for kind, size in items)
        _check_chunks(file, data + 8, table, layers, width, chunk_size, count)


def _description(file: InputFile, offset: int, records: int, data: int) -> tuple[int, int, list[tuple[int, int]]]:
    """The compressor, the points in a chunk, and the kind and size of the items of a point."""
    for _ in range(records):
        user, number, length = struct.unpack("<2x16sHH", file.read_at(offset, 22))
        if offset + 54 + length > data:
            break
        if (user.rstrip(b"\0"), number) == LASZIP_RECORD and length >= 34:
            text = file.read_at(offset + 54, length)
            compressor, chunk_size, count = struct.unpack_from("<H10xI16xH", text)
            if length < 34 + 6 * count:
                break
            return compressor, chunk_size, [struct.unpack_from("<HH", text, 34 + 6 * i) for i in range(count)]
        offset += 54 + length
    return file.fail("is compressed, but does not describe how")


def _check_chunks(file: InputFile, offset: int, end: int, layers: int, width: int, chunk_size: int, count: int) -> None:
    """Each chunk: its first point, the number of its points, the size of each layer, the layers."""
    found = 0
    while found < count:
        start = width + 4 + 4 * layers
        if end - offset < start:
            file.fail(f"declares {count} points but ends after {found}")
        points, *sizes = struct.unpack(f"<{1 + layers}I", file.read_at(offset + width, start - width))
        expected = points if chunk_size == VARIABLE_CHUNK_SIZE else min(chunk_size, count - found)
        if not points or points != expected or start + sum(sizes) > end - offset:
            file.fail(f"has a damaged chunk after {found} of {count} points")
        found += points
        offset += start + sum(sizes)
