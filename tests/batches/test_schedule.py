"""The plan of a batch: every cloud once and before its pairs, whatever dies on the way."""

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
from graphreg.batches.schedule import Plan
from graphreg.batches.store import ResultStore
from graphreg.batches.tasks import Prepare, Register, Task
from graphreg.batches.workers import Ended


@pytest.fixture
def jobs(tmp_path: Path) -> list[dict[str, Any]]:
    return pairs_of(tmp_path, write_scans(tmp_path, 5))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultStore]:
    with closing(ResultStore(tmp_path / "results.jsonl")) as held:
        yield held


def found(task: Task) -> Ended:
    """A stand-in for workers: clouds are what they are called, and every pair is registered."""
    value: Any = (Path(task.path).name, None) if isinstance(task, Prepare) else {"success": True, "reason": ""}
    return Ended(value, None, 1, 0.0)


def worked_off(plan: Plan, at_once: int, do: Callable[[Task], Ended] = found, seed: int = 0) -> list[Task]:
    """The tasks in the order they were begun, when so many run at once and end in any order."""
    rng = np.random.default_rng(seed)
    begun: list[Task] = []
    running: dict[int, Task] = {}
    while True:
        for worker in set(range(at_once)) - running.keys():
            if (task := plan.next_task(worker)) is not None:
                begun.append(task)
                running[worker] = task
        if not running:
            return begun
        task = running.pop(rng.choice(sorted(running)))
        if isinstance(task, Register):
            assert not [other for other in running.values() if isinstance(other, Prepare) and other.path in task.paths]
        plan.take(task, do(task))


@pytest.mark.parametrize("at_once", [1, 2, 7, 100])
def test_each_cloud_is_prepared_once_and_each_pair_registered_once(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore, at_once: int
) -> None:
    plan = Plan(as_jobs(jobs), store, tmp_path / "cache", register)
    begun = worked_off(plan, at_once, seed=at_once)
    prepared = Counter(task.path for task in begun if isinstance(task, Prepare))
    assert prepared == Counter(str(tmp_path / f"scan_{number}.npy") for number in range(5))
    registered = Counter(task.paths for task in begun if isinstance(task, Register))
    assert registered == Counter((str(job["source"]), str(job["target"])) for job in jobs)
    assert plan.counts() == (20, 20, 0, 0, 0, 5)


def test_pairs_do_not_wait_for_clouds_of_others(tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore) -> None:
    begun = worked_off(Plan(as_jobs(jobs), store, tmp_path / "cache", register), 1)
    assert [type(task) for task in begun[:3]] == [Prepare, Prepare, Register]


def test_a_cloud_that_no_worker_survives_takes_only_its_own_pairs_along(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore
) -> None:
    def do(task: Task) -> Ended:
        if isinstance(task, Prepare) and "scan_2" in task.path:
            return Ended(None, "its worker was killed by SIGSEGV", 3, 0.0)
        return found(task)

    plan = Plan(as_jobs(jobs), store, tmp_path / "cache", register)
    worked_off(plan, 3, do)
    assert plan.counts()[:4] == (20, 12, 0, 8)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    aside = [line for line in lines if "SIGSEGV" in line]
    assert len(aside) == 8
    assert all("scan_2" in line for line in aside)


def test_jobs_that_are_the_same_in_all_are_done_once(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore
) -> None:
    named = [{**jobs[0], "id": name} for name in ("one", "other", "one")]
    plan = Plan(as_jobs([*jobs, *jobs[:4], *named]), store, tmp_path / "cache", register)
    begun = worked_off(plan, 2)
    assert sum(isinstance(task, Register) for task in begun) == 22
    assert plan.counts()[:2] == (22, 22)
    assert len(set(plan.offsets())) == 22


def test_what_was_set_aside_is_done_again_only_when_asked(
    tmp_path: Path, jobs: list[dict[str, Any]], store: ResultStore
) -> None:
    def refused(task: Task) -> Ended:
        return found(task) if isinstance(task, Prepare) else Ended(None, "no", 1, 0.0)

    def planned(again: bool) -> Plan:
        return Plan(as_jobs(jobs), store, tmp_path / "cache", register, again)

    worked_off(planned(False), 2, refused)
    second, third = planned(False), planned(True)
    assert not [task for task in worked_off(second, 2) if isinstance(task, Register)]
    assert second.counts()[3:5] == (20, 20)
    worked_off(third, 2)
    assert third.counts()[:5] == (20, 20, 0, 0, 0)
