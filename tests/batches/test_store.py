"""The store: records are read back by their key, the latest of a key counts, and its state follows from the result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from graphreg.batches.store import NOT_REGISTERED, REGISTERED, SET_ASIDE, Record, ResultStore
from graphreg.errors import FileError

REGISTERED_RECORD = Record("a", "", "a.ply", "b.ply", {"success": True, "reason": "registered: ..."}, None, 1, 0.5)
FAILED_RECORD = replace(REGISTERED_RECORD, key="b", result={"success": False, "reason": "not registered: ..."})
SET_ASIDE_RECORD = replace(REGISTERED_RECORD, key="c", result=None, problem="took longer than 1 s")
RECORDS = [REGISTERED_RECORD, FAILED_RECORD, SET_ASIDE_RECORD]


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "results.jsonl"
    with closing(ResultStore(path)) as store:
        for record in RECORDS:
            store.add(record)
    return path


def test_the_state_follows_from_the_result() -> None:
    assert [record.state for record in RECORDS] == [REGISTERED, NOT_REGISTERED, SET_ASIDE]
    assert [record.reason for record in RECORDS] == ["registered: ...", "not registered: ...", "took longer than 1 s"]
    assert SET_ASIDE_RECORD.as_result() is None


def test_records_are_read_back_at_their_offsets(path: Path) -> None:
    content = path.read_bytes()
    with closing(ResultStore(path)) as store:
        for record in RECORDS:
            assert store.state_of(record.key) == record.state
            assert json.loads(content[store.offset(record.key) :].split(b"\n")[0]) == asdict(record)
        assert store.state_of("unknown") is None


def test_the_latest_record_of_a_key_counts(path: Path) -> None:
    with closing(ResultStore(path)) as store:
        store.add(replace(REGISTERED_RECORD, key="c"))
        assert store.state_of("c") == REGISTERED
    with closing(ResultStore(path)) as store:
        assert store.state_of("c") == REGISTERED
        assert store.offset("c") > store.offset("b")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"key": "a"}\n')
    with pytest.raises(FileError, match="line 1 is no result of a batch; name another file"):
        ResultStore(path)
