"""The kernels of native/files against short twins in Python."""

from __future__ import annotations

import contextlib
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreg._core import lzf_decode, pack_records, parse_table

ANY_DOUBLE = st.floats(allow_nan=False)
BLANKS = st.text(" \t", min_size=1, max_size=3)


# Up to 25 digits, with zeros in front. Drawn as integers: to draw characters takes a hundred times as long.
DIGITS = st.builds(lambda value, count: f"{value:025d}"[:count], st.integers(0, 10**25 - 1), st.integers(1, 25))
SIGNS = st.sampled_from(["", "+", "-"])
MANTISSAS = st.one_of(
    DIGITS, DIGITS.map("{}.".format), DIGITS.map(".{}".format), st.tuples(DIGITS, DIGITS).map(".".join)
)
EXPONENTS = st.just("") | st.tuples(st.sampled_from("eE"), SIGNS, st.integers(0, 999).map(str)).map("".join)


def one(text: str) -> float:
    table, stop = parse_table(f"{text}\n".encode(), 0, 1, "f")
    assert stop == len(text) + 1
    return float(table[0, 0])


@settings(deadline=None)
@given(ANY_DOUBLE, st.sampled_from(["{!r}", "{:.17g}", "{:.6f}", "{:.3e}", "{:+.9g}", "{:E}", "{:.0f}"]))
def test_a_number_is_what_python_reads(value: float, form: str) -> None:
    text = form.format(value)
    assert one(text) == float(text)


@pytest.mark.slow
@settings(deadline=None)
@given(st.tuples(SIGNS, MANTISSAS, EXPONENTS).map("".join))
def test_any_decimal_is_rounded_as_python_rounds_it(text: str) -> None:
    assert one(text) == float(text)


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "NAN", "+nan"])
def test_nan(text: str) -> None:
    assert math.isnan(one(text))


@pytest.mark.parametrize("text", ["inf", "-inf", "Inf", "-INF", "+inf", "infinity", "1e999", "-1e999", "1e-999"])
def test_infinite_and_out_of_range(text: str) -> None:
    assert one(text) == float(text)


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", ".", "e5", "1e", "1.2.3", "0x10", "1,5", "+-1", "++1", "1_000", "abc", "1f", "--1", "1\0"],
)
def test_the_table_ends_at_what_is_no_number(text: str) -> None:
    table, stop = parse_table(f"1\n{text} 2\n3\n".encode(), 0, -1, "ff" if text == "" else "f", exact=False)
    assert stop == (0 if text == "" else 2)
    assert len(table) == (0 if text == "" else 1)


@settings(deadline=None)
@given(
    st.lists(st.tuples(ANY_DOUBLE, ANY_DOUBLE, ANY_DOUBLE), min_size=1, max_size=20),
    st.sampled_from(["\n", "\r\n", " \n", "\t\r\n", "\n\n", "\n \t\r\n"]),
    BLANKS,
    st.sampled_from(["", " ", "\t"]),
)
def test_a_table_is_parsed(rows: list[tuple[float, float, float]], end: str, blanks: str, before: str) -> None:
    text = "".join(before + blanks.join(map(repr, row)) + end for row in rows).encode()
    table, stop = parse_table(text, 0, -1, "fff")
    assert stop == len(text)
    np.testing.assert_array_equal(table, rows)


@settings(deadline=None)
@given(st.lists(st.tuples(ANY_DOUBLE, ANY_DOUBLE), min_size=1, max_size=9), st.integers(0, 12))
def test_no_more_rows_than_asked_for_are_parsed(rows: list[tuple[float, float]], wanted: int) -> None:
    lines = [f"{a!r} {b!r}\n".encode() for a, b in rows]
    table, stop = parse_table(b"".join(lines), 0, wanted, "ff")
    assert len(table) == min(wanted, len(rows))
    assert stop == sum(map(len, lines[:wanted]))


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1))
def test_integers_are_exact(unsigned: int, signed: int) -> None:
    table, _ = parse_table(f"{unsigned} {signed}\n".encode(), 0, 1, "ui")
    assert table[:, 0].view(np.uint64)[0] == unsigned
    assert table[:, 1].view(np.int64)[0] == signed


@pytest.mark.parametrize(("text", "value"), [("255.0", 255), ("1e3", 1000), ("+7", 7), ("-0", 0)])
def test_whole_numbers_may_be_written_as_floats(text: str, value: int) -> None:
    assert parse_table(f"{text}\n".encode(), 0, 1, "i")[0].view(np.int64)[0, 0] == value


@pytest.mark.parametrize("text", ["0.5", "nan", "1e300", "-1", "99999999999999999999"])
def test_the_table_ends_at_what_is_no_unsigned_integer(text: str) -> None:
    assert len(parse_table(f"{text}\n".encode(), 0, 1, "u")[0]) == 0


def test_a_last_line_without_a_line_break_is_not_parsed() -> None:
    table, stop = parse_table(b"1 2\n3 4", 0, -1, "ff")
    assert (len(table), stop) == (1, 4)


