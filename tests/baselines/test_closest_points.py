"""The nearest-neighbour search of ICP, and the rejection of correspondences."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import clouds, seeds

import graphreg._core as _core
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.baselines.closest_points import (
    ClosestPoints,
    closest_share,
    iterate_closest_points,
    point_to_point,
    within_distance,
)


@given(clouds, seeds, st.floats(0, 0.3), st.integers(1, 3))
def test_nearest_neighbours_of_moving_points_are_exact(
    points: np.ndarray, seed: int, step: float, threads: int
) -> None:
    rng = np.random.default_rng(seed)
    size = np.ptp(points, axis=0).max()
    queries = points[rng.integers(0, len(points), 60)] + 0.2 * size * rng.normal(size=(60, 3))
    tree = _core.Tree(points, threads)
    searched_at, second, nearest = np.zeros((60, 3)), np.zeros(60), np.full((60, 2), -1, np.int32)
    for _ in range(5):
        squared = tree.update_nearest(queries, searched_at, second, nearest, threads)
        index, expected = twins.nearest(points, queries, 1)
        np.testing.assert_array_equal(squared, expected[:, 0])
        np.testing.assert_array_equal(nearest[:, 0], index[:, 0])
        queries = queries + step * size * rng.random() ** 4 * rng.normal(size=(60, 3))


def test_nearest_neighbours_of_moving_points_in_a_tree_of_one_point() -> None:
    tree = _core.Tree(np.zeros((1, 3)), 1)
    state = np.zeros((2, 3)), np.zeros(2), np.full((2, 2), -1, np.int32)
    for x in (1.0, 2.0):
        assert tree.update_nearest(np.array([[x, 0, 0], [0, 2 * x, 0]]), *state, 1).tolist() == [x**2, 4 * x**2]


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=60), st.floats(0.01, 1), st.floats(0, 40))
def test_rejection_uses_the_smallest_distances(values: list[float], share: float, distance: float) -> None:
    squared = np.array(values)
    used = closest_share(share)(squared)
    assert len(used) == max(1, round(share * len(squared)))
    assert squared[used].max() <= np.delete(squared, used).min(initial=np.inf)
    assert np.array_equal(within_distance(distance)(squared), np.flatnonzero(squared <= distance**2))
    assert len(within_distance(None)(squared)) == len(squared)


def test_fewer_than_three_correspondences_end_the_iteration(body: np.ndarray) -> None:
    run = BaselineRun(body, body + 100.0, 0, np.eye(4), 1, None)
    value, stopped = iterate_closest_points(
        run, ClosestPoints(run), point_to_point(run), within_distance(1.0), 10, 0.0, run.estimate
    )
    assert value == np.inf
    assert not stopped
    assert run.outcome().history == ()
