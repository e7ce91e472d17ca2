"""Worker processes: each runs one task at a time, so that a task that crashes or hangs affects no other.

A worker is a new Python process, not a fork: scripts that start batches need no `if __name__ == "__main__"`. It exits
when the process that started it ends, also when that is killed.
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

# Seconds that a process may take to import its modules (where many start at once, disks are slow), and to exit.
START_TIMEOUT = 300.0
EXIT_TIMEOUT = 10.0
# A worker that dies before it is ready is started again this often, as no task is the cause.
MAX_STARTS = 5
# A file that is not there, or must not be read, is not there a second later either.
_LASTING_PROBLEMS = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
SINGLE_THREAD_ENVIRONMENT = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "RAYON")}


@dataclass(frozen=True)
class TaskOutcome:
    """The outcome of a task.

    Attributes
    ----------
    value : object
        What the task returned.
    problem : str or None
        Why it failed.
    attempts : int
        How often it was started.
    seconds : float
        Duration of the last attempt.
    """

    value: Any
    problem: str | None
    attempts: int
    seconds: float


class WorkerPool:
    """Worker processes of this process, one for each of its threads that runs tasks."""

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self._all: list[Worker] = []
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, task: Callable[[], Any], timeout: float, retries: int) -> TaskOutcome:
        """Run a task in the worker of this thread; where that dies or takes too long, again in a new one.

        Parameters
        ----------
        task : callable
            Can be pickled.
        timeout : float
            Seconds that an attempt may take.
        retries : int
            How often the task is started again.

        Returns
        -------
        TaskOutcome
        """
        attempts = 0
        while True:
            worker = self._worker_of_thread()
            attempts += 1
            began = time.monotonic()
            value, problem, transient = worker.run(task, timeout)
            seconds = time.monotonic() - began
            if problem is None or not transient or attempts > retries or self._stopped:
                return TaskOutcome(value, problem, attempts, seconds)

    def stop(self) -> None:
        """Kill all workers at once, whatever they do."""
        with self._lock:
            self._stopped = True
            for worker in self._all:
                worker.kill()
            self._all.clear()

    def _worker_of_thread(self) -> Worker:
        """The worker of this thread; a new one where it has none that is alive."""
        worker: Worker | None = getattr(self._of_thread, "worker", None)
        starts, problem = 0, None
        while worker is None or not worker.alive:
            if starts == MAX_STARTS:
                raise ChildProcessError(f"no worker can be started: it {problem}")
            with self._lock:
                if self._stopped:
                    raise ChildProcessError("the workers were stopped")
                self._all = [other for other in self._all if other.alive]
                worker = Worker()
                self._all.append(worker)
            starts += 1
            problem = worker.wait_until_ready()
        self._of_thread.worker = worker
        return worker


class Worker:
    """One worker process, and the connection to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        # With the same path, it finds graphreg and the modules of the tasks where this process found them.
        script = (
            f"import sys; sys.path[:] = {sys.path!r}\n"
            f"from graphreg.batches.workers import serve; serve({theirs.fileno()})"
        )
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", script],
                stdin=subprocess.DEVNULL,
                # What libraries print must not mix with the output of the batch.
                stdout=2,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **SINGLE_THREAD_ENVIRONMENT},
                # Ctrl-C is handled by the process that started it.
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def wait_until_ready(self) -> str | None:
        """Wait until it has imported its modules; where it does not, it is dead, and this returns the problem."""
        try:
            if self._connection.poll(START_TIMEOUT):
                self._connection.recv_bytes()
                return None
        except (EOFError, OSError):
            return self._exit_reason()
        self.kill()
        return f"took longer than {START_TIMEOUT:g} s"

    def run(self, task: Callable[[], Any], timeout: float) -> tuple[Any, str | None, bool]:
        """Run a task once.

        Parameters
        ----------
        task : callable
        timeout : float
            Seconds.

        Returns
        -------
        value : object
        problem : str or None
            Why it failed.
        transient : bool
            Whether another attempt may succeed.
        """
        try:
            self._connection.send_bytes(pickle.dumps(task))
            if self._connection.poll(timeout):
                answer: tuple[Any, str | None, bool] = pickle.loads(self._connection.recv_bytes())
                return answer
        except (EOFError, OSError):
            return None, f"its worker {self._exit_reason()}", True
        self.kill()
        return None, f"took longer than {timeout:g} s", True

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        self._process.kill()
        self._process.wait()

    def _exit_reason(self) -> str:
        try:
            # The connection breaks just before the process exits.
            status = self._process.wait(EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its connection"
        if status >= 0:
            return f"exited with status {status}"
        name = signal.Signals(-status).name
        return f"was killed by {name}" + (", possibly out of memory" if name == "SIGKILL" else "")


def serve(descriptor: int) -> None:
    """The main loop of a worker: run tasks, one at a time, until the process that started it is gone.

    Parameters
    ----------
    descriptor : int
        File descriptor of the socket that tasks come from.
    """
    import graphreg.batches.tasks  # noqa: F401 (imported before the first task, whose time is limited)

    connection = Connection(descriptor)
    received: SimpleQueue[bytes] = SimpleQueue()

    def receive() -> None:
        try:
            while True:
                received.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(1)  # also while a task hangs

    threading.Thread(target=receive, daemon=True).start()
    with suppress(BrokenPipeError):
        connection.send_bytes(b"ready")
        while True:
            connection.send_bytes(pickle.dumps(_run_pickled(received.get())))


def _run_pickled(task: bytes) -> tuple[Any, str | None, bool]:
    """Run a pickled task, see `Worker.run`. Errors of memory and most of files are transient: others use them."""
    try:
        return pickle.loads(task)(), None, False
    except (InputError, MissingExtraError) as problem:
        return None, str(problem), False
    except OSError as problem:
        text = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
        return None, text, not isinstance(problem, _LASTING_PROBLEMS)
    except MemoryError:
        return None, "not enough memory", True
    except Exception as problem:  # of any kind: the worker must survive it
        return None, f"{type(problem).__name__}: {problem}", False
