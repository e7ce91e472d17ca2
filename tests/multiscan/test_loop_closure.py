"""Loop closure: loops that agree correct the drift; one that is alone, or that the odometry rules out, is not used."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.strategies import random_transform, seeds

from graphreg.clouds import Floats
from graphreg.multiscan import loop_closure
from graphreg.multiscan.loop_closure import LOOPS, LoopCloser, corrected_poses
from graphreg.multiscan.multiway_result import Edge
from graphreg.poses import inverse, pose, rotation_from_vector

LAP, COUNT = 16, 22
RADIUS, VOXEL = 20.0, 1.0
# Of each step of the odometry: rotation about z in radians, and a share of its length.
TURN, SHORTER = 0.001, 0.004


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
