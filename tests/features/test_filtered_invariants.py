"""Invariants after low-pass filters: no rigid transform changes them, and corresponding points have alike ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.support.strategies import random_cloud, random_transform, seeds

import graphreg
from graphreg.datasets import synthetic
from graphreg.features.filtered_invariants import FILTERS, comparable_invariants, filtered_invariants
from graphreg.features.invariant_features import graph_invariants
from graphreg.poses import transform


@given(seeds)
def test_no_rigid_transform_changes_them(seed: int) -> None:
    points = random_cloud("surface", 200, seed)
    moved = transform(random_transform(seed, 1.0), points)
    expected = filtered_invariants(graphreg.neighbour_graph(points))
    found = filtered_invariants(graphreg.neighbour_graph(moved))
    assert expected.shape == (200, 2 * len(FILTERS.powers))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@given(seeds)
def test_a_filter_averages(seed: int) -> None:
    """The rows of A sum to one: averages stay between the smallest and the largest value, and come closer together."""
    graph = graphreg.neighbour_graph(random_cloud("surface", 150, seed))
    signal, found = graph_invariants(graph)[:, 1:], filtered_invariants(graph)
    for column in range(2):
        ranges = [np.ptp(found[:, i]) for i in range(column, found.shape[1], 2)]
        assert ranges == sorted(ranges, reverse=True)
        assert signal[:, column].min() - 1e-12 <= found[:, column].min()
        assert found[:, column].max() <= signal[:, column].max() + 1e-12


def test_comparable_invariants_of_a_moved_copy_are_equal() -> None:
    points = random_cloud("surface", 300, 1)
    one, other = (graphreg.neighbour_graph(cloud) for cloud in (points, transform(random_transform(2, 1.0), points)))
    f, g = comparable_invariants(one, other)
    np.testing.assert_allclose(f, g, atol=0.02)  # a rank among 600 where rounding exchanges two values
    both = np.vstack([f, g])
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-12)
    assert np.isclose((both**2).sum(axis=1).mean(), 1)


def test_a_plane_has_no_invariants() -> None:
    plane = np.random.default_rng(0).uniform(size=(100, 3)) * [1, 1, 0]
    f, g = comparable_invariants(graphreg.neighbour_graph(plane), graphreg.neighbour_graph(plane))
    assert not f.any()
    assert not g.any()


def test_corresponding_points_are_more_alike_than_others() -> None:
    """On two scans from viewpoints 30 degrees apart: far more often than the half that chance would give."""
    pair = synthetic.pair("dragon", 30.0, points=2500)
    x, y = (graphreg.voxel_downsample(cloud, 0.0025) for cloud in (pair.source, pair.target))
    f, g = comparable_invariants(graphreg.neighbour_graph(x), graphreg.neighbour_graph(y))
    distance = np.linalg.norm(transform(pair.T_target_source, x)[:, None] - y[None, ::5], axis=2)
    rows, partner = np.flatnonzero(distance.min(axis=1) < 0.003), distance.argmin(axis=1)
    other = np.random.default_rng(0).integers(0, len(g[::5]), len(rows))
    right, wrong = (np.linalg.norm(f[rows] - g[::5][j], axis=1) for j in (partner[rows], other))
    assert (right < wrong).mean() > 0.75
