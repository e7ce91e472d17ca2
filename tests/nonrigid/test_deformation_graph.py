"""The deformation graph carries points: exactly where all nodes move rigidly, and not across gaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tests.support.deforming_bodies import bumpy_body
from tests.support.strategies import random_transform, seeds

from graphreg.nonrigid.deformation_graph import (
    DeformationGraph,
    Motion,
    build_graph,
    carried,
    carried_points,
    embedding,
    moved_rigidly,
    node_spacing,
    refined,
)
from graphreg.nonrigid.elastic_energy import rotations_from_vectors
from graphreg.poses import transform


def graph_of(points: np.ndarray, nodes: int = 40) -> DeformationGraph:
    return build_graph(points, np.zeros_like(points), node_spacing(points, nodes, 1), 1)


BODY = bumpy_body(600)
GRAPH, FINER = graph_of(BODY), graph_of(BODY, 90)


@given(seeds)
def test_rigid_nodes_carry_all_points_rigidly(seed: int) -> None:
    T = random_transform(seed, 3.0)
    motion = moved_rigidly(GRAPH, T)
    assert np.allclose(carried(GRAPH, motion), transform(T, BODY), atol=1e-12)
    others = np.random.default_rng(seed).normal(size=(20, 3))
    found = carried_points(GRAPH, motion, others, *embedding(GRAPH, others, 1))
    assert np.allclose(found, transform(T, others), atol=1e-12)
    between = refined(GRAPH, motion, FINER, 1)
    assert np.allclose(between.positions, transform(T, FINER.nodes), atol=1e-12)
    assert np.allclose(between.rotations, T[:3, :3], atol=1e-9)


def test_weights_and_edges() -> None:
    assert np.allclose(GRAPH.weights.sum(axis=1), 1)
    assert (GRAPH.weights >= 0).all()
    assert set(map(tuple, GRAPH.edges)) == set(map(tuple, GRAPH.edges[:, ::-1]))
    size = (len(GRAPH.nodes),) * 2
    assert connected_components(coo_array((np.ones(len(GRAPH.edges)), GRAPH.edges.T), shape=size))[0] == 1


def test_a_point_at_a_node_moves_with_it_and_points_across_a_gap_do_not() -> None:
    """Two parallel sheets, nearer to each other than their nodes are."""
    rng = np.random.default_rng(0)
    sheets = rng.uniform(0, 1, (4000, 3)) * [1, 1, 0]
    sheets[2000:, 2] = 0.15
    graph = build_graph(sheets, np.zeros_like(sheets), 0.25, 1)
    upper = graph.nodes[:, 2] > 0.07
    motion = Motion(graph.nodes + np.where(upper, 1.0, 0.0)[:, None], np.repeat(np.eye(3)[None], len(upper), axis=0))
    moved = carried(graph, motion) - sheets
    assert np.allclose(moved[:2000], 0)
    assert np.allclose(moved[2000:], 1)


def test_edges_through_a_body_keep_its_thickness() -> None:
    rng = np.random.default_rng(1)
    slab = rng.uniform(-1, 1, (1500, 3))
    slab[:, 2] = np.where(slab[:, 2] > 0, 0.1, -0.1)
    outward = np.sign(slab) * [0, 0, 1]
    assert len(build_graph(slab, outward, 0.25, 1).edges) > len(build_graph(slab, 0 * outward, 0.25, 1).edges)


def test_the_number_of_nodes_is_about_the_one_asked_for() -> None:
    for count in (20, 100):
        assert count <= len(graph_of(BODY, count).nodes) <= 2 * count
    assert np.allclose(rotations_from_vectors(np.zeros((1, 3))), np.eye(3))
