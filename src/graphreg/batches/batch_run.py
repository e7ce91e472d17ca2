"""batch(): thousands of registrations, on this machine or on a cluster; interrupted at any moment, it can be resumed.

Each cloud is read and preprocessed once. A pair is registered as soon as both of its clouds are ready. Its result is
appended to the store, a file of JSON lines, before anything else is done with it. Jobs that the store has are skipped.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from graphreg.argument_checks import check_flag, check_integer, check_positive, shown
from graphreg.batches.jobs import as_jobs, check_settings
from graphreg.batches.schedule import Schedule
from graphreg.batches.store import Record, ResultStore
from graphreg.batches.tasks import Task
from graphreg.errors import FileError, InputError
from graphreg.feedback.notebooks import notebook_html
from graphreg.feedback.progress_bars import check_progress, progress_bar
from graphreg.feedback.summaries import labelled
from graphreg.files.input_file import as_path
from graphreg.files.output_file import check_output_path
from graphreg.registration import register
from graphreg.result import Result
from graphreg.threads import MAX_THREADS, thread_count

if TYPE_CHECKING:
    from graphreg.batches.executors import Executor

# Seconds after which workers that came or left are noticed while no task completes.
POLL_INTERVAL = 5.0


@dataclass(frozen=True, repr=False)
class Batch:
    """Summary of a batch. Iterating gives its records, in the order of the jobs.

    Attributes
    ----------
    out : Path
        The file with the results.
    jobs : int
        Number of jobs; duplicates count once.
    registered, not_registered, set_aside : int
        Number of jobs of each outcome.
    before : int
        Number of jobs that were done before this run.
    clouds : int
        Number of clouds that this run preprocessed.
    seconds : float
        Duration of this run.
    """

    out: Path
    jobs: int
    registered: int
    not_registered: int
    set_aside: int
    before: int
    clouds: int
    seconds: float
    _offsets: tuple[int, ...] = ()

    def __repr__(self) -> str:
        entries = {
            "others": f"{self.not_registered:,} not registered, {self.set_aside:,} failed",
            "open": f"{self.jobs - self.done:,}" if self.done < self.jobs else "",
            "earlier": f"{self.before:,} were done before this run" if self.before else "",
            "time": f"{self.seconds:.1f} s, {self.rate:.3g} pairs a second",
            "results": str(self.out),
        }
        return labelled(f"registered: {self.registered:,} of {self.jobs:,} pairs", entries)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    @property
    def done(self) -> int:
        """Number of jobs that have a record."""
        return self.registered + self.not_registered + self.set_aside

    @property
    def rate(self) -> float:
        """Jobs per second of this run."""
        return (self.done - self.before) / max(self.seconds, 1e-9)

    def __iter__(self) -> Iterator[Record]:
        with self.out.open("rb") as file:
            for offset in self._offsets:
                file.seek(offset)
                yield Record(**json.loads(file.readline()))


Progress = Callable[[Batch], Any]


def batch(
    jobs: Any,
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    dask: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    timeout: float = 900.0,
    retries: int = 2,
    again: bool = False,
    run: Callable[..., Result] = register,
    progress: bool | Progress | None = None,
) -> Batch:
    """Register many pairs of files, and store each result as soon as it is there.

    Results depend on the contents of the files and on the settings alone, not on which worker does what when. A job
    that fails has a record with the reason. A cluster without workers is waited for, which is logged as a warning.

    Parameters
    ----------
    jobs : str, path-like, or iterable of Job or mapping
        A .csv or .jsonl file, or jobs as mappings with the keys source, target, and optionally id, method, init, seed;
        any other key is a setting of the method.
    out : str or path-like
        File for the results, JSON lines (.jsonl). Jobs that it has are not done again.
    workers : int, optional
        Number of processes on this machine, by default one for each core.
    dask : str, optional
        Address of a Dask scheduler, such as tcp://host:8786, to use instead of processes on this machine.
    cache : str or path-like, optional
        Folder for preprocessed clouds, by default `out` with .cache appended; on a cluster one that all machines reach.
    timeout : float, default 900
        Seconds that a job, or the preprocessing of a cloud, may take.
    retries : int, default 2
        How often a job whose worker died or took too long is started again before it is set aside.
    again : bool, default False
        Whether to do jobs again that an earlier run set aside.
    run : callable, default `register`
        The function that registers a pair: takes the arguments of `register`, and workers can import it.
    progress : bool, callable or bar of tqdm, optional
        True shows a bar. A function is called with a `Batch` after each job, and every few seconds.

    Returns
    -------
    Batch

    Raises
    ------
    InputError
        Where the jobs, `out` or another argument is not valid, or no scheduler answers.
    ConnectionError
        Where the cluster is lost or has another version of graphreg.

    Examples
    --------
    >>> import tempfile
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("dragon", 20, points=1000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = graphreg.write(f"{folder}/a.ply", pair.source), graphreg.write(f"{folder}/b.ply", pair.target)
    ...     jobs = [{"source": f"{folder}/a.ply", "target": f"{folder}/b.ply"}]
    ...     found = graphreg.batch(jobs, f"{folder}/results.jsonl", workers=1)
    ...     [(record.state, record.attempts) for record in found]
    [('registered', 1)]
    >>> found.jobs, found.clouds, found.set_aside
    (1, 2, 0)
    """
    # Imported here, as `import graphreg` must stay fast.
    from graphreg.batches.executors import dask_cluster, process_pool

    began = time.monotonic()
    checked = as_jobs(jobs)
    if run is register:
        check_settings(checked)
    _check_arguments(workers, timeout, retries, run)
    check_flag("again", again)
    check_progress(progress)
    if not isinstance(dask, (str, type(None))):
        raise InputError(f"dask: expected the address of a scheduler, got {shown(dask)}")
    path = check_output_path(as_path(out, "out"))
    if path.suffix != ".jsonl":
        raise FileError(path, "expected a name that ends in .jsonl for the results")
    folder = Path(os.path.abspath(as_path(f"{path}.cache" if cache is None else cache, "cache")))
    count = thread_count(None) if workers is None else min(workers, MAX_THREADS)
    with closing(ResultStore(path)) as store:
        schedule = Schedule(checked, store, folder, run, again)

        def summary() -> Batch:
            return Batch(path, *schedule.counts(), time.monotonic() - began)

        pool = process_pool(count, timeout, retries) if dask is None else dask_cluster(dask, timeout, retries)
        bar = progress_bar(None if callable(progress) else progress, "registering pairs")
        with pool as executor, bar as show:
            for _ in _run_tasks(schedule, executor):
                if callable(progress):
                    progress(summary())
                elif show is not None:
                    show(summary().done, len(checked))
        return replace(summary(), _offsets=schedule.offsets())


def _run_tasks(schedule: Schedule, executor: Executor) -> Iterator[None]:
    """Run all tasks of a schedule; yields whenever a task was completed, and every few seconds."""
    running: dict[Any, tuple[Task, Hashable]] = {}
    load: Counter[Hashable] = Counter()
    completed: SimpleQueue[Any] = SimpleQueue()

    def start(task: Task, worker: Hashable) -> None:
        future = executor.submit(task, worker)
        running[future] = task, worker
        load[worker] += 1
        future.add_done_callback(completed.put)

    def remove(future: Any) -> Task:
        task, worker = running.pop(future)
        load[worker] -= 1
        return task

    while True:
        capacities = executor.capacities()
        for future in executor.cancel_lost(running):
            start(remove(future), None)
        for worker in _free_workers(capacities, load):
            task = schedule.next_task(worker)
            if task is None:
                break
            start(task, worker)
        yield
        if not running:
            return
        try:
            future = completed.get(timeout=POLL_INTERVAL)
        except Empty:
            continue
        if future not in running:
            continue
        outcome = executor.outcome(future)
        if outcome is None:
            start(remove(future), None)
        else:
            schedule.complete(remove(future), outcome)


def _free_workers(capacities: Mapping[Hashable, int], load: Mapping[Hashable, int]) -> Iterator[Hashable]:
    """Workers that can have another task, those with the fewest first."""
    for level in range(max(capacities.values())):
        yield from (worker for worker, capacity in capacities.items() if load[worker] <= level < capacity)


def _check_arguments(workers: Any, timeout: Any, retries: Any, run: Any) -> None:
    if os.name != "posix":
        raise InputError("batch: its workers need Linux or macOS; on Windows it runs within WSL")
    if workers is not None:
        check_integer("workers", workers, 1)
    check_positive("timeout", timeout, "a positive number of seconds")
    check_integer("retries", retries)
    name = getattr(run, "__qualname__", "<")
    if not callable(run) or "<" in name or run.__module__ == "__main__":
        raise InputError(f"run: expected a function of a module that other processes can import, got {shown(run)}")
