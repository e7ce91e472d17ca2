"""Executors of a batch: a process pool on this machine, and a Dask cluster. Both take tasks and return futures."""

from __future__ import annotations

import atexit
import logging
import pickle
import socket
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlsplit

from graphreg._version import __version__
from graphreg.batches.workers import TaskOutcome, WorkerPool
from graphreg.errors import InputError, MissingExtraError

# Chosen: tasks that the scheduler of a cluster has for each thread, so that none waits for the next one.
TASKS_PER_THREAD = 3
# Seconds between two queries of the workers of a cluster; and seconds that a scheduler may take to answer.
QUERY_INTERVAL = 5.0
ANSWER_TIMEOUT = 30.0
RESUME_HINT = "start the same batch again to resume it"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Executor:
    """Workers that run the tasks of a batch.

    Attributes
    ----------
    capacities : callable
        Returns the number of tasks that each worker can have at a time.
    submit : callable
        Takes a task and the worker that should run it, None for any, and returns a future.
    cancel_lost : callable
        Takes the running futures, with their tasks and workers; cancels and returns those that no worker will run.
    outcome : callable
        Returns the TaskOutcome of a future that is done; None where it is lost, and the task must be run again.
    """

    capacities: Callable[[], Mapping[Hashable, int]]
    submit: Callable[[Callable[[], Any], Hashable], Any]
    cancel_lost: Callable[[Mapping[Any, tuple[Any, Hashable]]], Sequence[Any]]
    outcome: Callable[[Any], TaskOutcome | None]


@contextmanager
def process_pool(count: int, timeout: float, retries: int) -> Iterator[Executor]:
    """Workers on this machine; all of them are gone when the block is left.

    Parameters
    ----------
    count : int
        Number of workers.
    timeout, retries
        As in `WorkerPool.run`.

    Yields
    ------
    Executor
    """
    workers = WorkerPool()
    threads: dict[Hashable, ThreadPoolExecutor] = {number: ThreadPoolExecutor(1) for number in range(count)}
    capacities = dict.fromkeys(threads, 1)
    try:
        yield Executor(
            capacities=lambda: capacities,
            submit=lambda task, worker: threads[worker].submit(workers.run, task, timeout, retries),
            cancel_lost=lambda running: (),
            outcome=lambda future: cast(TaskOutcome, future.result()),
        )
    finally:
        workers.stop()
        for thread in threads.values():
            thread.shutdown(cancel_futures=True)


