"""Workers: a task that crashes affects no other, and no worker outlives the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from graphreg.batches.workers import WorkerPool
from graphreg.errors import InputError

# Seconds that suffice for a task that takes no time, also on a busy machine.
LONG_TIMEOUT = 60.0


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerPool]:
    pool = WorkerPool()
    yield pool
    pool.stop()


def test_a_task_runs_in_another_process_and_its_value_is_returned(workers: WorkerPool) -> None:
    outcome = workers.run(os.getpid, LONG_TIMEOUT, 0)
    assert outcome.problem is None
    assert outcome.attempts == 1
    assert outcome.value != os.getpid()
    assert workers.run(os.getpid, LONG_TIMEOUT, 0).value == outcome.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "retries", "problem"),
    [
        (partial(os._exit, 7), 1, "its worker exited with status 7"),
        (partial(signal.raise_signal, signal.SIGSEGV), 0, "its worker was killed by SIGSEGV"),
        (partial(signal.raise_signal, signal.SIGKILL), 0, "its worker was killed by SIGKILL, possibly out of memory"),
        (partial(os.close, -1), 1, "Bad file descriptor"),
    ],
)
def test_transient_failures_are_retried(workers: WorkerPool, task: partial[None], retries: int, problem: str) -> None:
    outcome = workers.run(task, LONG_TIMEOUT, retries)
    assert outcome.value is None
    assert outcome.problem is not None
    assert problem in outcome.problem
    assert outcome.attempts == 1 + retries
    assert workers.run(os.getpid, LONG_TIMEOUT, 0).problem is None


@pytest.mark.slow
def test_a_task_that_hangs_is_killed(workers: WorkerPool) -> None:
    outcome = workers.run(partial(time.sleep, 1000), 0.2, 1)
    assert (outcome.problem, outcome.attempts) == ("took longer than 0.2 s", 2)
    assert workers.run(os.getpid, LONG_TIMEOUT, 0).problem is None


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        (partial(int, "x"), "ValueError: invalid"),
        (partial(Path, 3), "TypeError"),
        (partial(open, "/no/such/file"), "/no/such/file: No such file or directory"),
        (partial(open, "/"), "/: Is a directory"),
    ],
)
def test_permanent_failures_are_not_retried(workers: WorkerPool, task: partial[object], problem: str) -> None:
    before = workers.run(os.getpid, LONG_TIMEOUT, 0).value
    outcome = workers.run(task, LONG_TIMEOUT, 5)
    assert outcome.problem is not None
    assert outcome.problem.startswith(problem)
    assert outcome.attempts == 1
    assert workers.run(os.getpid, LONG_TIMEOUT, 0).value == before


@dataclass(frozen=True)
class Unimportable:
    """A task that cannot be unpickled, as workers cannot import its module."""

    def __call__(self) -> None:
        raise InputError("unreachable")


def test_a_task_that_cannot_be_imported_is_reported(workers: WorkerPool) -> None:
    outcome = workers.run(Unimportable(), LONG_TIMEOUT, 5)
    assert outcome.problem is not None
    assert outcome.attempts == 1


def test_workers_use_one_thread(workers: WorkerPool) -> None:
    assert workers.run(partial(os.getenv, "OMP_NUM_THREADS"), LONG_TIMEOUT, 0).value == "1"


def ends(pid: int) -> bool:
    """Whether a process ends within the timeout."""
    end = time.monotonic() + LONG_TIMEOUT
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_with_the_process_that_started_them_also_while_a_task_hangs() -> None:
    script = """
import os, threading, time
from functools import partial
from graphreg.batches.workers import WorkerPool
workers = WorkerPool()
print(workers.run(os.getpid, 60, 0).value, flush=True)
workers.run(partial(time.sleep, 1000), 1000, 0)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        worker = int(starter.stdout.readline())
        starter.kill()
    assert ends(worker)


@pytest.mark.slow
def test_stop_kills_workers_at_once() -> None:
    pool = WorkerPool()
    pid = pool.run(os.getpid, LONG_TIMEOUT, 0).value
    pool.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(ChildProcessError, match="the workers were stopped"):
        pool.run(os.getpid, LONG_TIMEOUT, 0)


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = WorkerPool()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ChildProcessError, match="no worker can be started: it exited with status 1"):
        pool.run(os.getpid, LONG_TIMEOUT, 0)
    pool.stop()
