"""The pose graph: exact answers of exact graphs, wrong edges found, derivatives, and what must not matter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.strategies import Floats, random_transform, seeds

from graphreg import FileError, InputError
from graphreg.files.g2o import read_graph, write_graph
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan.pose_graph import (
    PoseGraph,
    derivatives,
    groups_of,
    moved,
    optimise,
    residuals,
    rivals,
    spanning_poses,
    squared_errors,
)
from graphreg.poses import adjoint, inverse

SIGMA = np.repeat([1e-3, 1e-2], 3)


def ring(count: int, seed: int = 0, noise: float = 0.0, reach: int = 2) -> tuple[PoseGraph, Floats]:
    """Poses around a circle, each joined to the next `reach` ones, and the truth; the first pose is exact."""
    rng = np.random.default_rng(seed)
    truth = np.stack([random_transform(seed + n, 0) for n in range(count)])
    angle = 2 * np.pi * np.arange(count) / count
    truth[:, :3, 3] = count * np.stack([np.cos(angle), np.sin(angle), 0.1 * rng.normal(size=count)], axis=1)
    targets, steps = np.repeat(np.arange(count), reach), np.tile(np.arange(1, reach + 1), count)
    pairs = np.stack([(targets + steps) % count, targets], axis=1)
    motions = np.stack([inverse(truth[t]) @ truth[s] for s, t in pairs])
    errors = noise * SIGMA * rng.normal(size=(len(pairs), 6))
    motions = np.stack(
        [step @ z for step, z in zip(moved(np.tile(np.eye(4), (len(pairs), 1, 1)), errors), motions, strict=True)]
    )
    information = np.tile(np.diag(SIGMA**-2), (len(pairs), 1, 1))
    graph = PoseGraph(truth, pairs, motions, information)
    return replace(graph, poses=spanning_poses(graph, np.arange(len(pairs), 0, -1.0))), truth


def worst(found: Floats, truth: Floats) -> tuple[float, float]:
    both = list(zip(found, truth, strict=True))
    return max(angular_error(a, b) for a, b in both), max(translation_error(a, b) for a, b in both)


@given(seed=seeds, count=st.integers(3, 9))
def test_exact_edges_give_the_exact_poses_from_anywhere_near(seed: int, count: int) -> None:
    graph, truth = ring(count, seed)
    steps = np.random.default_rng(seed).normal(size=(count, 6)) * np.repeat([0.1, 0.5], 3)
    steps[0] = 0
    found = optimise(replace(graph, poses=moved(truth, steps)))
    degrees, distance = worst(found.poses, truth)
    # An edge counts as met to a hundred-millionth of its sigma.
    assert degrees < 1e-6
    assert distance < 1e-7 * count
    assert found.used.all()
    assert found.groups == (tuple(range(count)),)


@given(seed=seeds)
def test_derivatives_are_those_of_finite_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    poses = np.stack([random_transform(seed, 2.0), random_transform(seed + 1, 2.0)])
    graph = PoseGraph(poses, np.array([[0, 1]]), random_transform(seed + 2, 2.0)[None], np.eye(6)[None])
    if np.linalg.norm(residuals(graph)[0, :3]) > 3.0:
        return  # at half a turn the logarithm jumps
    for node, derivative in enumerate(derivatives(graph)):
        direction = rng.normal(size=6)
        steps = np.zeros((2, 6))
        steps[node] = 1e-6 * direction
        ahead, behind = (residuals(replace(graph, poses=moved(poses, sign * steps))) for sign in (1, -1))
        # Rounding of a difference of numbers of about one, over a step of a millionth.
        np.testing.assert_allclose(derivative[0] @ direction, (ahead - behind)[0] / 2e-6, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_wrong_edge_is_named_and_does_not_matter(seed: int) -> None:
    graph, truth = ring(12, seed, noise=1.0, reach=3)
    rng = np.random.default_rng(seed)
    wrong = rng.choice(len(graph.pairs), 3, replace=False)
    motions = graph.transforms.copy()
    motions[wrong] = [random_transform(seed + 100 + k, 12.0) for k in range(3)]
    spoilt = replace(graph, transforms=motions)
    trust = rng.permutation(len(graph.pairs)).astype(float)  # a wrong edge may well be part of the tree
    found = optimise(replace(spoilt, poses=spanning_poses(replace(spoilt, poses=truth), trust)))
    assert np.flatnonzero(~found.used).tolist() == sorted(wrong.tolist())
    right = optimise(
        PoseGraph(
            truth,
            np.delete(graph.pairs, wrong, axis=0),
            np.delete(graph.transforms, wrong, axis=0),
            np.delete(graph.information, wrong, axis=0),
        )
    )
    degrees, distance = worst(found.poses, right.poses)
    assert degrees < 1e-5
    assert distance < 1e-5
    assert (found.squared[wrong] > found.squared[found.used].max()).all()


@pytest.mark.parametrize("seed", range(3))
def test_edges_that_agree_on_another_place_are_counted(seed: int) -> None:
    """Some edges of a pose say the same wrong thing of it, one more says something else."""
    graph, truth = ring(12, seed, noise=0.3, reach=4)
    elsewhere = random_transform(seed + 50, 5.0)
    own = np.flatnonzero((graph.pairs == 5).any(axis=1))
    motions = graph.transforms.copy()
    for edge in own[:3]:
        source, target = graph.pairs[edge]
        motions[edge] = inverse(truth[target]) @ truth[source] @ (elsewhere if source == 5 else np.eye(4))
        motions[edge] = (inverse(elsewhere) if target == 5 else np.eye(4)) @ motions[edge]
    motions[own[3]] = random_transform(seed + 70, 12.0)
    spoilt = replace(graph, transforms=motions)
    found = optimise(spoilt)
    assert np.flatnonzero(~found.used).tolist() == sorted(own[:4].tolist())
    counted = rivals(replace(spoilt, poses=found.poses), found.used)
    assert counted[5] == 3
    assert np.delete(counted, 5).max() == 1
    assert not rivals(graph, np.ones(len(graph.pairs), bool)).any()


def test_a_thousand_poses_in_a_loop() -> None:
    graph, truth = ring(1000, 3, noise=1.0)
    found = optimise(graph)
    assert found.used.mean() > 0.995  # of a thousand that are right about one is beyond the limit
    before, after = worst(graph.poses, truth), worst(found.poses, truth)
    assert after[0] < before[0]
    assert after[1] < before[1]
    # The sum of squares has as many degrees of freedom as edges have numbers less those of poses.
    freedom = 6 * (found.used.sum() - 999)
    assert abs(found.squared[found.used].sum() / freedom - 1) < 0.1


@settings(max_examples=15)
@given(seed=seeds)
def test_the_frame_of_the_world_does_not_matter(seed: int) -> None:
    graph, _ = ring(6, seed % 1000, noise=1.0)
    elsewhere = random_transform(seed, 50.0)
    here, there = optimise(graph), optimise(replace(graph, poses=elsewhere @ graph.poses))
    degrees, distance = worst(there.poses, elsewhere @ here.poses)
    assert degrees < 1e-5
    assert distance < 1e-5
    assert np.array_equal(here.poses[0], graph.poses[0])


def test_an_edge_the_other_way_round_says_the_same() -> None:
    graph, _ = ring(6, 4, noise=1.0)
    turned_round = graph.pairs[:, ::-1]
    motions = np.stack([inverse(z) for z in graph.transforms])
    # A small motion d after Z is -Ad(Z^-1) d after its inverse.
    adjoints = adjoint(graph.transforms)
    information = adjoints.transpose(0, 2, 1) @ graph.information @ adjoints
    back = optimise(PoseGraph(graph.poses, turned_round, motions, information))
    degrees, distance = worst(back.poses, optimise(graph).poses)
    # The logarithms of a turn and shift apart agree to first order; what is left is of the order of the noise squared.
    assert degrees < 1e-3
    assert distance < 1e-3


def test_groups_keep_their_own_first_pose() -> None:
    graph, truth = ring(4, 1)
    two = PoseGraph(
        np.concatenate([truth, truth, truth[:1]]),
        np.concatenate([graph.pairs, graph.pairs + 4]),
        np.tile(graph.transforms, (2, 1, 1)),
        np.tile(graph.information, (2, 1, 1)),
    )
    found = optimise(two)
    assert found.groups == ((0, 1, 2, 3), (4, 5, 6, 7), (8,)) == groups_of(two)
    assert np.array_equal(found.poses[[0, 4, 8]], truth[[0, 0, 0]])
    alone = optimise(PoseGraph(truth[:2], np.zeros((0, 2), int), np.zeros((0, 4, 4)), np.zeros((0, 6, 6))))
    assert alone.groups == ((0,), (1,))


def test_a_tree_takes_the_edges_of_most_trust() -> None:
    graph, truth = ring(5, 2, reach=1)
    motions = graph.transforms.copy()
    motions[3] = random_transform(7, 3.0)
    trust = np.ones(5)
    trust[3] = 0.1
    found = spanning_poses(replace(graph, poses=truth, transforms=motions), trust)
    degrees, distance = worst(found, truth)
    assert degrees < 1e-6
    assert distance < 1e-9


def test_graphs_go_to_g2o_and_come_back(tmp_path: Path) -> None:
    graph, _ = ring(7, 5, noise=1.0)
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(len(graph.pairs), 6, 6))
    graph = replace(graph, information=roots @ roots.transpose(0, 2, 1))
    write_graph(tmp_path / "graph.g2o", graph)
    back = read_graph(tmp_path / "graph.g2o")
    assert np.array_equal(back.pairs, graph.pairs)
    for name in ("poses", "transforms", "information"):
        np.testing.assert_allclose(
            getattr(back, name), getattr(graph, name), atol=1e-12 * np.abs(getattr(graph, name)).max()
        )
    np.testing.assert_allclose(squared_errors(back), squared_errors(graph), rtol=1e-6, atol=1e-9)


def test_information_is_that_of_g2o(tmp_path: Path) -> None:
    """An edge of g2o: a shift along the second's axes before Z, and the vector of a quaternion, half of the angle."""
    half = np.sqrt(0.5)
    numbers = " ".join("1" if i == j else "0" for i in range(6) for j in range(i, 6))
    path = tmp_path / "graph.g2o"
    for off, expected in (((0.3, 0.0), 0.3**2), ((0.0, 1e-3), np.sin(5e-4) ** 2)):
        shift, angle = off
        sine, cosine = np.sin(angle / 2), np.cos(angle / 2)
        # The second pose is Z, a quarter of a turn about z and a shift, followed in its own frame by the motion `off`.
        quaternion = (0.0, 0.0, half * (cosine + sine), half * (cosine - sine))
        path.write_text(
            "VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\n"
            f"VERTEX_SE3:QUAT 1 5 {shift!r} 0 {' '.join(map(repr, map(float, quaternion)))}\n"
            f"EDGE_SE3:QUAT 0 1 5 0 0 0 0 {float(half)!r} {float(half)!r} {numbers}\n"
        )
        # Ours is of the angle, not of its sine, and after Z: alike to first order.
        np.testing.assert_allclose(squared_errors(read_graph(path)), expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("EDGE_SE3:QUAT 0 7 0 0 0 0 0 0 1" + " 1" * 21, "line 3: expected two vertices of the file, got 0 and 7"),
        ("EDGE_SE3:QUAT 0 0 0 0 0 0 0 0 1" + " 1" * 21, "line 3: expected two vertices of the file, got 0 and 0"),
        ("EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 2" + " 1" * 21, "line 3: expected a translation and a unit quaternion"),
        ("EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 1" + " nan" * 21, "line 3: expected finite numbers"),
    ],
)
def test_bad_edges_are_told_by_their_line(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "graph.g2o"
    path.write_text(f"VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\nVERTEX_SE3:QUAT 1 0 0 0 0 0 0 1\n{line}\n")
    with pytest.raises(FileError, match=told):
        read_graph(path)


def test_bad_graphs_are_refused() -> None:
    graph, _ = ring(4)
    for change, told in (
        ({"pairs": graph.pairs + 1}, "pairs: expected numbers of poses from 0 to 3, got 1 to 4"),
        ({"pairs": np.zeros_like(graph.pairs)}, "pairs\\[0\\]: joins pose 0 to itself"),
        ({"transforms": graph.transforms[:2]}, "transforms: expected shape"),
        ({"information": graph.information * np.nan}, "information: expected finite"),
    ):
        with pytest.raises(InputError, match=told):
            optimise(replace(graph, **change))
