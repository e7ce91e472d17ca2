"""The result of odometry: its poses, its success, and relative transforms."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import random_transform, seeds

from graphreg.multiscan.trajectory import FrameResult, Loop, Trajectory, relative_transforms


@given(st.lists(seeds, min_size=1, max_size=6))
def test_relative_transforms_compose_to_the_poses(some: list[int]) -> None:
    poses = np.stack([random_transform(seed, 2.0) for seed in some])
    steps = relative_transforms(poses)
    assert len(steps) == len(poses) - 1
    reached = poses[0]
    for step, pose in zip(steps, poses[1:], strict=True):
        reached = reached @ step
        np.testing.assert_allclose(reached, pose, atol=1e-13 * len(poses))


def test_a_trajectory_succeeds_if_every_frame_does() -> None:
    good, bad = (FrameResult(np.eye(4), success, 0.5, "") for success in (True, False))
    assert Trajectory((good, good)).success
    assert not Trajectory((good, bad)).success
    assert not Trajectory(()).success
    assert Trajectory(()).poses.shape == (0, 4, 4)
    assert Trajectory((good, bad)).poses.shape == (2, 4, 4)


def test_loops_are_part_of_the_summary() -> None:
    steps = tuple(FrameResult(np.eye(4), True, 0.9, "", number=2 * k, name=f"f{k}") for k in range(3))
    assert "loops" not in repr(Trajectory(steps))
    assert re.search(r"loops +none found", repr(Trajectory(steps, loops=())))
    found = (Loop(4, 0, np.eye(4), 0.97, 0.5), Loop(4, 2, np.eye(4), 0.91, 0.5))
    assert re.search(
        r"loops +2, the longest from f2 back to f0; confidence at least 0.91", repr(Trajectory(steps, loops=found))
    )
