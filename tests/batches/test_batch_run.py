"""batch(): the same results for any number of workers; after a kill no result is lost and no job is done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.batch_jobs import (
    batch_results,
    keys_in,
    pairs_of,
    without_times,
    write_scans,
    write_table,
)
from tests.support.faulty_register import faulty_register

import graphreg
from graphreg import InputError
from graphreg.result import Result

SCANS = 3


@pytest.mark.slow
def test_two_workers_give_the_results_of_one_in_the_order_of_the_jobs(
    jobs: list[dict[str, Any]], expected: list[str], tmp_path: Path
) -> None:
    found = graphreg.batch(jobs, tmp_path / "two.jsonl", workers=2)
    assert [without_times(record) for record in found] == expected
    assert [(record.source, record.target) for record in found] == [
        (str(job["source"]), str(job["target"])) for job in jobs
    ]
    assert (found.jobs, found.done, found.before, found.clouds) == (6, 6, 0, 3)


@pytest.mark.slow
def test_results_are_those_of_register(jobs: list[dict[str, Any]], folder: Path, expected: list[str]) -> None:
    found = graphreg.batch(jobs, folder / "expected.jsonl")
    for record in found:
        clouds = (graphreg.prepare(graphreg.read(path)) for path in (record.source, record.target))
        stored = record.as_result()
        assert isinstance(stored, Result)
        again = graphreg.register(*clouds, seed=stored.seed)
        assert np.array_equal(again.transformation, stored.transformation)
        assert (again.success, again.confidence, again.reason) == (stored.success, stored.confidence, stored.reason)


@pytest.mark.slow
def test_a_second_run_does_nothing_and_gives_the_same(
    jobs: list[dict[str, Any]], folder: Path, expected: list[str]
) -> None:
    content = (folder / "expected.jsonl").read_bytes()
    again = graphreg.batch(jobs, folder / "expected.jsonl")
    assert (again.done, again.before, again.clouds, again.rate) == (6, 6, 0, 0.0)
    assert [without_times(record) for record in again] == expected
    assert (folder / "expected.jsonl").read_bytes() == content


@pytest.mark.slow
def test_only_jobs_with_a_changed_file_or_setting_are_done_again(jobs: list[dict[str, Any]], tmp_path: Path) -> None:
    names = write_scans(tmp_path, 3)
    three = pairs_of(tmp_path, names)
    out = tmp_path / "results.jsonl"
    graphreg.batch(three, out, workers=1)
    np.save(tmp_path / names[0], graphreg.read(tmp_path / names[0])[::-1])
    changed = graphreg.batch(three, out, workers=1)
    assert (changed.before, changed.clouds) == (2, 1)
    other = graphreg.batch([{**three[0], "voxel": 0.02}, *three[1:]], out, workers=1)
    assert (other.jobs, other.before) == (6, 5)
    assert next(iter(other)).result["settings"]["voxel"] == 0.02


@pytest.mark.slow
def test_jobs_that_crash_are_set_aside_with_a_reason_and_the_others_are_done(
    jobs: list[dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "bad.ply").write_bytes(b"ply\nformat ascii 1.0\nelement vertex 100\n")
    faults = {
        "exit": "its worker exited with status 7",
        "memory": "not enough memory",
        "odd": "RuntimeError: odd",
    }
    crashing = [{**jobs[0], "id": fault, "fault": fault} for fault in faults]
    unreadable = [{**jobs[0], "source": tmp_path / name, "id": name} for name in ("bad.ply", "gone.ply")]
    recovering = {**jobs[1], "id": "recovers", "fault": "exit", "mark": str(tmp_path / "mark")}
    found = graphreg.batch(
        [*crashing, *unreadable, recovering, *jobs[2:4]], tmp_path / "results.jsonl", workers=2,
        retries=1, run=faulty_register,
    )  # fmt: skip
    records = {record.id: record for record in found}
    assert (found.jobs, found.registered + found.not_registered, found.set_aside) == (8, 3, 5)
    for fault, reason in faults.items():
        assert reason in records[fault].reason
        assert records[fault].attempts == (1 if fault == "odd" else 2)
    assert "bad.ply" in records["bad.ply"].reason
    assert "No such file" in records["gone.ply"].reason
    assert records["gone.ply"].attempts == 1
    assert records["recovers"].result is not None
    assert records["recovers"].attempts == 2


@pytest.mark.slow
def test_a_job_that_hangs_is_set_aside(
    jobs: list[dict[str, Any]], folder: Path, expected: list[str], tmp_path: Path
) -> None:
    """A single job whose clouds are cached: on a busy machine anything else might exceed the timeout."""
    cache = folder / "expected.jsonl.cache"
    found = graphreg.batch(
        [{**jobs[0], "fault": "hang"}], tmp_path / "r.jsonl", cache=cache, timeout=0.5, retries=1, run=faulty_register
    )
    (record,) = found
    assert (record.reason, record.attempts) == ("took longer than 0.5 s", 2)


def test_invalid_arguments_are_refused_before_anything_is_written(jobs: list[dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    for options, problem in (
        ({"workers": 0}, "workers: expected a whole number from 1 on"),
        ({"timeout": 0}, "timeout: expected a positive number"),
        ({"retries": -1}, "retries: expected a whole number"),
        ({"run": lambda *_: None}, "run: expected a function of a module"),
    ):
        with pytest.raises(InputError, match=problem):
            graphreg.batch(jobs, out, **options)
    with pytest.raises(InputError, match="voxle: no setting of graphreg"):
        graphreg.batch([{**jobs[0], "voxle": 1}], out)
    with pytest.raises(InputError, match="ends in .jsonl"):
        graphreg.batch(jobs, tmp_path / "results.csv")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_store_is_refused_and_not_changed(jobs: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"mine": 1}\n')
    with pytest.raises(InputError, match="line 1 is no result of a batch"):
        graphreg.batch(jobs, tmp_path / "mine.jsonl")
    assert (tmp_path / "mine.jsonl").read_text() == '{"mine": 1}\n'


@pytest.mark.slow
def test_an_interrupt_keeps_the_results_so_far(jobs: list[dict[str, Any]], tmp_path: Path) -> None:
    def interrupt(now: graphreg.batch) -> None:
        if now.done == 2:
            raise KeyboardInterrupt

    out = tmp_path / "results.jsonl"
    with pytest.raises(KeyboardInterrupt):
        graphreg.batch(jobs, out, workers=1, progress=interrupt)
    assert len(keys_in(out)) == 2
    assert graphreg.batch(jobs, out, workers=1).before == 2


def has_more_than(out: Path, lines: int) -> bool:
    return out.exists() and len(keys_in(out)) > lines


def children_of(pid: int) -> list[int]:
    task = Path(f"/proc/{pid}/task")
    try:
        return [int(child) for thread in task.iterdir() for child in (thread / "children").read_text().split()]
    except OSError:
        return []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_killed_at_random_moments_no_result_is_lost_and_no_job_done_twice(
    jobs: list[dict[str, Any]], expected: list[str], folder: Path, tmp_path: Path
) -> None:
    """Workers and the driver are killed; the store keeps its bytes."""
    rng = np.random.default_rng(0)
    out = tmp_path / "results.jsonl"
    table = write_table(tmp_path, jobs)
    script = "import graphreg, sys; graphreg.batch(sys.argv[1], sys.argv[2], workers=2, retries=20)"
    command = [sys.executable, "-c", script, str(table), str(out)]
    kept = b""
    for round in range(2):
        with subprocess.Popen(command) as driver:
            # In every second round as soon as there are workers, otherwise after the next result.
            while driver.poll() is None and not (
                children_of(driver.pid) if round % 2 else has_more_than(out, kept.count(b"\n"))
            ):
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.3))
            for worker in children_of(driver.pid)[: rng.integers(0, 3)]:
                os.kill(worker, signal.SIGKILL)
            time.sleep(rng.uniform(0, 0.3))
            driver.kill()
        content = out.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        assert complete.startswith(kept)
        kept = complete
    found = graphreg.batch(table, out, workers=1)
    assert found.registered + found.not_registered == 6
    assert out.read_bytes().startswith(kept)
    assert len(keys_in(out)) == len(set(keys_in(out))) == 6
    assert [without_times(record) for record in found] == expected


@pytest.mark.slow
def test_jobs_are_done_without_a_cache(jobs: list[dict[str, Any]], expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    assert batch_results(jobs[:4], tmp_path / "results.jsonl", workers=1, cache=tmp_path / "cache") == expected[:4]
