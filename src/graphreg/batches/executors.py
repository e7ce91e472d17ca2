"""Who does the tasks: workers on this machine, or on a Dask cluster. Both take tasks and give futures."""

from __future__ import annotations

import atexit
import logging
import os
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
from graphreg.batches.workers import Ended, Workers
from graphreg.errors import InputError, MissingExtraError

# Tasks that a cluster has at hand for each of its threads, so that none waits for us; and how often, in seconds, it is
# asked how many threads it has by now.
AHEAD = 3
ASKED_EVERY = 5.0
LONGEST_ANSWER = 30.0
GOES_ON = "started again, the same batch goes on where it was"
_log = logging.getLogger("graphreg")


@dataclass(frozen=True)
class Crew:
    """Some workers.

    slots   of each of them how many tasks it can have at a time
    submit  takes a task and who should do it, None being anyone, and gives a future
    stranded  of futures, with their tasks and who has them, those that nobody will do any more
    ended   how the task of a future that is done ended; None where that is lost, and it is to be done again
    """

    slots: Callable[[], Mapping[Hashable, int]]
    submit: Callable[[Callable[[], Any], Hashable], Any]
    stranded: Callable[[Mapping[Any, tuple[Any, Hashable]]], Sequence[Any]]
    ended: Callable[[Any], Ended | None]


@contextmanager
def pool(count: int, timeout: float, retries: int) -> Iterator[Crew]:
    """Workers on this machine. Whatever happens, none is left when the block is left."""
    workers = Workers()
    threads: dict[Hashable, ThreadPoolExecutor] = {number: ThreadPoolExecutor(1) for number in range(count)}
    slots = dict.fromkeys(threads, 1)
    try:
        yield Crew(
            lambda: slots,
            lambda task, who: threads[who].submit(workers.do, task, timeout, retries),
            lambda running: (),
            lambda future: cast(Ended, future.result()),
        )
    finally:
        workers.stop()
        for thread in threads.values():
            thread.shutdown(cancel_futures=True)


@contextmanager
def cluster(address: str, timeout: float, retries: int) -> Iterator[Crew]:
    """Workers on a Dask cluster: each of its threads has a process of ours, so that a task takes no Dask worker along
    when it dies. These processes stay with Dask's, ready for the next batch."""
    try:
        import asyncio

        from distributed import CancelledError, Client, KilledWorker
    except ImportError as problem:
        raise MissingExtraError("a Dask cluster", "dask") from problem
    _check_address(address)
    try:
        client = Client(address, timeout=LONGEST_ANSWER, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise InputError(f"dask: no scheduler answers at {address}: {problem}") from problem
    slow = TimeoutError, asyncio.TimeoutError
    lost = CancelledError, OSError, *slow
    in_dask, left = _shipped(), frozenset[Hashable]()
    asked, known = -ASKED_EVERY, cast(Mapping[Hashable, int], {None: AHEAD})

    def is_lost() -> ConnectionError:
        # Of a scheduler that is gone Dask would tell pages, and a sentence is enough.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        return ConnectionError(f"the cluster at {address} is lost; {GOES_ON}")

    def slots() -> Mapping[Hashable, int]:
        nonlocal asked, known, left
        if time.monotonic() - asked >= ASKED_EVERY:
            first, asked = asked < 0, time.monotonic()
            try:
                threads = client.sync(client.scheduler.ncores, callback_timeout=LONGEST_ANSWER)
            except lost as problem:
                raise is_lost() from problem
            if not threads and (first or None not in known):
                _log.warning("graphreg: no workers at %s; waiting for some", address)
            elif threads and None in known and not first:
                _log.warning("graphreg: %d worker%s at %s", len(threads), "s" * (len(threads) > 1), address)
            left |= known.keys() - threads.keys() - {None}
            # A cluster that starts workers for its tasks must have some before it has workers.
            known = {worker: AHEAD * count for worker, count in threads.items()} or {None: AHEAD}
        return known

    def submit(task: Callable[[], Any], who: Hashable) -> Any:
        # The scheduler gives it to another where this one is gone, or busy while others are idle.
        where = {} if who is None else {"workers": [who], "allow_other_workers": True}
        return client.submit(in_dask, pickle.dumps(task), timeout, retries, __version__, pure=False, **where)

    def stranded(running: Mapping[Any, tuple[Any, Hashable]]) -> Sequence[Any]:
        nonlocal left
        # Where the last worker went, Dask keeps what was meant for it until that one comes back, which it never does.
        found = [future for future, (_, who) in running.items() if who in left and not future.done()]
        left = frozenset()
        for future in found:
            future.cancel()
        return found

    def ended(future: Any) -> Ended | None:
        try:
            return cast(Ended, future.result(timeout=ASKED_EVERY))
        except slow:  # it went down with its worker
            future.cancel()
            return None
        except KilledWorker as problem:
            died = problem.allowed_failures + 1
            return Ended(None, f"{died} Dask workers died while they did it", died, 0.0)
        except lost as problem:
            raise is_lost() from problem
        except Exception as problem:  # of what we run there: it catches all that tasks do
            raise ConnectionError(f"a worker of {address} cannot be used: {problem}; {GOES_ON}") from problem

    with client:
        yield Crew(slots, submit, stranded, ended)


def _check_address(address: str) -> None:
    """Refuse what would keep a client waiting without end: no address at all, and servers of another kind."""
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
        with socket.create_connection((host, port), LONGEST_ANSWER) as line:
            line.recv(1)  # a scheduler speaks first
    except TimeoutError as problem:
        raise InputError(f"dask: what is at {address} does not speak as a Dask scheduler does") from problem
    except OSError:
        pass  # it may be about to start: the client tries for a while, and then says so


def usual_count() -> int:
    """As many workers as there are cores for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Those of a Dask worker, wherever this module is imported.
_HERE = Workers()
atexit.register(_HERE.stop)


def _shipped() -> Callable[..., Ended]:
    """What a Dask worker does. It is sent with its code, not by its name: what a worker lacks kills it otherwise."""

    def in_dask(task: bytes, timeout: float, retries: int, version: str) -> Ended:
        import socket

        here = socket.gethostname()
        try:
            from graphreg._version import __version__ as there
        except ImportError as problem:
            raise RuntimeError(f"on {here}, {problem}") from problem
        if there != version:
            raise RuntimeError(f"{here} has graphreg {there}, and the batch was begun with {version}")
        from graphreg.batches.executors import done_here

        return done_here(task, timeout, retries)

    return in_dask


def done_here(task: bytes, timeout: float, retries: int) -> Ended:
    """Do a task by a process of this one, which is a Dask worker."""
    here = socket.gethostname()
    try:
        ended = _HERE.do(pickle.loads(task), timeout, retries)
    except OSError as problem:
        raise RuntimeError(f"on {here}, {problem}") from problem
    return ended if ended.problem is None else replace(ended, problem=f"{ended.problem}, on {here}")
