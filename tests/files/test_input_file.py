"""Reading of bytes, lines and tables, and the checks of what a file declares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.errors import FileError, InputError
from graphreg.files import read, write
from graphreg.files.folders import frame_files
from graphreg.files.g2o import read_graph
from graphreg.files.input_file import (
    EXPANSION_ALLOWANCE_BYTES,
    MAX_EXPANSION,
    InputFile,
    looks_truncated,
    parse_integer,
    quote,
    shown,
)
from graphreg.files.pose_files import read_poses, write_poses


def save(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "file"
    path.write_bytes(content)
    return path


def test_every_byte_is_consumed_once_and_peeking_consumes_none(tmp_path: Path) -> None:
    content = bytes(range(256)) * 4
    with InputFile(save(tmp_path, content)) as file:
        assert file.size == file.remaining == len(content)
        assert file.peek(5) == content[:5]
        assert file.remaining == len(content)
        assert file.read_at(500, 7) == content[500:507]
        assert file.read_bytes(10, "bytes") == content[:10]
        assert file.read_records(np.dtype("<u2"), 3, "records").tobytes() == content[10:16]
        assert file.remaining == len(content) - 16
        assert file.read_rest().tobytes() == content[16:]
        assert file.remaining == 0
        assert file.peek(5) == b""


def test_lines_come_without_their_line_breaks_and_the_last_one_needs_none(tmp_path: Path) -> None:
    with InputFile(save(tmp_path, b"one\r\n\ntwo")) as file:
        assert file.peek_line() == "one"
        assert [file.read_line() for _ in range(4)] == ["one", "", "two", None]


def test_lines_may_be_followed_by_records(tmp_path: Path) -> None:
    with InputFile(save(tmp_path, b"header\n\x01\x02")) as file:
        assert file.read_line() == "header"
        assert file.read_records(np.dtype("u1"), 2, "records").tolist() == [1, 2]


@pytest.mark.parametrize("count", [-1, 3, 10**12])
def test_counts_that_exceed_the_file_are_refused(tmp_path: Path, count: int) -> None:
    with (
        InputFile(save(tmp_path, bytes(8))) as file,
        pytest.raises(FileError, match=rf"file: declares {count} records"),
    ):
        file.read_records(np.dtype("<u4"), count, "records")


@pytest.mark.parametrize(("offset", "count"), [(0, 9), (8, 1), (-1, 1), (2**63, 1)])
def test_offsets_outside_of_the_file_are_refused(tmp_path: Path, offset: int, count: int) -> None:
    with (
        InputFile(save(tmp_path, bytes(8))) as file,
        pytest.raises(FileError, match=f"refers to byte {offset}, but has only 8"),
    ):
        file.read_at(offset, count)


def test_expansion_is_limited_by_the_size_of_the_file(tmp_path: Path) -> None:
    with InputFile(save(tmp_path, bytes(100))) as file:
        limit = MAX_EXPANSION * 100 + EXPANSION_ALLOWANCE_BYTES
        file.check_expansion(limit, "points")
        with pytest.raises(FileError, match="too many for a file of 100 bytes"):
            file.check_expansion(limit + 1, "points")


@pytest.mark.slow
@given(st.floats(-1e6, 1e6), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), st.integers(1, 8))
def test_a_number_of_fixed_decimals_looks_truncated_where_it_lost_one(
    value: float, before: list[float], decimals: int
) -> None:
    number, *others = (f"{number:.{decimals}f}".encode() for number in (value, *before))
    assert not looks_truncated(number, others)
    assert all(looks_truncated(number[:-lost], others) for lost in range(1, decimals + 1))


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("-3", -3), ("+7", 7), ("", None), ("1.0", None), ("1e3", None), (" 1", None), ("9" * 19, None)],
)
def test_integers_of_headers(text: str, value: int | None) -> None:
    assert parse_integer(text) == value


@given(st.binary(max_size=300))
def test_excerpts_are_short_and_of_one_line(text: bytes) -> None:
    excerpt = quote(text)
    assert "\n" not in excerpt
    assert excerpt[0] in "'\""
    assert len(excerpt) <= 10 * 60 + 2


@pytest.mark.parametrize("name", ["", "a\0b.ply", "\ud800.ply", 3, None, ["a.ply"], b"a\0.ply"])
def test_names_that_no_file_can_have_are_refused(name: Any) -> None:
    readers: tuple[Callable[[Any], Any], ...] = (read, read_poses, read_graph, frame_files)
    for reader in readers:
        with pytest.raises(InputError, match=r"^(path|folder): expected the name of a file, got "):
            reader(name)
    writers: tuple[Callable[[Any, Any], Any], ...] = (write, write_poses)
    for writer in writers:
        with pytest.raises(InputError, match="path: expected the name of a file, got "):
            writer(name, np.eye(4))


def test_values_of_any_depth_are_shown_in_short() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    for value in (deep, "x" * 1000, 10**4000, {"\ud800": deep}, np.zeros((100, 100))):
        assert len(shown(value).encode()) < 200
