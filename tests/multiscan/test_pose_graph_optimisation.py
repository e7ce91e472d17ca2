"""Pose graph optimisation: exact poses from exact edges, outlier edges found, derivatives, and invariances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.pose_rings import largest_errors, ring
from tests.support.strategies import random_transform, seeds

from graphreg import InputError
from graphreg.multiscan.pose_graph import connected_groups, residuals, spanning_tree_poses, squared_errors
from graphreg.multiscan.pose_graph_optimisation import jacobians, least_squares_poses, optimise, retract
from graphreg.poses import PoseGraph, adjoint, inverse, pose


@pytest.mark.slow
@settings(max_examples=20)
@given(seed=seeds, count=st.integers(3, 9))
def test_exact_edges_give_the_exact_poses_from_anywhere_near(seed: int, count: int) -> None:
    graph, truth = ring(count, seed)
    steps = np.random.default_rng(seed).normal(size=(count, 6)) * np.repeat([0.1, 0.5], 3)
    steps[0] = 0
    result = optimise(replace(graph, poses=retract(truth, steps)))
    degrees, distance = largest_errors(result.poses, truth)
    # An edge counts as met to a hundred-millionth of its sigma.
    assert degrees < 1e-6
    assert distance < 1e-7 * count
    assert result.used.all()
    assert result.groups == (tuple(range(count)),)


@given(seed=seeds)
def test_jacobians_are_finite_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    poses = np.stack([random_transform(seed, 2.0), random_transform(seed + 1, 2.0)])
    graph = PoseGraph(poses, np.array([[0, 1]]), random_transform(seed + 2, 2.0)[None], np.eye(6)[None])
    if np.linalg.norm(residuals(graph)[0, :3]) > 3.0:
        return  # at a rotation by pi the logarithm jumps
    for node, jacobian in enumerate(jacobians(graph)):
        direction = rng.normal(size=6)
        steps = np.zeros((2, 6))
        steps[node] = 1e-6 * direction
        ahead, behind = (residuals(replace(graph, poses=retract(poses, sign * steps))) for sign in (1, -1))
        # Rounding of a difference of numbers of about one, over a step of a millionth.
        np.testing.assert_allclose(jacobian[0] @ direction, (ahead - behind)[0] / 2e-6, atol=1e-7, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_outlier_edges_are_found_and_do_not_move_the_poses(seed: int) -> None:
    graph, truth = ring(12, seed, noise=1.0, reach=3)
    rng = np.random.default_rng(seed)
    wrong = rng.choice(len(graph.pairs), 3, replace=False)
    transforms = graph.transforms.copy()
    transforms[wrong] = [random_transform(seed + 100 + k, 12.0) for k in range(3)]
    corrupted = replace(graph, transforms=transforms)
    trust = rng.permutation(len(graph.pairs)).astype(float)  # a wrong edge may well be part of the tree
    result = optimise(replace(corrupted, poses=spanning_tree_poses(replace(corrupted, poses=truth), trust)))
    assert np.flatnonzero(~result.used).tolist() == sorted(wrong.tolist())
    right = optimise(
        PoseGraph(
            truth,
            np.delete(graph.pairs, wrong, axis=0),
            np.delete(graph.transforms, wrong, axis=0),
            np.delete(graph.information, wrong, axis=0),
        )
    )
    degrees, distance = largest_errors(result.poses, right.poses)
    assert degrees < 1e-5
    assert distance < 1e-5
    assert (result.squared_errors[wrong] > result.squared_errors[result.used].max()).all()


def test_certain_edges_are_never_rejected() -> None:
    """A chain, and several edges that agree on another end of it: they would break it if its edges were not certain."""
    poses = np.array([pose(np.eye(3), [k, 0.0, 0.0]) for k in range(6)])
    chain = [(k + 1, k) for k in range(5)]
    pairs = np.array([*chain, *[(5, 0)] * 4])
    transforms = np.array([*[inverse(poses[a]) @ poses[b] for b, a in chain], *[pose(np.eye(3), [3.0, 4.0, 0.0])] * 4])
    information = np.concatenate([np.tile(1e4 * np.eye(6), (5, 1, 1)), np.tile(1e6 * np.eye(6), (4, 1, 1))])
    graph, certain = PoseGraph(poses, pairs, transforms, information), np.arange(9) < 5
    assert not optimise(graph).used[:5].all()
    result = optimise(graph, certain=certain)
    assert np.array_equal(result.used, certain)
    np.testing.assert_allclose(result.poses, poses, atol=1e-9)


def test_of_edges_that_contradict_each_other_the_trusted_ones_are_kept() -> None:
    """Two parts, joined by one edge, and by two others that agree on another pose: trust decides, not their number."""
    poses = np.array([pose(np.eye(3), [k, 0.0, 0.0]) for k in range(6)])
    pairs = np.array([(1, 0), (2, 0), (2, 1), (4, 3), (5, 3), (5, 4), (3, 2), (3, 1), (4, 2)])
    wrong = np.arange(len(pairs)) >= 7
    transforms = np.array([inverse(poses[t]) @ poses[s] for s, t in pairs])
    transforms[wrong] = transforms[wrong] @ pose(np.eye(3), [5.0, 0.0, 0.0])
    graph = PoseGraph(poses, pairs, transforms, np.tile(100 * np.eye(6), (len(pairs), 1, 1)))
    for most_trusted in (wrong, ~wrong):
        trust = np.where(most_trusted, 3.0, 1.0)
        initial = spanning_tree_poses(graph, trust)
        result = optimise(replace(graph, poses=initial), trust=trust)
        assert result.used[-3:].tolist() == most_trusted[-3:].tolist()
        assert result.used[:-3].all()


def test_without_outliers_it_is_least_squares() -> None:
    graph, _ = ring(8, 1, noise=0.5)
    result = optimise(graph)
    assert result.used.all()
    degrees, distance = largest_errors(least_squares_poses(graph), result.poses)
    assert degrees < 1e-5
    assert distance < 1e-5


@pytest.mark.slow
def test_hundreds_of_poses_in_a_loop() -> None:
    graph, truth = ring(300, 3, noise=1.0)
    result = optimise(graph)
    assert result.used.mean() > 0.995  # of six hundred right edges one at most is beyond the threshold
    before, after = largest_errors(graph.poses, truth), largest_errors(result.poses, truth)
    assert after[0] < before[0]
    assert after[1] < before[1]
    # The sum of squares has as many degrees of freedom as edges have numbers less those of poses.
    freedom = 6 * (result.used.sum() - 299)
    assert abs(result.squared_errors[result.used].sum() / freedom - 1) < 0.1


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=seeds)
def test_the_world_frame_does_not_matter(seed: int) -> None:
    graph, _ = ring(6, seed % 1000, noise=1.0)
    elsewhere = random_transform(seed, 50.0)
    here, there = optimise(graph), optimise(replace(graph, poses=elsewhere @ graph.poses))
    degrees, distance = largest_errors(there.poses, elsewhere @ here.poses)
    assert degrees < 1e-5
    assert distance < 1e-5
    assert np.array_equal(here.poses[0], graph.poses[0])


def test_an_edge_reversed_is_the_same_measurement() -> None:
    graph, _ = ring(6, 4, noise=1.0)
    transforms = np.stack([inverse(z) for z in graph.transforms])
    # A small transform d after Z is -Ad(Z^-1) d after its inverse.
    adjoints = adjoint(graph.transforms)
    information = adjoints.transpose(0, 2, 1) @ graph.information @ adjoints
    reversed_edges = optimise(PoseGraph(graph.poses, graph.pairs[:, ::-1], transforms, information))
    degrees, distance = largest_errors(reversed_edges.poses, optimise(graph).poses)
    # Rotation vector and translation apart agree with the logarithm of SE(3) to first order; what is left is of the
    # order of the noise squared.
    assert degrees < 1e-3
    assert distance < 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_fixed_poses_stay_and_others_keep_what_is_not_free(seed: int) -> None:
    graph, truth = ring(6, seed, noise=1.0)
    fixed = np.isin(np.arange(6), (2, 4))
    result = optimise(replace(graph, poses=truth), fixed=fixed)
    assert np.array_equal(result.poses[fixed], truth[fixed])
    # A minimum: no step of the other poses reduces the errors.
    best = squared_errors(replace(graph, poses=result.poses)).sum()
    rng = np.random.default_rng(seed)
    for _ in range(10):
        steps = 1e-4 * rng.normal(size=(6, 6)) * ~fixed[:, None]
        assert squared_errors(replace(graph, poses=retract(result.poses, steps))).sum() > best
    levelled = optimise(replace(graph, poses=truth), dof=(False, False, True, True, True, True))
    relative = np.linalg.inv(truth) @ levelled.poses
    # Relative to the pose before it is a rotation about its own z axis.
    np.testing.assert_allclose(relative[:, :3, 2], np.tile([0.0, 0.0, 1.0], (6, 1)), atol=1e-9)


def test_each_group_keeps_its_first_pose() -> None:
    graph, truth = ring(4, 1)
    two = PoseGraph(
        np.concatenate([truth, truth, truth[:1]]),
        np.concatenate([graph.pairs, graph.pairs + 4]),
        np.tile(graph.transforms, (2, 1, 1)),
        np.tile(graph.information, (2, 1, 1)),
    )
    result = optimise(two)
    assert result.groups == ((0, 1, 2, 3), (4, 5, 6, 7), (8,)) == connected_groups(two.pairs, 9)
    assert np.array_equal(result.poses[[0, 4, 8]], truth[[0, 0, 0]])
    alone = optimise(PoseGraph(truth[:2], np.zeros((0, 2), int), np.zeros((0, 4, 4)), np.zeros((0, 6, 6))))
    assert alone.groups == ((0,), (1,))


def test_bad_graphs_are_refused() -> None:
    graph, _ = ring(4)
    for change, message in (
        ({"pairs": graph.pairs + 1}, "pairs: expected numbers of poses from 0 to 3, got 1 to 4"),
        ({"pairs": np.zeros_like(graph.pairs)}, "pairs\\[0\\]: joins pose 0 to itself"),
        ({"transforms": graph.transforms[:2]}, "transforms: expected shape"),
        ({"information": graph.information * np.nan}, "information: expected finite"),
    ):
        with pytest.raises(InputError, match=message):
            optimise(replace(graph, **change))
