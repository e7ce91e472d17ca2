"""Workers: what a task does to its process, it does to no other; and none outlives whoever started it."""

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

from graphreg.batches.workers import Workers
from graphreg.errors import InputError

# So many seconds are plenty for what takes none, on a busy machine too.
PLENTY = 60.0


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    several = Workers()
    yield several
    several.stop()


def test_a_task_gives_its_value_in_another_process(workers: Workers) -> None:
    ended = workers.do(os.getpid, PLENTY, 0)
    assert ended.problem is None
    assert ended.attempts == 1
    assert ended.value != os.getpid()
    assert workers.do(os.getpid, PLENTY, 0).value == ended.value


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        (partial(os._exit, 7), "its worker left with status 7"),
        (partial(signal.raise_signal, signal.SIGSEGV), "its worker was killed by SIGSEGV"),
        (partial(signal.raise_signal, signal.SIGKILL), "its worker was killed by SIGKILL, maybe for want of memory"),
        (partial(os.close, -1), "Bad file descriptor"),
    ],
)
def test_what_may_pass_is_tried_again_and_then_set_aside(workers: Workers, task: partial[None], problem: str) -> None:
    ended = workers.do(task, PLENTY, 2)
    assert ended.value is None
    assert ended.problem is not None
    assert problem in ended.problem
    assert ended.attempts == 3
    assert workers.do(os.getpid, PLENTY, 0).problem is None


def test_a_task_that_hangs_is_ended(workers: Workers) -> None:
    ended = workers.do(partial(time.sleep, 1000), 0.2, 1)
    assert (ended.problem, ended.attempts) == ("took longer than 0.2 s", 2)
    assert workers.do(os.getpid, PLENTY, 0).problem is None


@pytest.mark.parametrize(
    ("task", "problem"), [(partial(int, "x"), "ValueError: invalid"), (partial(Path, 3), "TypeError")]
)
def test_what_would_fail_again_is_not_tried_again(workers: Workers, task: partial[object], problem: str) -> None:
    before = workers.do(os.getpid, PLENTY, 0).value
    ended = workers.do(task, PLENTY, 5)
    assert ended.problem is not None
    assert ended.problem.startswith(problem)
    assert ended.attempts == 1
    assert workers.do(os.getpid, PLENTY, 0).value == before


@dataclass(frozen=True)
class Refused:
    """What cannot be unpickled, for its module is not where workers look."""

    def __call__(self) -> None:
        raise InputError("unreachable")


def test_a_task_that_no_worker_can_import_is_told(workers: Workers) -> None:
    ended = workers.do(Refused(), PLENTY, 5)
    assert ended.problem is not None
    assert ended.attempts == 1


def test_one_thread_a_worker(workers: Workers) -> None:
    assert workers.do(partial(os.getenv, "OMP_NUM_THREADS"), PLENTY, 0).value == "1"


def gone(pid: int) -> bool:
    """Whether a process ends, in the time that anything may take."""
    end = time.monotonic() + PLENTY
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
def test_workers_end_with_whoever_started_them_also_out_of_a_task_that_hangs() -> None:
    script = """
import os, threading, time
from functools import partial
from graphreg.batches.workers import Workers
workers = Workers()
print(workers.do(os.getpid, 60, 0).value, flush=True)
workers.do(partial(time.sleep, 1000), 1000, 0)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        worker = int(starter.stdout.readline())
        starter.kill()
    assert gone(worker)


def test_stopping_ends_them_at_once() -> None:
    several = Workers()
    pid = several.do(os.getpid, PLENTY, 0).value
    several.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(ChildProcessError, match="the workers were stopped"):
        several.do(os.getpid, PLENTY, 0)


def test_a_worker_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    several = Workers()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ChildProcessError, match="no worker can be started: it left with status 1"):
        several.do(os.getpid, PLENTY, 0)
    several.stop()