def test_more_columns_are_an_error_only_where_they_must_be_exact() -> None:
    assert len(parse_table(b"1 2 3\n", 0, 1, "ff")[0]) == 0
    assert parse_table(b"1 2 3\n", 0, 1, "ff", exact=False)[0].tolist() == [[1, 2]]


def test_lists_words_delimiters_comments_and_prefixes() -> None:
    table, _ = parse_table(b"2 7 8 1\n0 2\n3 1 2\n", 0, -1, "lf")
    assert table.tolist() == [[1], [2]]  # the third list runs past the end of its line
    table, _ = parse_table(b"1;a b;2\n;;3;\n", 0, -1, "f-f", delimiter=";")
    assert table.tolist() == [[1, 2]]
    table, _ = parse_table(b"1 , ,3\n", 0, -1, "fff", delimiter=",")
    np.testing.assert_array_equal(table, [[1, np.nan, 3]])
    table, stop = parse_table(b"# 9\n1 2 # c\n//x\n3 4 //\n5 6", 0, -1, "ff", comments=True)
    assert (table.tolist(), stop) == ([[1, 2], [3, 4]], 23)
    table, _ = parse_table(b"vn 9 9\nv 1 2\nf 1\nV 3 4\n", 0, -1, "ff", prefix="v")
    assert table.tolist() == [[1, 2], [3, 4]]
    table, stop = parse_table(b"x\n\ny z\nw", 0, -1, "", exact=False)
    assert (table.shape, stop) == ((2, 0), 7)


@pytest.mark.parametrize("rows", [2**40, 2**62, 2**63 - 1])
def test_a_declared_count_allocates_no_memory(rows: int) -> None:
    assert len(parse_table(b"1 2 3\n", 0, rows, "fff")[0]) == 1
    assert len(pack_records(b"abc", 0, rows, [(3, 0, 0, False)], big_endian=False)[0]) == 1
    with pytest.raises(ValueError, match="LZF"):
        lzf_decode(b"\0a", rows)


def test_a_start_beyond_the_end_is_refused() -> None:
    with pytest.raises(ValueError, match="start"):
        parse_table(b"1\n", 3, 1, "f")
    with pytest.raises(ValueError, match="start"):
        pack_records(b"1", 2, 1, [(1, 0, 0, False)], big_endian=False)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-128, 127), st.binary(max_size=20)), max_size=8), st.booleans(), st.data())
def test_packed_records(records: list[tuple[int, bytes]], big: bool, data: st.DataObject) -> None:
    order = ">" if big else "<"
    raw = b"".join(struct.pack(f"{order}bH", n, len(text)) + text + b"z" for n, text in records)
    packed, stop = pack_records(raw, 0, len(records), [(1, 2, 1, False), (1, 0, 0, False)], big_endian=big)
    assert stop == len(raw)
    assert packed.tolist() == [[n % 256, ord("z")] for n, _ in records]
    if records:
        cut = data.draw(st.integers(0, len(raw) - 1))
        assert len(
            pack_records(raw[:cut], 0, len(records), [(1, 2, 1, False), (1, 0, 0, False)], big_endian=big)[0]
        ) < len(records)


def test_a_list_of_negative_length_ends_the_records() -> None:
    assert len(pack_records(b"\xff" + bytes(300), 0, 1, [(0, 1, 1, True)], big_endian=False)[0]) == 0
    assert len(pack_records(b"\xff" + bytes(300), 0, 1, [(0, 1, 1, False)], big_endian=False)[0]) == 1


def lzf_twin(data: bytes) -> bytes:
    out = bytearray()
    at = 0
    while at < len(data):
        control = data[at]
        at += 1
        if control < 32:
            out += data[at : at + control + 1]
            at += control + 1
        else:
            length = control >> 5
            if length == 7:
                length += data[at]
                at += 1
            start = len(out) - ((control & 31) << 8) - data[at] - 1
            at += 1
            for i in range(length + 2):
                out.append(out[start + i])
    return bytes(out)


@settings(deadline=None)
@given(st.lists(st.one_of(st.binary(min_size=1, max_size=32), st.tuples(st.integers(3, 264), st.integers(1, 8192)))))
def test_lzf_decodes_as_its_twin_does(parts: list[bytes | tuple[int, int]]) -> None:
    data, size = bytearray(), 0
    for part in parts:
        if isinstance(part, bytes):
            data += bytes([len(part) - 1]) + part
            size += len(part)
        elif size:
            length, back = part[0] - 2, min(part[1], size) - 1
            data += bytes([min(length, 7) << 5 | back >> 8, *([length - 7] if length >= 7 else []), back & 255])
            size += part[0]
    assert lzf_decode(bytes(data), size).tobytes() == lzf_twin(bytes(data))
    for wrong in (size - 1, size + 1):
        if wrong >= 0:
            with pytest.raises(ValueError, match="LZF"):
                lzf_decode(bytes(data), wrong)


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 20_000))
def test_lzf_accepts_or_refuses_any_bytes(data: bytes, size: int) -> None:
    with contextlib.suppress(ValueError):
        assert len(lzf_decode(data, size)) == size
