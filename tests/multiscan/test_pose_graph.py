"""Queries of a pose graph: connected groups, spanning trees, loops, and edges that agree on another pose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.pose_rings import largest_errors, ring
from tests.support.strategies import random_transform, seeds

from graphreg.multiscan.pose_graph import (
    alternative_support,
    connected_groups,
    error_transforms,
    inverses,
    loop_support,
    residuals,
    spanning_tree_poses,
    squared_errors,
)
from graphreg.multiscan.pose_graph_optimisation import optimise
from graphreg.poses import inverse, rotation_from_vector


@given(seed=seeds, count=st.integers(3, 9))
def test_exact_edges_have_no_error_at_the_true_poses(seed: int, count: int) -> None:
    graph, truth = ring(count, seed)
    assert np.abs(residuals(replace(graph, poses=truth))).max() < 1e-12 * count
    assert squared_errors(replace(graph, poses=truth)).max() < 1e-12


@given(seed=seeds)
def test_a_residual_is_the_twist_between_the_edge_and_the_poses(seed: int) -> None:
    graph, _ = ring(4, seed, noise=1.0)
    expected = np.stack(
        [
            inverse(graph.poses[t]) @ graph.poses[s] @ inverse(z)
            for (s, t), z in zip(graph.pairs, graph.transforms, strict=True)
        ]
    )
    np.testing.assert_allclose(error_transforms(graph), expected, atol=1e-12)
    rotations = [rotation_from_vector(residual[:3]) for residual in residuals(graph)]
    np.testing.assert_allclose(rotations, expected[:, :3, :3], atol=1e-9)
    np.testing.assert_allclose(residuals(graph)[:, 3:], expected[:, :3, 3], atol=1e-12)


@given(st.lists(seeds, min_size=1, max_size=5))
def test_inverses_are_those_of_each_transform(some: list[int]) -> None:
    transforms = np.stack([random_transform(seed, 3.0) for seed in some])
    np.testing.assert_allclose(inverses(transforms), [inverse(each) for each in transforms], atol=1e-14)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=12))
def test_groups_are_the_classes_that_edges_connect(pairs: list[tuple[int, int]]) -> None:
    label = list(range(9))
    for a, b in pairs:
        label = [label[a] if each == label[b] else each for each in label]
    classes = [tuple(node for node in range(9) if label[node] == each) for each in set(label)]
    assert connected_groups(pairs, 9) == tuple(sorted(classes, key=lambda group: (-len(group), group[0])))


def test_a_spanning_tree_takes_the_most_trusted_edges() -> None:
    graph, truth = ring(5, 2, reach=1)
    transforms = graph.transforms.copy()
    transforms[3] = random_transform(7, 3.0)
    trust = np.ones(5)
    trust[3] = 0.1
    poses = spanning_tree_poses(replace(graph, poses=truth, transforms=transforms), trust)
    degrees, distance = largest_errors(poses, truth)
    assert degrees < 1e-6
    assert distance < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_short_loops_confirm_right_edges_and_not_a_wrong_one(seed: int) -> None:
    """In a ring where each pose is joined to the next two, a loop of three confirms each edge at least once."""
    graph, _ = ring(8, seed, noise=0.5)
    assert loop_support(graph).min() >= 1
    transforms = graph.transforms.copy()
    transforms[4] = random_transform(seed + 30, 8.0)
    assert loop_support(replace(graph, transforms=transforms))[4] == 0


@pytest.mark.parametrize("seed", range(3))
def test_rejected_edges_that_agree_on_another_pose_are_counted(seed: int) -> None:
    """Three edges of a pose agree on one wrong pose, a fourth proposes yet another."""
    graph, truth = ring(12, seed, noise=0.3, reach=4)
    elsewhere = random_transform(seed + 50, 5.0)
    own = np.flatnonzero((graph.pairs == 5).any(axis=1))
    transforms = graph.transforms.copy()
    for edge in own[:3]:
        source, target = graph.pairs[edge]
        transforms[edge] = inverse(truth[target]) @ truth[source] @ (elsewhere if source == 5 else np.eye(4))
        transforms[edge] = (inverse(elsewhere) if target == 5 else np.eye(4)) @ transforms[edge]
    transforms[own[3]] = random_transform(seed + 70, 12.0)
    corrupted = replace(graph, transforms=transforms)
    result = optimise(corrupted)
    assert np.flatnonzero(~result.used).tolist() == sorted(own[:4].tolist())
    support = alternative_support(replace(corrupted, poses=result.poses), result.used)
    assert support[5] == 3
    assert np.delete(support, 5).max() == 1
    assert not alternative_support(graph, np.ones(len(graph.pairs), bool)).any()
