"""Routes: every job once, nobody kept waiting, and few workers to a cloud."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from graphreg.batches.affinity import KEPT_CLOUDS, File, Routes

Pairs = list[tuple[File, File]]


def row(count: int, neighbours: int = 1) -> Pairs:
    clouds = [(f"{number}", 1) for number in range(count)]
    return [(a, b) for place, a in enumerate(clouds) for b in clouds[place + 1 : place + 1 + neighbours]]


def star(count: int) -> Pairs:
    return [((f"{number}", 1), ("hub", 1)) for number in range(count)]


def shuffled(pairs: Pairs) -> Pairs:
    return [pairs[number] for number in np.random.default_rng(0).permutation(len(pairs))]


def walked(pairs: Pairs, workers: int, given_back: float = 0.0) -> tuple[list[int], Counter[tuple[int, File]]]:
    """Jobs in the order they were begun, and how often a worker had to load a cloud; whoever comes, comes at random.

    given_back  share of the jobs that cannot be begun at first
    """
    rng = np.random.default_rng(1)
    routes = Routes(pairs)
    held: dict[int, list[File]] = {worker: [] for worker in range(workers)}
    order: list[int] = []
    loads: Counter[tuple[int, File]] = Counter()
    while len(order) < len(pairs):
        worker = int(rng.integers(workers))
        number = routes.next_for(worker)
        assert number is not None, "there are jobs left"
        if rng.random() < given_back:
            routes.give_back(number)
            continue
        order.append(number)
        for file in pairs[number]:
            loads[worker, file] += file not in held[worker]
            held[worker] = [*(other for other in held[worker] if other != file), file][-KEPT_CLOUDS:]
        routes.uses(worker, pairs[number])
    assert routes.next_for(0) is None
    return order, +loads


@pytest.mark.parametrize("pairs", [row(30), row(30, 4), star(30), row(20) * 3, [(("a", 1), ("a", 1))] * 3, row(2)])
@pytest.mark.parametrize("workers", [1, 2, 7])
def test_each_job_is_begun_once_also_if_it_was_given_back(pairs: Pairs, workers: int) -> None:
    for given_back in (0.0, 0.4):
        order, _ = walked(pairs, workers, given_back)
        assert sorted(order) == list(range(len(pairs)))


def test_a_star_is_loaded_once_and_its_middle_once_a_worker() -> None:
    _, loads = walked(shuffled(star(50)), 3)
    assert max(loads.values()) == 1
    assert sum(loads.values()) == 50 + 3


def test_one_worker_loads_each_cloud_of_a_row_once() -> None:
    _, loads = walked(row(50), 1)
    assert set(loads.values()) == {1}
    assert len(loads) == 50


@pytest.mark.parametrize("order", [list, shuffled])
def test_workers_keep_to_clouds_of_their_own(order: Callable[[Pairs], Pairs]) -> None:
    """Of what jobs dealt out at random would load, two clouds for each, not a fourth."""
    pairs = order(row(400, 4))
    _, loads = walked(pairs, 4)
    assert sum(loads.values()) < 2 * len(pairs) / 4


def test_first_ways_begin_far_apart() -> None:
    routes = Routes(row(1000))
    starts = sorted(number for worker in range(4) if (number := routes.next_for(worker)) is not None)
    assert min(np.diff(starts)) > 1000 / 8
