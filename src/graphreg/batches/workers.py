"""A worker: a process of its own that does one task at a time, so that a task that dies or hangs takes nothing along.

It is a new Python that imports what it needs, not a copy of this one: scripts that start batches need no
`if __name__ == "__main__"`. It ends when whoever started it ends, however that comes.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from graphreg.errors import InputError, MissingExtraError

# Seconds that a process may take to import what it needs (where many start at once, disks are slow), and to end.
LONGEST_START = 300.0
LONGEST_END = 10.0
# A worker that dies before it is ready is no task's fault.
MOST_STARTS = 5
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "RAYON")}


@dataclass(frozen=True)
class Ended:
    """How a task ended.

    value     what it gave
    problem   or why it was set aside
    attempts  how often it was begun
    seconds   of the last attempt
    """

    value: Any
    problem: str | None
    attempts: int
    seconds: float


class Workers:
    """Workers of this process, one for each of its threads that asks for one."""

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self._all: list[Worker] = []
        self._lock = threading.Lock()
        self._stopped = False

    def do(self, task: Callable[[], Any], timeout: float, retries: int) -> Ended:
        """Do a task; where it dies or takes too long, again, in a new process.

        timeout  seconds that an attempt may take
        retries  how often it is tried again before it is set aside
        """
        attempts = 0
        while True:
            worker = self._mine()
            attempts += 1
            began = time.monotonic()
            value, problem, passing = worker.do(task, timeout)
            seconds = time.monotonic() - began
            if problem is None or not passing or attempts > retries or self._stopped:
                return Ended(value, problem, attempts, seconds)

    def stop(self) -> None:
        """End all of them at once, whatever they do."""
        with self._lock:
            self._stopped = True
            for worker in self._all:
                worker.kill()
            self._all.clear()

    def _mine(self) -> Worker:
        """The worker of this thread; where it has none that lives, a new one."""
        worker: Worker | None = getattr(self._of_thread, "worker", None)
        starts, how = 0, ""
        while worker is None or not worker.alive:
            if starts == MOST_STARTS:
                raise ChildProcessError(f"no worker can be started: it {how}")
            with self._lock:
                if self._stopped:
                    raise ChildProcessError("the workers were stopped")
                self._all = [other for other in self._all if other.alive]
                worker = Worker()
                self._all.append(worker)
            starts += 1
            how = worker.wait_until_ready()
        self._of_thread.worker = worker
        return worker


class Worker:
    """One process, and the line to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        # Where graphreg and what is to be run were found, they are found again.
        script = (
            f"import sys; sys.path[:] = {sys.path!r}\n"
            f"from graphreg.batches.workers import serve; serve({theirs.fileno()})"
        )
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", script],
                stdin=subprocess.DEVNULL,
                # What libraries print is no part of the results.
                stdout=2,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **ONE_THREAD},
                # Ctrl-C is for the one who started it.
                start_new_session=True,
            )
        self._line = Connection(ours.detach())

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self) -> str:
        """Wait until it has imported what it needs; where it does not get there, it is gone, and this says why."""
        try:
            if self._line.poll(LONGEST_START):
                self._line.recv_bytes()
                return "is ready"
        except (EOFError, OSError):
            return self._how_it_ended()
        self.kill()
        return f"took longer than {LONGEST_START:g} s"

    def do(self, task: Callable[[], Any], timeout: float) -> tuple[Any, str | None, bool]:
        """What the task gave; or what went wrong, and whether that may pass."""
        try:
            self._line.send_bytes(pickle.dumps(task))
            if self._line.poll(timeout):
                answer: tuple[Any, str | None, bool] = pickle.loads(self._line.recv_bytes())
                return answer
        except (EOFError, OSError):
            return None, f"its worker {self._how_it_ended()}", True
        self.kill()
        return None, f"took longer than {timeout:g} s", True

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _how_it_ended(self) -> str:
        try:
            # The line breaks just before the process is gone.
            status = self._process.wait(LONGEST_END)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its line"
        if status >= 0:
            return f"left with status {status}"
        name = signal.Signals(-status).name
        return f"was killed by {name}" + (", maybe for want of memory" if name == "SIGKILL" else "")


def serve(line: int) -> None:
    """The life of a worker: do what comes, one at a time, until whoever started it is gone.

    line  the open socket that tasks come from
    """
    import graphreg.batches.tasks  # noqa: F401 (so that the first task need not wait for it)

    ends = Connection(line)
    waiting: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                waiting.put(ends.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)  # also out of a task that hangs

    threading.Thread(target=listen, daemon=True).start()
    with suppress(BrokenPipeError):
        ends.send_bytes(b"ready")
        while True:
            ends.send_bytes(pickle.dumps(_answer(waiting.get())))


def _answer(message: bytes) -> tuple[Any, str | None, bool]:
    """Want of memory may pass, and so may trouble with files, which others hold or a network brings."""
    try:
        return pickle.loads(message)(), None, False
    except (InputError, MissingExtraError) as problem:
        return None, str(problem), False
    except OSError as problem:
        return None, f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem), True
    except MemoryError:
        return None, "not enough memory", True
    except Exception as problem:  # whatever it is, the next task may do better
        return None, f"{type(problem).__name__}: {problem}", False
