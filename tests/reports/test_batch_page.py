"""The report of a batch: counts, failures with their reasons, and no external resource."""

from __future__ import annotations

import csv
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg.batches.batch_run import Batch
from graphreg.batches.store import Record, ResultStore
from graphreg.reports.batch_page import MAX_ROWS, summary_html, write_summary_csv, write_summary_page


def record(number: int, state: str) -> Record:
    result: dict[str, Any] = {"success": state == "registered", "reason": f"{state}: <because>", "confidence": 0.5}
    result["transformation"] = np.eye(4).tolist()
    problem = "its worker was killed by SIGSEGV" if state == "set aside" else None
    name = f"a{number}&.ply"
    return Record(f"{state}{number}", "", name, "b.ply", None if problem else result, problem, 1, 0.1 * number)


def batch_of(folder: Path, registered: int = 0, not_registered: int = 0, set_aside: int = 0) -> Batch:
    counts = {"registered": registered, "not registered": not_registered, "set aside": set_aside}
    with closing(ResultStore(folder / "results.jsonl")) as store:
        records = [record(number, state) for state, count in counts.items() for number in range(count)]
        for job in records:
            store.add(job)
        offsets = tuple(store.offset(job.key) for job in records)
    total = sum(counts.values())
    return Batch(folder / "results.jsonl", total, *counts.values(), 0, 3, 12.0, offsets)


@pytest.fixture
def mixed(tmp_path: Path) -> Batch:
    return batch_of(tmp_path, 5, 2, MAX_ROWS + 7)


def test_counts_and_reasons_are_listed(mixed: Batch) -> None:
    page = summary_html(mixed, "jobs <of> mine.csv")
    assert f"5 of {mixed.jobs} pairs registered" in page
    assert page.count("its worker was killed by SIGSEGV") == MAX_ROWS + 1
    assert "and 7 more" in page
    assert "jobs &lt;of&gt; mine.csv" in page
    assert "a1&amp;.ply" in page
    assert "<because>" not in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)


@pytest.mark.parametrize("counts", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_batches_of_one_state_have_a_page(tmp_path: Path, counts: tuple[int, int, int]) -> None:
    write_summary_page(tmp_path / "page.html", batch_of(tmp_path, *counts), "jobs")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert ('class="verdict good"' in page) == (counts[0] == 1)


def test_the_csv_file_has_a_line_for_each_job(tmp_path: Path, mixed: Batch) -> None:
    write_summary_csv(tmp_path / "table.csv", mixed)
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1 + mixed.jobs


NAMES = {
    "=1+1": "'=1+1",
    "+1": "'+1",
    "-1": "'-1",
    "@sum": "'@sum",
    " =1": "' =1",
    "\t=1": "\\t=1",
    "\r=1": "\\r=1",
    "a\n=1": "a\\n=1",
    "a=1": "a=1",
    "\udcff.ply": "\\udcff.ply",
    'x","y é': 'x","y é',
}


def test_names_are_no_formulas(tmp_path: Path) -> None:
    """Nothing that a spreadsheet would compute begins a cell, whatever jobs and files are called."""
    records = [replace(record(number, "set aside"), id=name, source=name) for number, name in enumerate(NAMES)]
    with closing(ResultStore(tmp_path / "results.jsonl")) as store:
        for job in records:
            store.add(job)
        offsets = tuple(store.offset(job.key) for job in records)
    batch = Batch(tmp_path / "results.jsonl", len(NAMES), 0, 0, len(NAMES), 0, 3, 12.0, offsets)
    write_summary_csv(tmp_path / "table.csv", batch)
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [row["source"] for row in rows] == list(NAMES.values())
    write_summary_page(tmp_path / "page.html", batch, "jobs")
