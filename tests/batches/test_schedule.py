"""The schedule: every cloud is preprocessed once, before its pairs, whichever task fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.batch_jobs import pairs_of, write_scans

from graphreg import register
from graphreg.batches.jobs import as_jobs
from graphreg.batches.schedule import Schedule
from graphreg.batches.store import ResultStore
from graphreg.batches.tasks import PreprocessTask, RegisterTask, Task
from graphreg.batches.workers import TaskOutcome


@pytest.fixture
def jobs(tmp_path: Path) -> list[dict[str, Any]]:
    return pairs_of(tmp_path, write_scans(tmp_path, 5))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultStore]:
    with closing(ResultStore(tmp_path / "results.jsonl")) as opened:
        yield opened


def succeed(task: Task) -> TaskOutcome:
    """The outcome of a simulated worker: the hash of a cloud is its name, and every pair is registered."""
    value: Any = (Path(task.path).name, None) if isinstance(task, PreprocessTask) else {"success": True, "reason": ""}
    return TaskOutcome(value, None, 1, 0.0)


def simulate(
    schedule: Schedule, workers: int, run: Callable[[Task], TaskOutcome] = succeed, seed: int = 0
) -> list[Task]:
    """Run all tasks on simulated workers that complete in random order; returns them in the order of their start."""
    rng = np.random.default_rng(seed)
    started: list[Task] = []
    running: dict[int, Task] = {}
    while True:
        for worker in set(range(workers)) - running.keys():
            if (task := schedule.next_task(worker)) is not None:
                started.append(task)
                running[worker] = task
        if not running:
            return started
        task = running.pop(rng.choice(sorted(running)))
        if isinstance(task, RegisterTask):
            assert not [
                other for other in running.values() if isinstance(other, PreprocessTask) and other.path in task.paths
            ]
        schedule.complete(task, run(task))


@pytest.mark.parametrize("workers", [1, 2, 7, 100])
def test_each_cloud_is_preprocessed_once_and_each_pair_registered_once(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore, workers: int
) -> None:
    schedule = Schedule(as_jobs(jobs), store, tmp_path / "cache", register)
    started = simulate(schedule, workers, seed=workers)
    preprocessed = Counter(task.path for task in started if isinstance(task, PreprocessTask))
    assert preprocessed == Counter(str(tmp_path / f"scan_{number}.npy") for number in range(5))
    registered = Counter(task.paths for task in started if isinstance(task, RegisterTask))
    assert registered == Counter((str(job["source"]), str(job["target"])) for job in jobs)
    assert schedule.counts() == (20, 20, 0, 0, 0, 5)


def test_pairs_do_not_wait_for_the_clouds_of_other_pairs(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore
) -> None:
    started = simulate(Schedule(as_jobs(jobs), store, tmp_path / "cache", register), 1)
    assert [type(task) for task in started[:3]] == [PreprocessTask, PreprocessTask, RegisterTask]


def test_a_cloud_that_crashes_every_worker_sets_only_its_own_pairs_aside(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore
) -> None:
    def crash(task: Task) -> TaskOutcome:
        if isinstance(task, PreprocessTask) and "scan_2" in task.path:
            return TaskOutcome(None, "its worker was killed by SIGSEGV", 3, 0.0)
        return succeed(task)

    schedule = Schedule(as_jobs(jobs), store, tmp_path / "cache", register)
    simulate(schedule, 3, crash)
    assert schedule.counts()[:4] == (20, 12, 0, 8)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    aside = [line for line in lines if "SIGSEGV" in line]
    assert len(aside) == 8
    assert all("scan_2" in line for line in aside)


def test_duplicates_are_done_once(tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore) -> None:
    named = [{**jobs[0], "id": name} for name in ("one", "other", "one")]
    schedule = Schedule(as_jobs([*jobs, *jobs[:4], *named]), store, tmp_path / "cache", register)
    started = simulate(schedule, 2)
    assert sum(isinstance(task, RegisterTask) for task in started) == 22
    assert schedule.counts()[:2] == (22, 22)
    assert len(set(schedule.offsets())) == 22


def test_jobs_that_were_set_aside_are_done_again_only_on_request(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore
) -> None:
    def fail(task: Task) -> TaskOutcome:
        return succeed(task) if isinstance(task, PreprocessTask) else TaskOutcome(None, "no", 1, 0.0)

    def new_schedule(again: bool) -> Schedule:
        return Schedule(as_jobs(jobs), store, tmp_path / "cache", register, again)

    simulate(new_schedule(False), 2, fail)
    second, third = new_schedule(False), new_schedule(True)
    assert not [task for task in simulate(second, 2) if isinstance(task, RegisterTask)]
    assert second.counts()[3:5] == (20, 20)
    simulate(third, 2)
    assert third.counts()[:5] == (20, 20, 0, 0, 0)


def test_jobs_with_files_that_cannot_be_read_are_told_apart(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore
) -> None:
    missing = [{**jobs[0], "target": tmp_path / f"gone_{number}.npy"} for number in range(5)]

    def miss(task: Task) -> TaskOutcome:
        return TaskOutcome(None, "No such file", 1, 0.0) if "gone" in str(task) else succeed(task)

    first = Schedule(as_jobs(missing), store, tmp_path / "cache", register)
    simulate(first, 2, miss)
    assert first.counts()[:5] == (5, 0, 0, 5, 0)
    assert len(set(first.offsets())) == 5
    second = Schedule(as_jobs([*missing, {**jobs[0], "target": tmp_path / "gone_5.npy"}]), store, tmp_path, register)
    simulate(second, 2, miss)
    assert second.counts()[:5] == (6, 0, 0, 6, 5)
