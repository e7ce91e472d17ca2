"""Which job a worker does next: one whose clouds it has at hand, so that few workers load and describe a cloud.

Jobs are the edges of a graph of clouds, and each worker walks along them. It keeps the last few clouds it used, and
goes on with the one of these that has the fewest neighbours left, for that one will soon be done with. Where it finds
no way on, it starts anew, far from where others started. It is never kept waiting for the sake of a walk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

# Clouds that a worker keeps in memory, ten megabytes each.
KEPT_CLOUDS = 8
# A file, and how many of its points are looked at.
File = tuple[str, int]


class Routes:
    """Jobs that nobody has begun, by their number, and the clouds that each worker has at hand."""

    def __init__(self, pairs: Sequence[tuple[File, File]]) -> None:
        """pairs: the clouds of each job"""
        self._pairs = pairs
        self._open: set[int] = set()
        # How many open jobs a cloud has, and lists of these, the next one last. What is no longer open is dropped from
        # a list when it comes to the end.
        self._left: defaultdict[File, int] = defaultdict(int)
        self._of_cloud: defaultdict[File, list[int]] = defaultdict(list)
        self._of_pair: defaultdict[tuple[File, ...], list[int]] = defaultdict(list)
        self._at_hand: dict[Hashable, dict[File, None]] = {}
        self._starts = _far_apart(len(pairs))
        self._returned: list[int] = []
        for number in reversed(range(len(pairs))):
            self._put(number)

    def next_for(self, worker: Hashable) -> int | None:
        """The job that it should do next, which is then no longer open; None where none is."""
        at_hand = [file for file in reversed(self._at_hand.get(worker, {})) if self._left[file]]
        number = self._near(at_hand) if at_hand else self._start()
        if number is not None:
            self._open.remove(number)
            for file in self._pairs[number]:
                self._left[file] -= 1
        return number

    def uses(self, worker: Hashable, files: Iterable[File]) -> None:
        """A worker was given something to do with these."""
        at_hand = self._at_hand.setdefault(worker, {})
        for file in files:
            at_hand.pop(file, None)
            at_hand[file] = None
        for oldest in list(at_hand)[:-KEPT_CLOUDS]:
            del at_hand[oldest]

    def give_back(self, number: int) -> None:
        """A job that could not be begun yet."""
        self._returned.append(number)
        self._put(number)

    def _put(self, number: int) -> None:
        files = self._pairs[number]
        self._open.add(number)
        self._of_pair[_sorted(*files)].append(number)
        for file in files:
            self._left[file] += 1
            self._of_cloud[file].append(number)

    def _near(self, at_hand: list[File]) -> int | None:
        """A job whose clouds both are at hand; else one of the cloud that has the fewest jobs left."""
        for place, file in enumerate(at_hand):
            for other in at_hand[place:]:
                number = self._last(self._of_pair.get(_sorted(file, other), []))
                if number is not None:
                    return number
        return self._last(self._of_cloud[min(at_hand, key=self._left.__getitem__)])

    def _start(self) -> int | None:
        """A job far from where others started; once all places were tried, one that was given back."""
        for number in self._starts:
            if number in self._open:
                return number
        return self._last(self._returned)

    def _last(self, jobs: list[int]) -> int | None:
        """The last of these that is open."""
        while jobs and jobs[-1] not in self._open:
            jobs.pop()
        return jobs[-1] if jobs else None


def _sorted(a: File, b: File) -> tuple[File, File]:
    return (a, b) if a <= b else (b, a)


def _far_apart(count: int) -> Iterator[int]:
    """All numbers below this, first those that halve the whole, then those that halve the halves, and so on."""
    step = 1
    while step < count:
        step *= 2
    yield from range(min(count, 1))
    while step > 1:
        yield from range(step // 2, count, step)
        step //= 2
