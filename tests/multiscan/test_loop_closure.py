"""Loop closure: loops that agree correct the drift; one that is alone, or that the odometry rules out, is not used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.strategies import random_transform, seeds

from graphreg.clouds import Floats
from graphreg.datasets import city_routes
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan import loop_closure
from graphreg.multiscan.loop_closure import LOOPS, Keyframe, LoopCloser, corrected_poses, weighted_mean
from graphreg.multiscan.multiway_result import Edge
from graphreg.multiscan.pairwise import centred_graph
from graphreg.multiscan.pose_graph import POSE_GRAPH
from graphreg.multiscan.pose_graph_optimisation import least_squares_poses
from graphreg.multiscan.tracking import displacement
from graphreg.poses import inverse, pose, rotation_from_vector

LAP, COUNT = 16, 22
RADIUS, VOXEL = 20.0, 1.0
# Of each step of the odometry: rotation about z in radians, and a share of its length.
TURN, SHORTER = 0.001, 0.004
CENTRE = np.array([3.0, -1.0, 0.5])


def true_poses() -> Floats:
    """More than a lap on a circle."""
    angles = 2 * np.pi / LAP * np.arange(COUNT)
    return np.array(
        [pose(rotation_from_vector([0, 0, a]), [RADIUS * np.sin(a), RADIUS * (1 - np.cos(a)), 0]) for a in angles]
    )


def drifting(poses: Floats, turn: float = TURN) -> Floats:
    """Poses of an odometry that turns and shortens every step a little."""
    drifted = [poses[0]]
    for here, there in pairwise(poses):
        step = inverse(here) @ there
        step[:3, 3] *= 1 - SHORTER
        drifted.append(drifted[-1] @ step @ pose(rotation_from_vector([0, 0, turn]), np.zeros(3)))
    return np.array(drifted)


def followed(
    monkeypatch: pytest.MonkeyPatch, found: Callable[[int, int], Floats | None], turn: float = TURN
) -> LoopCloser:
    """Loop closure where the registration of a pair finds this transform, or nothing."""

    def edge(pair: tuple[int, int], result: Any, target: Any) -> Edge:
        T = found(*pair)
        information = None if T is None else 1e4 * np.eye(6)
        T = np.eye(4) if T is None else T
        return Edge(*pair, T, information is not None, 0.95, 0.8, information, np.zeros(3), True, "")

    monkeypatch.setattr(loop_closure, "register", lambda *_, **__: None)
    # Points at random have no surfels: a loop is tracked where the registration found it.
    monkeypatch.setattr(LoopCloser, "_tracked", lambda self, edge: edge)
    monkeypatch.setattr(loop_closure, "edge_from_result", edge)
    closer = LoopCloser()
    rng = np.random.default_rng(0)
    points = rng.normal(size=(150, 3)) * [8.0, 8.0, 2.0]
    for number, odometry in enumerate(drifting(true_poses(), turn)):
        closer.add(3 * number, points, odometry, VOXEL)
    return closer


def relative(source: int, target: int) -> Floats:
    truth = true_poses()
    return inverse(truth[target]) @ truth[source]


def position_errors(poses: Floats) -> Floats:
    return np.linalg.norm(poses[:, :3, 3] - true_poses()[:, :3, 3], axis=1)


@pytest.mark.parametrize("turn", [TURN, 4 * TURN])
def test_loops_correct_the_drift(turn: float, monkeypatch: pytest.MonkeyPatch) -> None:
    closer = followed(monkeypatch, relative, turn)
    poses, used = closer.poses()
    assert len(closer.edges) >= 2
    assert used.all()
    assert all(edge.source - edge.target >= LOOPS.apart for edge in closer.edges)
    before = position_errors(drifting(true_poses(), turn))
    after = position_errors(poses)
    assert np.array_equal(poses[0], true_poses()[0])
    # Both passes of the first quarter agree now: what is left is the drift within one lap, spread over it.
    assert np.linalg.norm(poses[LAP + 3, :3, 3] - poses[3, :3, 3]) < 0.2 * before[LAP + 3]
    assert after.max() < 0.5 * before.max()


def test_a_loop_alone_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    closer = followed(monkeypatch, lambda source, target: relative(source, target) if source == LAP + 2 else None)
    poses, used = closer.poses()
    assert closer.edges == []
    assert len(used) == 0
    assert np.array_equal(poses, drifting(true_poses()))


@pytest.mark.parametrize("seed", range(3))
def test_loops_that_disagree_with_each_other_are_not_used(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)

    def off(source: int, target: int) -> Floats:
        direction = rng.normal(size=3)
        # More than the tolerance and the drift over the few keyframes between two loops, in different directions.
        return pose(np.eye(3), 8 * direction / np.linalg.norm(direction)) @ relative(source, target)

    closer = followed(monkeypatch, off)
    _, used = closer.poses()
    assert not used.any()


def test_loops_that_agree_but_contradict_the_odometry_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a city whose blocks are alike: every keyframe finds a place that looks the same, a block away."""
    aside = pose(np.eye(3), [0, 0, 2 * LOOPS.drift * 2 * np.pi * RADIUS + 2 * VOXEL])
    closer = followed(monkeypatch, lambda source, target: aside @ relative(source, target))
    assert closer.edges == []


