"""E57 files with an XML section of any contents."""

from __future__ import annotations

import struct

PAGE, CONTENT = 1024, 1020
HEADER_BYTES = 48


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ 0x82F63B78 if value & 1 else value >> 1
        table.append(value)
    return table


CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """The checksum of a page (Castagnoli)."""
    value = 0xFFFFFFFF
    for byte in data:
        value = CRC_TABLE[(value ^ byte) & 255] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def split_xml(file: bytes) -> tuple[bytes, bytes]:
    """The contents before the XML section, without checksums, and the section."""
    offset, length = struct.unpack_from("<2Q", file, 24)
    contents = b"".join(file[i : i + CONTENT] for i in range(0, len(file), PAGE))
    start = offset // PAGE * CONTENT + offset % PAGE
    return contents[:start], contents[start : start + length]


def with_xml(file: bytes, xml: bytes) -> bytes:
    """The file with another XML section, with all lengths and checksums as they should be."""
    before, _ = split_xml(file)
    contents = bytearray(before + xml)
    contents += bytes(-len(contents) % CONTENT)
    offset = len(before) // CONTENT * PAGE + len(before) % CONTENT
    struct.pack_into("<3Q", contents, 16, len(contents) // CONTENT * PAGE, offset, len(xml))
    pages = (bytes(contents[i : i + CONTENT]) for i in range(0, len(contents), CONTENT))
    return b"".join(page + struct.pack(">I", crc32c(page)) for page in pages)
