"""The job queue: every job once, no worker waits, and few workers load a cloud."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from graphreg.batches.affinity import CLOUDS_IN_MEMORY, CloudKey, JobQueue

Pairs = list[tuple[CloudKey, CloudKey]]


def chain(count: int, neighbours: int = 1) -> Pairs:
    clouds = [(f"{number}", 1) for number in range(count)]
    return [(a, b) for i, a in enumerate(clouds) for b in clouds[i + 1 : i + 1 + neighbours]]


def star(count: int) -> Pairs:
    return [((f"{number}", 1), ("hub", 1)) for number in range(count)]


def shuffled(pairs: Pairs) -> Pairs:
    return [pairs[number] for number in np.random.default_rng(0).permutation(len(pairs))]


def simulate(pairs: Pairs, workers: int, requeued: float = 0.0) -> tuple[list[int], Counter[tuple[int, CloudKey]]]:
    """Workers that ask for jobs in random order; returns the order of the jobs, and how often each cloud was loaded.

    A share `requeued` of the jobs cannot be started at first.
    """
    rng = np.random.default_rng(1)
    queue = JobQueue(pairs)
    loaded: dict[int, list[CloudKey]] = {worker: [] for worker in range(workers)}
    order: list[int] = []
    loads: Counter[tuple[int, CloudKey]] = Counter()
    while len(order) < len(pairs):
        worker = int(rng.integers(workers))
        number = queue.next_job(worker)
        assert number is not None, "there are jobs left"
        if rng.random() < requeued:
            queue.requeue(number)
            continue
        order.append(number)
        for cloud in pairs[number]:
            loads[worker, cloud] += cloud not in loaded[worker]
            loaded[worker] = [*(other for other in loaded[worker] if other != cloud), cloud][-CLOUDS_IN_MEMORY:]
        queue.record_use(worker, pairs[number])
    assert queue.next_job(0) is None
    return order, +loads


@pytest.mark.parametrize(
    "pairs", [chain(30), chain(30, 4), star(30), chain(20) * 3, [(("a", 1), ("a", 1))] * 3, chain(2)]
)
@pytest.mark.parametrize("workers", [1, 2, 7])
def test_each_job_is_started_once_also_if_it_was_requeued(pairs: Pairs, workers: int) -> None:
    for requeued in (0.0, 0.4):
        order, _ = simulate(pairs, workers, requeued)
        assert sorted(order) == list(range(len(pairs)))


def test_the_clouds_of_a_star_are_loaded_once_and_its_centre_once_per_worker() -> None:
    _, loads = simulate(shuffled(star(50)), 3)
    assert max(loads.values()) == 1
    assert sum(loads.values()) == 50 + 3


def test_one_worker_loads_each_cloud_of_a_chain_once() -> None:
    _, loads = simulate(chain(50), 1)
    assert set(loads.values()) == {1}
    assert len(loads) == 50


@pytest.mark.parametrize("order", [list, shuffled])
def test_affinity_saves_three_quarters_of_the_loads(order: Callable[[Pairs], Pairs]) -> None:
    """Jobs in random order would load two clouds each."""
    pairs = order(chain(400, 4))
    _, loads = simulate(pairs, 4)
    assert sum(loads.values()) < 2 * len(pairs) / 4


def test_workers_start_far_apart() -> None:
    queue = JobQueue(chain(1000))
    starts = sorted(number for worker in range(4) if (number := queue.next_job(worker)) is not None)
    assert min(np.diff(starts)) > 1000 / 8
