"""The neighbour kernels against their numpy twins, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import CLOUD_KINDS, Floats, random_cloud, seeds
from tests.support.twins import nearest, squared_distances, ties

import graphreg._core as _core

lattices = st.builds(
    lambda size, seed: np.random.default_rng(seed).permutation(
        np.stack(np.meshgrid(*[np.arange(float(size))] * 3), -1).reshape(-1, 3)
    ),
    st.integers(3, 7),
    seeds,
)
repeated = st.builds(
    lambda count, seed: np.random.default_rng(seed).integers(0, 3, (count, 3)).astype(float),
    st.integers(30, 200),
    seeds,
)
far_apart = st.builds(
    lambda seed: np.vstack([random_cloud("surface", 200, seed) * 1e-3, random_cloud("blob", 5, seed) * 1e7]),
    seeds,
)
general = st.builds(random_cloud, st.sampled_from(CLOUD_KINDS), st.integers(30, 700), seeds)
clouds = st.one_of(general, lattices, repeated, far_apart)


@given(clouds, st.integers(1, 25), st.integers(1, 4))
def test_the_graph_is_exact_also_where_distances_are_equal(points: Floats, k: int, threads: int) -> None:
    expected, _ = nearest(points, points, k, exclude_self=True)
    assert np.array_equal(_core.Tree(points, threads).graph(k, threads), expected)


@given(clouds, st.integers(1, 25), st.integers(1, 4))
def test_ties_are_all_points_as_far_as_the_last_neighbour(points: Floats, k: int, threads: int) -> None:
    tree = _core.Tree(points, threads)
    neighbours, pairs = tree.graph_with_ties(k, threads)
    assert np.array_equal(neighbours, tree.graph(k, threads))
    assert len(pairs) == len(np.unique(pairs, axis=0))
    assert set(map(tuple, pairs.tolist())) == ties(points, k)


@pytest.mark.slow
def test_coincident_points_are_no_ties() -> None:
    """The ties of clusters of coincident points, and of points around them, would fill the memory."""
    points = np.vstack([np.zeros((6000, 3)), random_cloud("blob", 300, 1) + 0.001, np.ones((6000, 3))])
    _, pairs = _core.Tree(points, 2).graph_with_ties(10, 2)
    assert len(pairs) < 100


@given(clouds, general, st.integers(1, 25), st.integers(1, 4))
def test_nearest_neighbours_are_exact(points: Floats, queries: Floats, k: int, threads: int) -> None:
    index, squared = _core.Tree(points, threads).nearest(queries, k, threads)
    expected, distances = nearest(points, queries, k)
    assert np.array_equal(index, expected)
    assert np.array_equal(squared, distances)


@given(clouds, general, st.floats(0, 3), st.integers(1, 4))
def test_radius_search_is_exact(points: Floats, queries: Floats, radius: float, threads: int) -> None:
    offsets, index, squared = _core.Tree(points, threads).within(queries, radius, threads)
    distances = squared_distances(queries, points)
    assert offsets[0] == 0
    assert offsets[-1] == len(index) == len(squared)
    for q, row in enumerate(distances):
        expected = np.flatnonzero(row <= radius * radius)
        expected = expected[np.argsort(row[expected], kind="stable")]
        found = slice(offsets[q], offsets[q + 1])
        assert np.array_equal(index[found], expected)
        assert np.array_equal(squared[found], row[expected])


@pytest.mark.parametrize("radius", [1e154, 1e155, 1e300])
def test_a_radius_of_any_size_finds_points_only(radius: float) -> None:
    points = random_cloud("blob", 30, 2)
    offsets, index, _ = _core.Tree(points, 1).within(points, radius, 1)
    assert np.array_equal(np.sort(index.reshape(30, 30)), np.tile(np.arange(30), (30, 1)))
    assert np.array_equal(offsets, np.arange(31) * 30)


@pytest.mark.slow
def test_large_k() -> None:
    points = random_cloud("surface", 900, 3)
    expected, _ = nearest(points, points, 400, exclude_self=True)
    assert np.array_equal(_core.Tree(points, 2).graph(400, 2), expected)


def test_order_is_a_permutation() -> None:
    points = random_cloud("clusters", 1234, 5)
    assert np.array_equal(np.sort(_core.Tree(points, 2).order()), np.arange(1234))


def test_a_tree_keeps_its_own_copy() -> None:
    points = random_cloud("blob", 100, 1)
    tree = _core.Tree(points, 1)
    before = tree.graph(5, 1)
    points[:] = 0
    assert np.array_equal(tree.graph(5, 1), before)


@pytest.mark.parametrize("k", [0, -1, 50, 10**6])
def test_k_out_of_range_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="k out of range"):
        _core.Tree(random_cloud("blob", 50, 1), 1).graph(k, 1)


def test_an_empty_tree_is_refused() -> None:
    with pytest.raises(ValueError, match="needs points"):
        _core.Tree(np.zeros((0, 3)), 1)


def test_an_empty_set_of_queries() -> None:
    index, squared = _core.Tree(random_cloud("blob", 50, 1), 2).nearest(np.zeros((0, 3)), 3, 2)
    assert index.shape == squared.shape == (0, 3)
