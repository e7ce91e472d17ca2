"""The store: records are read back by their key, the latest of a key counts, and its state follows from the result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from graphreg.batches.store import NOT_REGISTERED, REGISTERED, SET_ASIDE, Record, ResultStore
from graphreg.errors import FileError

RESULT = {"success": True, "reason": "registered: ...", "confidence": 0.9, "transformation": np.eye(4).tolist()}
REGISTERED_RECORD = Record("a", "", "a.ply", "b.ply", RESULT, None, 1, 0.5)
FAILED_RECORD = replace(REGISTERED_RECORD, key="b", result=RESULT | {"success": False, "reason": "not registered: ..."})
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


WRONG = [None, True, 3, 10**400, "x", [], ["x"], {}, {"success": 1}]


def changed_lines() -> Iterator[str]:
    for name in asdict(REGISTERED_RECORD):
        right = {"attempts": [3], "seconds": [3], "problem": WRONG}.get(name, ["x"])
        yield from (json.dumps(asdict(REGISTERED_RECORD) | {name: wrong}) for wrong in WRONG if wrong not in right)
        yield json.dumps({key: value for key, value in asdict(REGISTERED_RECORD).items() if key != name})
    for name in RESULT:
        right = {"success": [True], "reason": ["x"], "confidence": [3], "transformation": []}[name]
        for wrong in WRONG:
            if not any(wrong is each or wrong == each for each in right):
                yield json.dumps(asdict(REGISTERED_RECORD) | {"result": RESULT | {name: wrong}})
    yield json.dumps(asdict(SET_ASIDE_RECORD) | {"problem": None})


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    for line in ('{"key": "a"}', "3", "null", "[" * 100_000, '{"key":' * 100_000, "\ud800", "{", *changed_lines()):
        path.write_bytes(line.encode(errors="surrogatepass") + b"\n")
        with pytest.raises(FileError, match="line 1 is no result of a batch; name another file"):
            ResultStore(path)
