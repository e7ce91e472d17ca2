"""The schedule of a batch: each cloud is preprocessed once, before the first pair that needs it; a pair is registered
as soon as both of its clouds are ready; jobs that the store has are skipped."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphreg.batches.affinity import CloudKey, JobQueue
from graphreg.batches.cache import file_hash, is_cached, known_hash
from graphreg.batches.jobs import Job
from graphreg.batches.store import SET_ASIDE, STATES, Record, ResultStore
from graphreg.batches.tasks import PreprocessTask, RegisterTask, Task
from graphreg.registration import register
from graphreg.result import Result

if TYPE_CHECKING:
    from graphreg.batches.workers import TaskOutcome

# Stands, with the name of the file, for the hash of one that cannot be read at all.
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class _CloudStatus:
    """The hash of a file whose preprocessing is done, None of an unreadable one; and why it cannot be used."""

    content: str | None
    problem: str | None = None
    attempts: int = 0


class Schedule:
    """The state of a batch: which tasks are ready, which wait for a cloud, and which jobs are done.

    Parameters
    ----------
    jobs : sequence of Job
    store : ResultStore
    cache : Path
    run : callable
        The function that registers a pair.
    again : bool, default False
        Whether to do jobs again that the store has as set aside.
    """

    def __init__(
        self, jobs: Sequence[Job], store: ResultStore, cache: Path, run: Callable[..., Result], again: bool = False
    ) -> None:
        self._store, self._cache, self._run, self._again = store, cache, run, again
        # The name of `register` itself is no part of the identity of a job, so that it may change.
        self._run_name = "" if run is register else f"{run.__module__}.{run.__qualname__}"
        self._jobs = jobs
        self._clouds_of = [_clouds_of(job) for job in jobs]
        self._queue = JobQueue(self._clouds_of)
        # Clouds that jobs wait for, by the worker that found them missing.
        self._to_preprocess: dict[Hashable, deque[PreprocessTask]] = {}
        # None: is being preprocessed, and the jobs of `_waiting` wait for it.
        self._status: dict[CloudKey, _CloudStatus | None] = {}
        self._waiting: dict[CloudKey, list[int]] = {}
        # The identities of the jobs that were looked at, and the first job of each.
        self._first_job: dict[str, int] = {}
        self._states: Counter[str] = Counter()
        self._distinct_jobs, self._done_before, self._preprocessed = len(jobs), 0, 0

    def next_task(self, worker: Hashable) -> Task | None:
        """A task for a worker; None where everything that is left waits for tasks that are running."""
        task = self._own_task(worker) or self._task_of_others()
        if isinstance(task, RegisterTask):
            self._queue.record_use(worker, [(path, task.job.points) for path in task.paths])
        elif task is not None:
            self._queue.record_use(worker, [(task.path, task.points)])
        return task

    def complete(self, task: Task, outcome: TaskOutcome) -> None:
        """Record the outcome of a task, and queue the jobs that waited for it."""
        if isinstance(task, RegisterTask):
            self._add_record(task.key, task.job, outcome.value, outcome.problem, outcome.attempts, outcome.seconds)
            return
        content, problem = outcome.value or (_hash_or_none(task.path), outcome.problem)
        self._preprocessed += problem is None
        self._status[task.path, task.points] = _CloudStatus(content, problem, outcome.attempts)
        for number in self._waiting.pop((task.path, task.points)):
            self._queue.requeue(number)

    def counts(self) -> tuple[int, int, int, int, int, int]:
        """Jobs; registered, not registered and set aside; done before; clouds preprocessed."""
        registered, not_registered, set_aside = (self._states[state] for state in STATES)
        return self._distinct_jobs, registered, not_registered, set_aside, self._done_before, self._preprocessed

    def offsets(self) -> tuple[int, ...]:
        """Byte offsets of the records in the store, in the order of the jobs."""
        return tuple(self._store.offset(key) for key in sorted(self._first_job, key=self._first_job.__getitem__))

    def _own_task(self, worker: Hashable) -> Task | None:
        """A task of the jobs that the queue has for this worker."""
        missing = self._to_preprocess.setdefault(worker, deque())
        while not missing:
            if (number := self._queue.next_job(worker)) is None:
                return None
            if (task := self._start(number, missing)) is not None:
                return task
        return missing.popleft()

    def _task_of_others(self) -> Task | None:
        """A cloud that another worker found missing and has not preprocessed yet."""
        return next((missing.popleft() for missing in self._to_preprocess.values() if missing), None)

    def _start(self, number: int, missing: deque[PreprocessTask]) -> RegisterTask | None:
        """The task of a job; None where it waits for a cloud from now on, or there is nothing to do."""
        clouds = self._clouds_of[number]
        for cloud in clouds:
            if cloud not in self._status:
                self._look_up(cloud, missing)
        statuses = []
        for cloud in clouds:
            status = self._status[cloud]
            if status is None:
                self._waiting[cloud].append(number)
                return None
            statuses.append(status)
        return self._task_of_ready_job(number, statuses)

    def _look_up(self, cloud: CloudKey, missing: deque[PreprocessTask]) -> None:
        path, points = cloud
        content = known_hash(self._cache, path)
        if content is not None and is_cached(self._cache, content, points):
            self._status[cloud] = _CloudStatus(content)
            return
        self._status[cloud] = None
        self._waiting[cloud] = []
        missing.append(PreprocessTask(path, points, self._cache))

    def _task_of_ready_job(self, number: int, statuses: list[_CloudStatus]) -> RegisterTask | None:
        """The task of a job whose clouds are known; None where it is done already, a duplicate, or cannot be done."""
        job, clouds = self._jobs[number], self._clouds_of[number]
        # Files that cannot be read differ by their names.
        contents = (
            statuses[0].content or f"{UNREADABLE}: {job.source}",
            statuses[1].content or f"{UNREADABLE}: {job.target}",
        )
        key = job.identity(*contents, self._run_name)
        if key in self._first_job:
            self._first_job[key] = min(number, self._first_job[key])
            self._distinct_jobs -= 1
            return None
        self._first_job[key] = number
        state = self._store.state_of(key)
        if state is not None and not (self._again and state == SET_ASIDE):
            self._states[state] += 1
            self._done_before += 1
            return None
        for status in statuses:
            if status.problem is not None:
                self._add_record(key, job, None, status.problem, status.attempts, 0.0)
                return None
        seed = job.seed_for(*contents, self._run_name)
        return RegisterTask(key, job, self._run, (clouds[0][0], clouds[1][0]), contents, seed, self._cache)

    def _add_record(self, key: str, job: Job, result: Any, problem: str | None, attempts: int, seconds: float) -> None:
        record = Record(key, job.id, job.source, job.target, result, problem, attempts, seconds)
        self._store.add(record)
        self._states[record.state] += 1


def _clouds_of(job: Job) -> tuple[CloudKey, CloudKey]:
    return (os.path.abspath(job.source), job.points), (os.path.abspath(job.target), job.points)


def _hash_or_none(path: str) -> str | None:
    """The hash of a file that no worker could preprocess; None where it cannot be read at all."""
    try:
        return file_hash(path)
    except OSError:
        return None