@contextmanager
def dask_cluster(address: str, timeout: float, retries: int) -> Iterator[Executor]:
    """Workers on a Dask cluster.

    Each thread of a Dask worker has a worker process of ours, so that a task that crashes does not take the Dask worker
    with it. These processes stay with the Dask worker, ready for the next batch.

    Parameters
    ----------
    address : str
        Of the Dask scheduler, such as tcp://host:8786.
    timeout, retries
        As in `WorkerPool.run`.

    Yields
    ------
    Executor

    Raises
    ------
    MissingExtraError
        Where Dask is not installed.
    InputError
        Where no Dask scheduler answers at the address.
    ConnectionError
        In the calls of the executor, where the cluster is lost or has another version of graphreg.
    """
    try:
        import asyncio

        from distributed import CancelledError, Client, KilledWorker
    except ImportError as problem:
        raise MissingExtraError("a Dask cluster", "dask") from problem
    _check_address(address)
    try:
        client = Client(address, timeout=ANSWER_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise InputError(f"dask: no scheduler answers at {address}: {problem}") from problem
    timeouts = TimeoutError, asyncio.TimeoutError
    losses = CancelledError, OSError, *timeouts
    run_in_dask, departed = _function_for_dask(), frozenset[Hashable]()
    queried, known = -QUERY_INTERVAL, cast(Mapping[Hashable, int], {None: TASKS_PER_THREAD})

    def cluster_lost() -> ConnectionError:
        # Dask logs pages about a scheduler that is gone; one sentence is enough.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        return ConnectionError(f"the cluster at {address} is lost; {RESUME_HINT}")

    def capacities() -> Mapping[Hashable, int]:
        nonlocal queried, known, departed
        if time.monotonic() - queried >= QUERY_INTERVAL:
            first, queried = queried < 0, time.monotonic()
            try:
                threads = client.sync(client.scheduler.ncores, callback_timeout=ANSWER_TIMEOUT)
            except losses as problem:
                raise cluster_lost() from problem
            if not threads and (first or None not in known):
                _log.warning("graphreg: no workers at %s; waiting for some", address)
            elif threads and None in known and not first:
                _log.warning("graphreg: %d worker%s at %s", len(threads), "s" * (len(threads) > 1), address)
            departed |= known.keys() - threads.keys() - {None}
            # A cluster that starts workers on demand must have tasks before it has workers.
            known = {worker: TASKS_PER_THREAD * count for worker, count in threads.items()} or {None: TASKS_PER_THREAD}
        return known

    def submit(task: Callable[[], Any], worker: Hashable) -> Any:
        # The scheduler chooses another worker where this one is gone, or busy while others are idle.
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        return client.submit(run_in_dask, pickle.dumps(task), timeout, retries, __version__, pure=False, **where)

    def cancel_lost(running: Mapping[Any, tuple[Any, Hashable]]) -> Sequence[Any]:
        nonlocal departed
        # Where the last worker is gone, Dask keeps its tasks until it comes back, which it never does.
        lost = [future for future, (_, worker) in running.items() if worker in departed and not future.done()]
        departed = frozenset()
        for future in lost:
            future.cancel()
        return lost

    def outcome(future: Any) -> TaskOutcome | None:
        try:
            return cast(TaskOutcome, future.result(timeout=QUERY_INTERVAL))
        except timeouts:  # the value was lost with its worker
            future.cancel()
            return None
        except KilledWorker as problem:
            deaths = problem.allowed_failures + 1
            return TaskOutcome(None, f"{deaths} Dask workers died while they ran it", deaths, 0.0)
        except losses as problem:
            raise cluster_lost() from problem
        except Exception as problem:  # of our function itself, which catches all errors of tasks
            raise ConnectionError(f"a worker of {address} cannot be used: {problem}; {RESUME_HINT}") from problem

    with client:
        yield Executor(capacities, submit, cancel_lost, outcome)


def _check_address(address: str) -> None:
    """Refuse addresses at which a Dask client would wait forever: malformed ones, and servers of other kinds."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme not in ("tcp", "tls") or not host or not port:
        raise InputError(f"dask: expected an address such as tcp://host:8786, got {address!r}")
    if parts.scheme == "tls":
        return
    try:
        with socket.create_connection((host, port), ANSWER_TIMEOUT) as connection:
            connection.recv(1)  # a scheduler sends first
    except TimeoutError as problem:
        raise InputError(f"dask: the server at {address} is no Dask scheduler") from problem
    except OSError:
        pass  # it may be about to start: the client retries, and reports it then


# The workers of a Dask worker, wherever this module is imported.
_WORKERS_IN_DASK = WorkerPool()
atexit.register(_WORKERS_IN_DASK.stop)


def _function_for_dask() -> Callable[..., TaskOutcome]:
    """The function that Dask workers run. It is sent by value: a reference to a module that they lack kills them."""

    def run_in_dask(task: bytes, timeout: float, retries: int, version: str) -> TaskOutcome:
        import socket

        host = socket.gethostname()
        try:
            from graphreg._version import __version__ as installed
        except ImportError as problem:
            raise RuntimeError(f"on {host}, {problem}") from problem
        if installed != version:
            raise RuntimeError(f"{host} has graphreg {installed}, but the batch runs {version}")
        from graphreg.batches.executors import run_on_dask_worker

        return run_on_dask_worker(task, timeout, retries)

    return run_in_dask


def run_on_dask_worker(task: bytes, timeout: float, retries: int) -> TaskOutcome:
    """Run a pickled task in a worker process of this Dask worker.

    Parameters
    ----------
    task : bytes
    timeout, retries
        As in `WorkerPool.run`.

    Returns
    -------
    TaskOutcome
        A problem names the host.
    """
    host = socket.gethostname()
    try:
        outcome = _WORKERS_IN_DASK.run(pickle.loads(task), timeout, retries)
    except OSError as problem:
        raise RuntimeError(f"on {host}, {problem}") from problem
    return outcome if outcome.problem is None else replace(outcome, problem=f"{outcome.problem}, on {host}")
