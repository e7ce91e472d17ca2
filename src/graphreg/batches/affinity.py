"""Affinity of jobs and workers: a worker continues with clouds that it has loaded, so that few workers load a cloud.

Jobs are the edges of a graph whose nodes are clouds, and each worker walks along them. It keeps the clouds that it used
last, and continues with the one of these that has the fewest open jobs, as that one will soon be done. Where none of
its clouds has an open job, it starts again far from where others started. No worker waits for the sake of affinity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

# Chosen: preprocessed clouds that a worker keeps in memory, ten megabytes each.
CLOUDS_IN_MEMORY = 8
CloudKey = tuple[str, int]
"""A cloud: its file, and the number of points that are sampled from it."""


class JobQueue:
    """The open jobs of a batch, by their number, and the clouds that each worker has loaded.

    Parameters
    ----------
    pairs : sequence of (CloudKey, CloudKey)
        The clouds of each job.
    """

    def __init__(self, pairs: Sequence[tuple[CloudKey, CloudKey]]) -> None:
        self._pairs = pairs
        self._open: set[int] = set()
        # The number of open jobs of a cloud; and lists of these, the next one last. A job that is no longer open is
        # removed from a list when it is the last one there.
        self._open_count: defaultdict[CloudKey, int] = defaultdict(int)
        self._jobs_of_cloud: defaultdict[CloudKey, list[int]] = defaultdict(list)
        self._jobs_of_pair: defaultdict[tuple[CloudKey, ...], list[int]] = defaultdict(list)
        self._loaded: dict[Hashable, dict[CloudKey, None]] = {}
        self._starts = _bisection_order(len(pairs))
        self._requeued: list[int] = []
        for number in reversed(range(len(pairs))):
            self._add(number)

    def next_job(self, worker: Hashable) -> int | None:
        """Take the job that a worker should do next off the queue; None where the queue is empty."""
        loaded = [cloud for cloud in reversed(self._loaded.get(worker, {})) if self._open_count[cloud]]
        number = self._nearest_job(loaded) if loaded else self._distant_job()
        if number is not None:
            self._open.remove(number)
            for cloud in self._pairs[number]:
                self._open_count[cloud] -= 1
        return number

    def record_use(self, worker: Hashable, clouds: Iterable[CloudKey]) -> None:
        """Record that a worker loads these clouds."""
        loaded = self._loaded.setdefault(worker, {})
        for cloud in clouds:
            loaded.pop(cloud, None)
            loaded[cloud] = None
        for oldest in list(loaded)[:-CLOUDS_IN_MEMORY]:
            del loaded[oldest]

    def requeue(self, number: int) -> None:
        """Put a job back that could not be started yet."""
        self._requeued.append(number)
        self._add(number)

    def _add(self, number: int) -> None:
        pair = self._pairs[number]
        self._open.add(number)
        self._jobs_of_pair[_sorted(*pair)].append(number)
        for cloud in pair:
            self._open_count[cloud] += 1
            self._jobs_of_cloud[cloud].append(number)

    def _nearest_job(self, loaded: list[CloudKey]) -> int | None:
        """A job of two clouds that are loaded; else one of the cloud with the fewest open jobs."""
        for i, cloud in enumerate(loaded):
            for other in loaded[i:]:
                number = self._last_open(self._jobs_of_pair.get(_sorted(cloud, other), []))
                if number is not None:
                    return number
        return self._last_open(self._jobs_of_cloud[min(loaded, key=self._open_count.__getitem__)])

    def _distant_job(self) -> int | None:
        """A job far from where others started; once all were tried, one that was requeued."""
        for number in self._starts:
            if number in self._open:
                return number
        return self._last_open(self._requeued)

    def _last_open(self, jobs: list[int]) -> int | None:
        while jobs and jobs[-1] not in self._open:
            jobs.pop()
        return jobs[-1] if jobs else None


def _sorted(a: CloudKey, b: CloudKey) -> tuple[CloudKey, CloudKey]:
    return (a, b) if a <= b else (b, a)


def _bisection_order(count: int) -> Iterator[int]:
    """All numbers below `count`: first 0, then the one that halves the range, then those that halve the halves, ..."""
    step = 1
    while step < count:
        step *= 2
    yield from range(min(count, 1))
    while step > 1:
        yield from range(step // 2, count, step)
        step //= 2