def test_frames_that_were_lost_widen_what_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    closer = followed(monkeypatch, lambda *_: None)
    predicted, allowance = closer._predictions()
    assert np.allclose(predicted[-1], np.eye(4))
    assert (np.diff(allowance) < 0).all()
    closer.add(3 * COUNT, np.random.default_rng(1).normal(size=(150, 3)), closer.keyframes[-1].pose, VOXEL, lost=True)
    step = closer.keyframes[-1]
    assert closer._allowance(COUNT) == pytest.approx(LOOPS.lost_drift * step.moved)


def edges_of_one_pair(seed: int, sigmas: Floats) -> list[Edge]:
    """Measurements of one edge with errors of these standard deviations, about a centre of the target."""
    rng = np.random.default_rng(seed)
    truth, about = random_transform(seed, 5.0), pose(np.eye(3), CENTRE)
    edges = []
    for sigma in sigmas:
        error = sigma * rng.normal(size=6)
        T = about @ pose(rotation_from_vector(error[:3]), error[3:]) @ inverse(about) @ truth
        edges.append(Edge(1, 0, T, True, 0.95, 0.8, np.diag(sigma**-2), CENTRE, True, ""))
    return edges


@settings(max_examples=20)
@given(seed=seeds)
def test_the_mean_of_two_measurements_is_that_of_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = edges_of_one_pair(seed, 10 ** rng.uniform(-4, -2, size=(2, 6)))
    mean = weighted_mean(edges[0], edges[1], CENTRE)
    assume(mean is not None)
    assert mean is not None
    about = np.array([pose(np.eye(3), CENTRE), np.eye(4)])
    start = np.array([np.eye(4), inverse(about[0]) @ edges[0].transformation])
    # Of pose 1 with respect to pose 0, which is at the centre.
    expected = about[0] @ least_squares_poses(centred_graph(edges, about, start))[1]
    # The chart is not linear: errors of 1e-2, squared.
    assert np.allclose(mean.transformation, expected, atol=1e-3 * (1 + np.abs(expected).max()))
    assert mean.information is not None
    assert np.allclose(mean.information, sum(edge.information for edge in edges if edge.information is not None))


