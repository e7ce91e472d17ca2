"""Normals, curvature and V_g."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import Floats, clouds, random_cloud

import graphreg
from graphreg.features.invariant_features import FEATURES, fit_planes, rank_features


@given(clouds, st.integers(3, 14))
def test_planes_agree_with_lapack(points: Floats, k: int) -> None:
    graph = graphreg.neighbour_graph(points, k)
    normals, curvature = fit_planes(graph)
    expected, expected_curvature, shares = twins.fit_planes(points, graph.neighbours)
    gaps = (shares[:, 1] - shares[:, 0]) * (shares[:, 2] - shares[:, 0])
    clear = gaps > 1e-6
    np.testing.assert_allclose(curvature[clear], expected_curvature[clear], rtol=0, atol=2e-15)
    # Where two eigenvalues coincide, the error of the cosine is the square root of the rounding error.
    np.testing.assert_allclose(curvature, expected_curvature, rtol=0, atol=np.sqrt(np.finfo(float).eps))
    np.testing.assert_allclose(np.linalg.norm(normals[clear], axis=1), 1, rtol=1e-14)
    sine = np.linalg.norm(np.cross(normals[clear], expected[clear]), axis=1)
    assert (sine <= 1e-14 / gaps[clear]).all()


@given(clouds)
def test_variation_agrees_with_its_twin(points: Floats) -> None:
    graph = graphreg.neighbour_graph(points)
    normals, curvature = fit_planes(graph)
    variation, normal_variation = twins.variation(points, graph.neighbours, normals, curvature)
    features = graphreg.invariants(points)
    assert features.shape == (len(points), len(FEATURES))
    np.testing.assert_allclose(features[:, 0], variation, rtol=1e-12, atol=1e-28)
    np.testing.assert_allclose(features[:, 1], normal_variation, rtol=1e-12, atol=1e-28)
    np.testing.assert_array_equal(features[:, 2], curvature)


def test_planes_and_spheres() -> None:
    rng = np.random.default_rng(0)
    plane = np.column_stack([rng.uniform(size=(2000, 2)), np.zeros(2000)])
    np.testing.assert_allclose(np.abs(graphreg.normals(plane) @ [0, 0, 1]), 1, rtol=1e-12)
    np.testing.assert_allclose(graphreg.invariants(plane), 0, atol=1e-15)
    sphere = rng.normal(size=(20_000, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    cosines = np.einsum("ij,ij->i", graphreg.normals(sphere), sphere)
    assert np.quantile(np.abs(cosines), 0.01) > 0.999


def test_normals_are_oriented_towards_the_viewpoint() -> None:
    points = random_cloud("surface", 500, 1)
    normals = graphreg.normals(points, viewpoint=[0, 0, 9])
    assert (normals[:, 2] > 0).mean() > 0.99
    assert np.array_equal(graphreg.normals(points, viewpoint=[0, 0, 9]), normals)
    with pytest.raises(graphreg.InputError, match="^viewpoint: expected three"):
        graphreg.normals(points, viewpoint=[0, 0])


def test_rows_that_are_not_finite_have_no_features() -> None:
    points = random_cloud("surface", 100, 1)
    gaps = np.insert(points, 50, np.nan, axis=0)
    features = graphreg.invariants(gaps)
    assert np.isnan(features[50]).all()
    assert np.array_equal(np.delete(features, 50, axis=0), graphreg.invariants(points))
    assert np.isnan(graphreg.normals(gaps)[50]).all()


def test_ranks_are_the_share_of_smaller_values() -> None:
    ranks = rank_features(np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 1e-12], [2.0, 5.0]]))
    assert ranks.tolist() == [[0.75, 0.0], [0.0, 0.0], [0.25, 0.0], [0.25, 0.75]]
