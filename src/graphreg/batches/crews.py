"""Who does the tasks: workers on this machine, or on a Dask cluster. Both take tasks and give futures."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from graphreg.batches.workers import Ended, Workers
from graphreg.errors import InputError, MissingExtraError

# Tasks that a cluster has at hand for each of its threads, so that none waits for us; and how often, in seconds, it is
# asked how many threads it has by now.
AHEAD = 3
ASKED_EVERY = 5.0
LONGEST_ANSWER = 30.0


@dataclass(frozen=True)
class Crew:
    """Some workers.

    slots   how many tasks they can have at a time
    submit  takes a task and gives a future
    ended   how the task of a future that is done ended
    """

    slots: Callable[[], int]
    submit: Callable[[Callable[[], Any]], Any]
    ended: Callable[[Any], Ended]


@contextmanager
def pool(count: int, timeout: float, retries: int) -> Iterator[Crew]:
    """Workers on this machine. Whatever happens, none is left when the block is left."""
    workers = Workers()
    threads = ThreadPoolExecutor(count)
    try:
        yield Crew(
            lambda: count,
            lambda task: threads.submit(workers.do, task, timeout, retries),
            lambda future: cast(Ended, future.result()),
        )
    finally:
        workers.stop()
        threads.shutdown(cancel_futures=True)


@contextmanager
def cluster(address: str, timeout: float, retries: int) -> Iterator[Crew]:
    """Workers on a Dask cluster: each of its threads has a process of ours, so that a task takes no Dask worker along
    when it dies. These processes stay with Dask's, ready for the next batch."""
    try:
        from distributed import CancelledError, Client, KilledWorker
    except ImportError as problem:
        raise MissingExtraError("a Dask cluster", "dask") from problem
    try:
        client = Client(address, timeout=LONGEST_ANSWER, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise InputError(f"dask: no scheduler answers at {address}: {problem}") from problem
    asked, threads = -ASKED_EVERY, 0

    def slots() -> int:
        nonlocal asked, threads
        if time.monotonic() - asked >= ASKED_EVERY:
            asked, threads = time.monotonic(), sum(client.nthreads().values())
        return AHEAD * max(threads, 1)

    def ended(future: Any) -> Ended:
        try:
            return cast(Ended, future.result())
        except KilledWorker as problem:
            died = problem.allowed_failures + 1
            return Ended(None, f"{died} Dask workers died while they did it", died, 0.0)
        except (CancelledError, OSError) as problem:
            raise ConnectionError(f"the cluster at {address} is lost; the same batch goes on where it was") from problem

    with client:
        yield Crew(slots, lambda task: client.submit(_in_dask, task, timeout, retries, pure=False), ended)


def usual_count() -> int:
    """As many workers as there are cores for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Those of a Dask worker, wherever this module is imported.
_HERE = Workers()
atexit.register(_HERE.stop)


def _in_dask(task: Callable[[], Any], timeout: float, retries: int) -> Ended:
    return _HERE.do(task, timeout, retries)
