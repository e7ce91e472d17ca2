"""What is to be done next, and by whom: clouds are prepared once, each before the first pair that needs it; a pair
follows as soon as both of its clouds are ready; what the store has is passed over."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphreg.batches.affinity import File, Routes
from graphreg.batches.cache import content_known, content_of, is_prepared
from graphreg.batches.jobs import Job
from graphreg.batches.store import SET_ASIDE, STATES, Record, ResultStore
from graphreg.batches.tasks import Prepare, Register, Task
from graphreg.registration import register
from graphreg.result import Result

if TYPE_CHECKING:
    from graphreg.batches.workers import Ended

# In the place of the content of a file that cannot be read at all.
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class _Cloud:
    """What is known of a file: the hash of its bytes, and why it cannot be used, where it cannot."""

    content: str
    problem: str | None = None
    attempts: int = 0


class Plan:
    """The state of a batch: what is ready, what waits for what, what is done."""

    def __init__(
        self, jobs: Sequence[Job], store: ResultStore, cache: Path, run: Callable[..., Result], again: bool = False
    ) -> None:
        """again: do also what the store has as set aside."""
        self._store, self._cache, self._run, self._again = store, cache, run, again
        # Of the usual way the name may change.
        self._way = "" if run is register else f"{run.__module__}.{run.__qualname__}"
        self._all = jobs
        self._files = [_files_of(job) for job in jobs]
        self._routes = Routes(self._files)
        # Clouds that jobs wait for, and who came upon them.
        self._to_prepare: dict[Hashable, deque[Prepare]] = {}
        # None: is being prepared, and these jobs wait for it.
        self._clouds: dict[File, _Cloud | None] = {}
        self._waiting: dict[File, list[int]] = {}
        # The keys of the jobs that have come, and the first job of each.
        self._keys: dict[str, int] = {}
        self._states: Counter[str] = Counter()
        self._jobs, self._before, self._prepared = len(jobs), 0, 0

    def next_task(self, worker: Hashable) -> Task | None:
        """Something that this worker can do now; None where all that is left waits for what is being done."""
        task = self._own_task(worker) or self._task_of_others()
        if isinstance(task, Register):
            self._routes.uses(worker, [(path, task.job.points) for path in task.paths])
        elif task is not None:
            self._routes.uses(worker, [(task.path, task.points)])
        return task

    def take(self, task: Task, ended: Ended) -> None:
        """Note how a task ended, and what becomes possible by it."""
        if isinstance(task, Register):
            self._add(task.key, task.job, ended.value, ended.problem, ended.attempts, ended.seconds)
            return
        content, problem = ended.value or (_content_or_none(task.path), ended.problem)
        self._prepared += problem is None
        self._clouds[task.path, task.points] = _Cloud(content, problem, ended.attempts)
        for number in self._waiting.pop((task.path, task.points)):
            self._routes.give_back(number)

    def counts(self) -> tuple[int, int, int, int, int, int]:
        """Jobs; those registered, not registered and set aside by now; those done before; clouds prepared."""
        registered, not_registered, set_aside = (self._states[state] for state in STATES)
        return self._jobs, registered, not_registered, set_aside, self._before, self._prepared

    def offsets(self) -> tuple[int, ...]:
        """Where the records of the jobs begin in the store, in the order of the jobs."""
        return tuple(self._store.offset(key) for key in sorted(self._keys, key=self._keys.__getitem__))

    def _own_task(self, worker: Hashable) -> Task | None:
        """On this worker's way."""
        mine = self._to_prepare.setdefault(worker, deque())
        while not mine:
            if (number := self._routes.next_for(worker)) is None:
                return None
            if (task := self._begun(number, mine)) is not None:
                return task
        return mine.popleft()

    def _task_of_others(self) -> Task | None:
        """What another worker came upon and did not get to yet."""
        return next((waiting.popleft() for waiting in self._to_prepare.values() if waiting), None)

    def _begun(self, number: int, to_prepare: deque[Prepare]) -> Register | None:
        """The task of a job; None where it waits for a cloud from now on, or there is nothing to do for it."""
        files = self._files[number]
        for file in files:
            if file not in self._clouds:
                self._look_at(file, to_prepare)
        clouds = []
        for file in files:
            cloud = self._clouds[file]
            if cloud is None:
                self._waiting[file].append(number)
                return None
            clouds.append(cloud)
        return self._settled(number, clouds)

    def _look_at(self, file: File, to_prepare: deque[Prepare]) -> None:
        path, points = file
        content = content_known(self._cache, path)
        if content is not None and is_prepared(self._cache, content, points):
            self._clouds[file] = _Cloud(content)
            return
        self._clouds[file] = None
        self._waiting[file] = []
        to_prepare.append(Prepare(path, points, self._cache))

    def _settled(self, number: int, clouds: list[_Cloud]) -> Register | None:
        """A job of which all is known: it was done before, cannot be done, or is ready."""
        job, files = self._all[number], self._files[number]
        contents = clouds[0].content, clouds[1].content
        key = job.identity(*contents, self._way)
        if key in self._keys:
            self._keys[key] = min(number, self._keys[key])
            self._jobs -= 1
            return None
        self._keys[key] = number
        state = self._store.state_of(key)
        if state is not None and not (self._again and state == SET_ASIDE):
            self._states[state] += 1
            self._before += 1
            return None
        for cloud in clouds:
            if cloud.problem is not None:
                self._add(key, job, None, cloud.problem, cloud.attempts, 0.0)
                return None
        seed = job.chosen_seed(*contents, self._way)
        return Register(key, job, self._run, (files[0][0], files[1][0]), contents, seed, self._cache)

    def _add(self, key: str, job: Job, result: Any, problem: str | None, attempts: int, seconds: float) -> None:
        record = Record(key, job.id, job.source, job.target, result, problem, attempts, seconds)
        self._store.add(record)
        self._states[record.state] += 1


def _files_of(job: Job) -> tuple[File, File]:
    return (os.path.abspath(job.source), job.points), (os.path.abspath(job.target), job.points)


def _content_or_none(path: str) -> str:
    """Of a file that no worker could prepare."""
    try:
        return content_of(path)
    except OSError:
        return UNREADABLE
