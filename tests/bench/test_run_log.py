"""Interrupted and resumed runs: nothing that was done is lost or repeated, wherever the interruption came."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graphreg.bench.run_log import RunLog, run
from graphreg.errors import FileError

SETTING = {"numpy": "1.0"}


@dataclass(frozen=True)
class Job:
    number: int
    method: str = "a"
    cell: str = ""


JOBS = [Job(number) for number in range(6)]


def measured(done: list[int]) -> Callable[[Job], Iterator[dict[str, Any]]]:
    """Notes which jobs are measured; each has as many rows as its number says."""

    def measure(job: Job) -> Iterator[dict[str, Any]]:
        done.append(job.number)
        for part in range(job.number):
            yield {"number": job.number, "part": part, "text": 'quoted " and \n broken', "seconds": 1.0}

    return measure


def rows_of(path: Path, done: list[int], **how: Any) -> list[dict[str, Any]]:
    log = RunLog(path, how.pop("setting", SETTING), how.pop("fresh", False))
    try:
        return [row for rows in run(how.pop("jobs", JOBS), measured(done), log, 1e9) for row in rows]
    finally:
        log.close()


def test_a_second_run_measures_nothing_and_says_the_same(tmp_path: Path) -> None:
    done: list[int] = []
    first = rows_of(tmp_path / "log", done)
    assert done == [0, 1, 2, 3, 4, 5]
    assert rows_of(tmp_path / "log", done) == first
    assert done == [0, 1, 2, 3, 4, 5]


def test_cut_off_anywhere_it_goes_on_with_what_is_not_whole(tmp_path: Path) -> None:
    whole = rows_of(tmp_path / "whole", [])
    content = (tmp_path / "whole").read_bytes()
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    near_ends = {end + off for end in ends for off in (-1, 0, 1, 2)}
    for cut in sorted({*near_ends, *range(0, len(content), 29), len(content)}):
        path = tmp_path / "cut"
        path.write_bytes(content[:cut])
        done: list[int] = []
        assert rows_of(path, done) == whole
        # The first line is the setting; without it nothing counts.
        lines = sum(end < cut for end in ends)
        assert done == list(range(max(lines - 1, 0), 6))
        # What it leaves behind is whole.
        again: list[int] = []
        assert rows_of(path, again) == whole
        assert not again


def test_what_was_done_before_an_interrupt_is_there(tmp_path: Path) -> None:
    def interrupted(job: Job) -> Iterator[dict[str, Any]]:
        if job.number == 3:
            raise KeyboardInterrupt
        yield {"number": job.number}

    log = RunLog(tmp_path / "log", SETTING)
    with pytest.raises(KeyboardInterrupt):
        list(run(JOBS, interrupted, log, 1e9))
    # Before it is closed, as after a kill.
    shutil.copy(tmp_path / "log", tmp_path / "left")
    log.close()
    done: list[int] = []
    rows_of(tmp_path / "left", done)
    assert done == [3, 4, 5]


def test_other_versions_measure_anew_and_the_first_ones_stay(tmp_path: Path) -> None:
    done: list[int] = []
    rows_of(tmp_path / "log", done, jobs=JOBS[:2])
    rows_of(tmp_path / "log", done, jobs=JOBS[:2], setting={"numpy": "2.0"})
    assert done == [0, 1, 0, 1]
    rows_of(tmp_path / "log", done, jobs=JOBS[:3])
    assert done == [0, 1, 0, 1, 2]


def test_fresh_forgets(tmp_path: Path) -> None:
    done: list[int] = []
    rows_of(tmp_path / "log", done, jobs=JOBS[:2])
    rows_of(tmp_path / "log", done, jobs=JOBS[:1], fresh=True)
    assert done == [0, 1, 0]
    rows_of(tmp_path / "log", done, jobs=JOBS[:2])
    assert done == [0, 1, 0, 1]


@pytest.mark.parametrize("line", [b"nonsense", b"{}", b"[]", b'{"job": 3}', b"\xff\xfe", b"3"])
def test_a_broken_line_within_the_log_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "log"
    rows_of(path, [])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], line, *lines[2:]]) + b"\n")
    with pytest.raises(FileError, match="log: line 3 is no run of an experiment; --fresh starts anew"):
        rows_of(path, [])


def test_jobs_of_another_kind_are_others(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Other:
        number: int
        method: str = "a"

    log = RunLog(tmp_path / "log", SETTING)
    log.add(Job(1), [{"x": 1}])
    assert log.rows_of(Job(1)) == [{"x": 1}]
    assert log.rows_of(Other(1)) is None
    assert log.rows_of(Job(2)) is None
    log.close()


def test_a_slow_method_is_left_out_when_its_time_is_spent_and_a_larger_budget_goes_on(tmp_path: Path) -> None:
    seconds = {"slow": 3.0, "fast": 0.1}
    jobs = [Job(number, method) for number in range(4) for method in seconds]
    asked: list[tuple[int, str]] = []

    def measure(job: Job) -> Iterator[dict[str, Any]]:
        asked.append((job.number, job.method))
        yield {"number": job.number, "seconds": seconds[job.method], "why": ""}

    def reasons(budget: float) -> list[str]:
        log = RunLog(tmp_path / "log", SETTING)
        rows = run(jobs, measure, log, budget, lambda job, why: {"number": job.number, "seconds": None, "why": why})
        found = [row["why"] for some in rows for row in some]
        log.close()
        return found

    left = "not run: slow has spent its 5 s"
    assert reasons(5.0) == ["", "", "", "", left, "", left, ""]
    assert reasons(5.0) == ["", "", "", "", left, "", left, ""]
    assert reasons(100.0) == [""] * 8
    assert len(asked) == len(set(asked)) == 8


def test_every_cell_of_the_tables_is_filled_whatever_it_takes(tmp_path: Path) -> None:
    jobs = [Job(number, cell=cell) for number in range(3) for cell in ("one", "other")]
    log = RunLog(tmp_path / "log", SETTING)
    made = run(jobs, lambda job: [{"seconds": 9.0}], log, 1.0, lambda job, why: {"seconds": None})
    assert [row["seconds"] for rows in made for row in rows] == [9.0, 9.0, None, None, None, None]
    log.close()


def test_the_log_is_a_line_of_json_for_each_job(tmp_path: Path) -> None:
    rows_of(tmp_path / "log", [], jobs=JOBS[:3])
    setting, *jobs = map(json.loads, (tmp_path / "log").read_text().splitlines())
    assert setting == {"setting": SETTING}
    assert [entry["job"]["number"] for entry in jobs] == [0, 1, 2]