@settings(max_examples=20)
@given(seed=seeds, more=st.floats(1.5, 10))
def test_measurements_that_contradict_each_other_have_no_mean(seed: int, more: float) -> None:
    first, second = edges_of_one_pair(seed, np.full((2, 6), 1e-9))
    sigma = 1e-3
    first, second = (replace(edge, information=np.eye(6) / sigma**2) for edge in (first, second))
    direction = np.random.default_rng(seed).normal(size=3)
    # The difference of both has twice the variance of one.
    limit = sigma * np.sqrt(2 * POSE_GRAPH.outlier_threshold) * direction / np.linalg.norm(direction)
    for factor, agrees in ((1 / more, True), (more, False)):
        moved = replace(second, transformation=pose(np.eye(3), factor * limit) @ second.transformation)
        assert (weighted_mean(first, moved, CENTRE) is not None) == agrees


def test_the_surfels_of_a_loop_are_not_taken_across_lost_frames() -> None:
    closer = LoopCloser()
    blank = np.zeros((1, 3), np.float32)
    closer.keyframes = [Keyframe(n, np.zeros(3), blank, np.eye(4), VOXEL, 1.0, n in (3, 7)) for n in range(12)]
    assert [closer._around(n) for n in (0, 2, 3, 5, 6, 9, 11)] == [
        range(3), range(3), range(3, 6), range(3, 7), range(4, 7), range(7, 12), range(9, 12),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_loop_is_as_precise_as_the_odometry_and_needs_the_surfels() -> None:
    """Frames are so sparse that a registration of two of them is off by up to half a metre."""
    scans = list(city_routes.follow(length=25.0, step=2.5, block=(60.0, 50.0), points=4000))
    truth = np.array([inverse(scans[0].pose) @ scan.pose for scan in scans])
    closer = LoopCloser()
    moved = [0.0, *(displacement(scans[k].points, inverse(truth[k - 1]) @ truth[k]) for k in range(1, len(scans)))]
    for k, scan in enumerate(scans):
        centre = scan.points.mean(axis=0)
        points = (scan.points - centre).astype(np.float32)
        closer.keyframes.append(Keyframe(k, centre, points, truth[k], 1.1, moved[k], False))
    true = inverse(truth[4]) @ truth[8]
    off = pose(rotation_from_vector([0.004, -0.004, 0.01]), [0.3, -0.2, 0.1])
    vague = np.diag(np.repeat([1 / 0.03, 1 / 0.5], 3) ** 2)
    tracked = closer._tracked(Edge(8, 4, off @ true, True, 0.9, 0.8, vague, np.zeros(3), True, ""))
    assert tracked is not None
    assert translation_error(tracked.transformation, true) < 0.05
    assert angular_error(tracked.transformation, true) < 0.1
    wrong = pose(np.eye(3), [0, 12.0, 0]) @ true
    assert closer._tracked(Edge(8, 4, wrong, True, 0.9, 0.8, vague, np.zeros(3), True, "")) is None
    # The surfels know better than to be half a metre off.
    sharp = 1e4 * vague
    assert closer._tracked(Edge(8, 4, off @ true, True, 0.9, 0.8, sharp, np.zeros(3), True, "")) is None


@settings(max_examples=20)
@given(seed=seeds, count=st.integers(1, 12), every=st.integers(1, 4))
def test_corrected_poses_follow_the_keyframes(seed: int, count: int, every: int) -> None:
    poses = np.array([random_transform(seed + k, 5.0) for k in range(count)])
    keyframes = list(range(0, count, every))
    centres = np.random.default_rng(seed).normal(size=(len(keyframes), 3))
    assert np.allclose(corrected_poses(poses, keyframes, poses[keyframes], centres), poses)
    moved = random_transform(seed + 99, 5.0)
    assert np.allclose(corrected_poses(poses, keyframes, moved @ poses[keyframes], centres), moved @ poses, atol=1e-9)
    new = np.array([random_transform(seed + 50 + k, 5.0) for k in keyframes])
    corrected = corrected_poses(poses, keyframes, new, centres)
    assert np.allclose(corrected[keyframes], new, atol=1e-9)
    assert np.allclose(np.linalg.det(corrected[:, :3, :3]), 1)
