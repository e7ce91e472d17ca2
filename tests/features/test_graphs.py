"""Weights W, graph shift A, Laplacian and graph filters."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import Floats, clouds, random_cloud

import graphreg
from graphreg.features.graphs import HAAR


@given(clouds, st.integers(2, 14))
def test_weights_follow_equation_1(points: Floats, k: int) -> None:
    graph = graphreg.neighbour_graph(points, k)
    expected = twins.edge_weights(points, graph.neighbours)
    np.testing.assert_allclose(graph.weights, expected, rtol=1e-13)
    assert (graph.weights[:, -1] == 0).all()
    assert ((graph.weights == 0) | (graph.weights >= np.exp(-2) * (1 - 1e-13))).all()


@given(clouds)
def test_adjacency_shift_and_laplacian_are_consistent(points: Floats) -> None:
    graph = graphreg.neighbour_graph(points)
    w, a, laplacian = graph.adjacency(), graph.shift(), graph.laplacian()
    np.testing.assert_allclose(w.sum(axis=1), graph.degrees, rtol=1e-14)
    np.testing.assert_allclose(a.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(laplacian.sum(axis=1), 0.0, atol=1e-13)
    np.testing.assert_allclose((a * graph.degrees[:, None]).toarray(), w.toarray(), rtol=1e-14)
    assert w.nnz == np.count_nonzero(graph.weights)


@given(clouds, st.lists(st.floats(-2, 2), min_size=1, max_size=5), st.sampled_from([None, 1, 3]))
def test_filter_is_the_polynomial_of_the_shift(points: Floats, coefficients: list[float], width: int | None) -> None:
    graph = graphreg.neighbour_graph(points)
    shape = (len(points),) if width is None else (len(points), width)
    signal = np.random.default_rng(0).normal(size=shape)
    a, power, expected = graph.shift(), signal, np.zeros(shape)
    for coefficient in coefficients:
        expected = expected + coefficient * power
        power = a @ power
    np.testing.assert_allclose(graph.filter(signal, coefficients), expected, atol=1e-12)


def test_haar_filter_removes_a_constant() -> None:
    graph = graphreg.neighbour_graph(random_cloud("surface", 300, 1))
    np.testing.assert_allclose(graph.filter(np.full(300, 7.0), HAAR), 0, atol=1e-14)


@given(clouds)
def test_intensity_is_the_squared_haar_response(points: Floats) -> None:
    graph = graphreg.neighbour_graph(points)
    response = (graph.filter(points) ** 2).sum(1)
    np.testing.assert_allclose(
        np.sqrt(graphreg.intensity(points)), np.sqrt(response), rtol=1e-9, atol=1e-12 * np.ptp(points)
    )


def test_points_without_a_nearer_neighbour_are_isolated() -> None:
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    graph = graphreg.neighbour_graph(corners, 3)
    assert graph.isolated.all()
    assert np.isinf(graphreg.intensity(corners, 3)).all()
    assert not graphreg.inliers(corners, k=3).any()
    assert graph.shift().nnz == 0
    assert np.array_equal(graph.filter(corners), corners)


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, "ten", None])
def test_k_must_be_a_whole_number_from_2_on(k: object) -> None:
    with pytest.raises(graphreg.InputError, match="^k: expected"):
        graphreg.neighbour_graph(np.zeros((50, 3)), k)  # type: ignore[arg-type]


@pytest.mark.parametrize("threads", [0, -1, 1.5, "all"])
def test_threads_must_be_a_positive_whole_number(threads: object) -> None:
    with pytest.raises(graphreg.InputError, match="^threads: expected"):
        graphreg.neighbour_graph(np.zeros((50, 3)), threads=threads)  # type: ignore[arg-type]


def test_signals_and_filters_of_the_wrong_shape() -> None:
    graph = graphreg.neighbour_graph(random_cloud("blob", 40, 0))
    with pytest.raises(graphreg.InputError, match=r"^signal: expected shape \(40,\)"):
        graph.filter(np.zeros(39))
    with pytest.raises(graphreg.InputError, match="^coefficients"):
        graph.filter(np.zeros(40), ())


def test_a_graph_with_indices_out_of_range_is_refused() -> None:
    graph = graphreg.neighbour_graph(random_cloud("blob", 40, 0))
    for wrong in (-1, 40):
        neighbours = graph.neighbours.copy()
        neighbours[7, 3] = wrong
        with pytest.raises(graphreg.InputError, match="^neighbours: expected indices of 40 points"):
            graphreg.Graph(graph.points, neighbours, graph.order, 1)
    with pytest.raises(graphreg.InputError, match="^order"):
        graphreg.Graph(graph.points, graph.neighbours, graph.order[1:], 1)
    for ties in ([[0, 40]], [[-1, 0]], [[1, 2, 3]]):
        with pytest.raises(graphreg.InputError, match="^ties: expected pairs"):
            graphreg.Graph(graph.points, graph.neighbours, graph.order, 1, np.array(ties, np.int32))


def test_a_graph_can_be_pickled() -> None:
    graph = graphreg.neighbour_graph(random_cloud("blob", 100, 0))
    again = pickle.loads(pickle.dumps(graph))
    assert np.array_equal(again.neighbours, graph.neighbours)
    assert np.array_equal(again.weights, graph.weights)
