"""Results files: what is written can be read back, to the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphreg.bench.results_files import ROWS_SUFFIX, Results, compressed, markdown, read_results, write_results
from graphreg.errors import FileError
from graphreg.provenance import measured_now

PROVENANCE = measured_now("graphreg bench noise", ("poses",), {"open3d": "0.20.0"})
ROWS = [{"method": "icp", "stages": {"register": 0.5}, "error": 0.25}, {"method": "cpd", "stages": {}, "error": None}]
TABLES = {"Errors": [{"method": "icp", "median": 0.25}], "More": [{"method": "cpd", "median": None}]}


@pytest.mark.parametrize("tables", [None, {"": TABLES["Errors"]}, TABLES])
def test_what_is_written_can_be_read_back(tmp_path: Path, tables: dict[str, list[dict[str, object]]] | None) -> None:
    results = Results("Noise", PROVENANCE, ["first line"], ROWS, tables, {"seeds": [0, 1]})
    page = write_results(tmp_path / "new", "noise", results)
    assert read_results(page.with_suffix(".json")) == results
    assert page.read_text() == markdown(results)
    assert (tmp_path / "new" / f"noise{ROWS_SUFFIX}").exists() == (tables is not None)


def test_the_same_results_are_the_same_bytes(tmp_path: Path) -> None:
    results = Results("Noise", PROVENANCE, ["first line"], ROWS, TABLES)
    for name in ("a", "b"):
        write_results(tmp_path / name, "noise", results)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    # No name and no time in the head of the compressed file.
    assert compressed(b"rows")[3:8] == bytes(5)


def test_rows_that_became_the_table_leave_no_old_rows_behind(tmp_path: Path) -> None:
    write_results(tmp_path, "noise", Results("Noise", PROVENANCE, [], ROWS, TABLES))
    write_results(tmp_path, "noise", Results("Noise", PROVENANCE, [], ROWS[:1]))
    assert read_results(tmp_path / "noise.json").rows == ROWS[:1]


def test_what_json_cannot_store_becomes_null_or_a_plain_number(tmp_path: Path) -> None:
    rows = [{"a": np.float64("nan"), "b": np.int64(3), "c": (np.bool_(True), float("inf"))}]
    write_results(tmp_path, "noise", Results("Noise", PROVENANCE, [], rows))
    assert read_results(tmp_path / "noise.json").rows == [{"a": None, "b": 3, "c": [True, None]}]


def test_the_page_ends_with_the_provenance() -> None:
    text = markdown(Results("Noise", PROVENANCE, ["first line"], ROWS, TABLES))
    assert text.startswith("# Noise\n\n- first line\n\n## Errors\n\n| method | median |\n|---|---:|\n| icp | 0.25 |\n")
    assert text.endswith(f"\n\n{PROVENANCE.sentence()}\n")


@pytest.mark.parametrize("content", ["nonsense", "{}", "[]", '{"title": "a"}'])
def test_a_file_that_is_no_result_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "noise.json").write_text(content)
    with pytest.raises(FileError, match=r"noise\.json: is no result of an experiment"):
        read_results(tmp_path / "noise.json")


def test_damaged_rows_are_named(tmp_path: Path) -> None:
    write_results(tmp_path, "noise", Results("Noise", PROVENANCE, [], ROWS, TABLES))
    rows = tmp_path / f"noise{ROWS_SUFFIX}"
    for content in (rows.read_bytes()[:-9], b"nonsense", compressed(json.dumps(ROWS)[:9].encode())):
        rows.write_bytes(content)
        with pytest.raises(FileError, match=r"noise\.rows\.jsonl\.gz: holds no rows of an experiment"):
            read_results(tmp_path / "noise.json")
