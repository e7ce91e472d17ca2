"""Random changes of a file, most of them small enough that its reader gets beyond the first check."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from random import Random

from tests.support.e57_files import HEADER_BYTES, split_xml, with_xml

INTEGERS = (0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
NUMBERS = (
    b"0", b"-1", b"-0.0", b"1e308", b"1e-308", b"1e999", b"nan", b"-inf", b"99999999999999999999", b"4294967296",
    b"9" * 400, b"-" * 300 + b"1", b"0x10", b"1_0", b"", b".", b"1.5",
)  # fmt: skip
TOKENS = (
    b"\n", b"\r", b" ", b",", b";", b"\0", b"\t", b'"', b"'", b"[", b"]", b"{", b"}", b"<", b">", b"#", b"true",
    b"\xff\xfe", b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"[" * 2000, b'{"a":' * 2000, b"<!DOCTYPE a>", b"=1+1",
    b"property list uchar int a\n", b"element vertex 0\n", b"null", b"NaN", b"VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\n",
)  # fmt: skip
NUMBER = re.compile(rb"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
MAX_BYTES = 1 << 16


def mutate(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    """Change a file in one to a few places.

    Parameters
    ----------
    content : bytes
    others : sequence of bytes
        Files that pieces may be taken from.
    generator : Random

    Returns
    -------
    bytes
    """
    if content.startswith(b"ASTM-E57") and len(content) >= HEADER_BYTES and generator.random() < 0.8:
        # With checksums and lengths as they should be; otherwise nothing but these is tested.
        before, xml = split_xml(content)
        if generator.random() < 0.6:
            return with_xml(content, mutate(xml, others, generator))
        changed = before[:HEADER_BYTES] + mutate(before[HEADER_BYTES:], others, generator)
        return with_xml(with_xml(changed, b""), xml)
    for _ in range(min(int(generator.expovariate(0.7)) + 1, 8)):
        content = generator.choice(CHANGES)(content, others, generator)[:MAX_BYTES]
    return content


def _place(content: bytes, generator: Random) -> int:
    """A position, more often near the beginning, where headers are."""
    return generator.randrange(min(generator.choice((60, 500, MAX_BYTES)), len(content)) + 1)


def _byte(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    at = _place(content, generator)
    return content[:at] + bytes([generator.randrange(256)]) + content[at + 1 :]


def _integer(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    at, (form, bits) = _place(content, generator), generator.choice((("B", 8), ("H", 16), ("I", 32), ("Q", 64)))
    value = struct.pack(generator.choice("<>") + form, generator.choice(INTEGERS) % 2**bits)
    return content[:at] + value + content[at + len(value) :]


def _number(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    found = list(NUMBER.finditer(content[:MAX_BYTES]))
    if not found:
        return content
    match = generator.choice(found)
    return content[: match.start()] + generator.choice(NUMBERS) + content[match.end() :]


def _token(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    at = _place(content, generator)
    return content[:at] + generator.choice(TOKENS) + content[at + generator.choice((0, 0, 1, 4)) :]


def _delete(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    at = _place(content, generator)
    return content[:at] + content[at + generator.choice((1, 2, 4, 8, 40, 500)) :]


def _repeat(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    at, length = _place(content, generator), generator.choice((1, 8, 40, 500))
    return content[:at] + content[at : at + length] * generator.choice((2, 3, 50)) + content[at + length :]


def _truncate(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    return content[: _place(content, generator)]


def _splice(content: bytes, others: Sequence[bytes], generator: Random) -> bytes:
    other = generator.choice(others)
    return content[: _place(content, generator)] + other[_place(other, generator) :]


CHANGES = (_byte, _byte, _integer, _integer, _number, _number, _token, _token, _delete, _repeat, _truncate, _splice)
