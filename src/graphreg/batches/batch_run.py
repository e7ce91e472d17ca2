"""batch(): thousands of pairs, on this machine or on a cluster; stopped at any moment, it goes on where it was.

Each cloud is read and prepared once; a pair is registered as soon as both of its clouds are ready; its result goes to
the store, which is a file of JSON lines, before anything else is done with it. What is in the store is not done again.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from graphreg.batches.jobs import as_jobs, check_settings
from graphreg.batches.schedule import Plan
from graphreg.batches.store import Record, ResultStore
from graphreg.batches.tasks import Task
from graphreg.errors import FileError, InputError
from graphreg.files.output_file import check_output_path
from graphreg.registration import register
from graphreg.result import Result

if TYPE_CHECKING:
    from graphreg.batches.executors import Crew

# So often, in seconds, workers that come and go are noticed while no task ends.
LOOKED_EVERY = 5.0


@dataclass(frozen=True)
class Batch:
    """What became of a batch. Iterating gives its records, in the order of the jobs.

    out       the file with the results
    jobs      how many there are; jobs that are the same in all count once
    done      how many of these are in the file by now
    registered, not_registered, set_aside  what became of these
    before    how many were there when it began
    clouds    how many were prepared this time
    seconds   that it took this time
    """

    out: Path
    jobs: int
    registered: int
    not_registered: int
    set_aside: int
    before: int
    clouds: int
    seconds: float
    _offsets: tuple[int, ...] = field(default=(), repr=False)

    @property
    def done(self) -> int:
        return self.registered + self.not_registered + self.set_aside

    @property
    def rate(self) -> float:
        """Jobs a second, this time."""
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
    progress: Progress | None = None,
) -> Batch:
    """Register many pairs of files, and keep each result as soon as it is there.

    jobs      a .csv or .jsonl file, or an iterable of `Job`s or mappings with their names: source, target, and
              perhaps id, method, init, seed; any other name is a setting of the method
    out       file for the results, JSON lines. What it holds already is not done again
    workers   processes on this machine, by default one for each core
    dask      in their place the address of a Dask scheduler, such as tcp://host:8786
    cache     folder for prepared clouds, by default `out` with .cache appended; on a cluster one that all can reach
    timeout   seconds that a job may take, or the preparation of a cloud
    retries   how often a job whose worker died or took too long is begun again before it is set aside
    again     try again what was set aside in an earlier run
    run       what is done with each pair: a function that takes what `register` does and can be imported
    progress  called with the state of things, a `Batch`, after each job, and every few seconds

    Results depend on the files' contents and the settings alone, not on who does what when. A job that fails is a
    record that says why; only bad jobs, a bad `out` or a cluster that is not there, is lost or has another graphreg are
    errors. A cluster without workers is waited for, which is logged as a warning.
    """
    # What starts processes: `import graphreg` need not wait for it.
    from graphreg.batches.executors import cluster, pool, usual_count

    began = time.monotonic()
    wanted = as_jobs(jobs)
    if run is register:
        check_settings(wanted)
    _check(workers, timeout, retries, run)
    place = check_output_path(Path(out))
    if place.suffix != ".jsonl":
        raise FileError(place, "expected a name that ends in .jsonl, for results are written to it")
    folder = Path(os.path.abspath(f"{place}.cache" if cache is None else cache))
    count = usual_count() if workers is None else workers
    with closing(ResultStore(place)) as store:
        plan = Plan(wanted, store, folder, run, again)

        def so_far() -> Batch:
            return Batch(place, *plan.counts(), time.monotonic() - began)

        with cluster(dask, timeout, retries) if dask is not None else pool(count, timeout, retries) as crew:
            for _ in _worked_off(plan, crew):
                if progress is not None:
                    progress(so_far())
        return replace(so_far(), _offsets=plan.offsets())


def _worked_off(plan: Plan, crew: Crew) -> Iterator[None]:
    """Keep the crew busy until nothing is left to do; a step whenever a task has ended, or none for some seconds."""
    running: dict[Any, tuple[Task, Hashable]] = {}
    busy: Counter[Hashable] = Counter()
    done: SimpleQueue[Any] = SimpleQueue()

    def begin(task: Task, who: Hashable) -> None:
        future = crew.submit(task, who)
        running[future] = task, who
        busy[who] += 1
        future.add_done_callback(done.put)

    def end(future: Any) -> Task:
        task, who = running.pop(future)
        busy[who] -= 1
        return task

    while True:
        slots = crew.slots()
        for future in crew.stranded(running):
            begin(end(future), None)
        for who in _free(slots, busy):
            task = plan.next_task(who)
            if task is None:
                break
            begin(task, who)
        yield
        if not running:
            return
        try:
            future = done.get(timeout=LOOKED_EVERY)
        except Empty:
            continue
        if future not in running:
            continue
        ended = crew.ended(future)
        if ended is None:
            begin(end(future), None)
        else:
            plan.take(end(future), ended)


def _free(slots: Mapping[Hashable, int], busy: Mapping[Hashable, int]) -> Iterator[Hashable]:
    """Who can have a task more; those first that have the fewest."""
    for level in range(max(slots.values())):
        yield from (who for who, most in slots.items() if busy[who] <= level < most)


def _check(workers: Any, timeout: Any, retries: Any, run: Any) -> None:
    if os.name != "posix":
        raise InputError("batch: its workers need Linux or macOS; on Windows it runs within WSL")
    if workers is not None and not (isinstance(workers, int) and workers > 0):
        raise InputError(f"workers: expected a positive whole number, got {workers!r}")
    if not (isinstance(timeout, (int, float)) and 0 < timeout < math.inf):
        raise InputError(f"timeout: expected a positive number of seconds, got {timeout!r}")
    if not (isinstance(retries, int) and retries >= 0):
        raise InputError(f"retries: expected a whole number from 0 on, got {retries!r}")
    name = getattr(run, "__qualname__", "<")
    if not callable(run) or "<" in name or run.__module__ == "__main__":
        raise InputError(f"run: expected a function of a module that other processes can import, got {run!r}")
