"""Sets of poses: which of them are different."""

from __future__ import annotations

import numpy as np

from graphreg.engine.pose_sets import box_corners, distinct_poses
from graphreg.poses import pose, rotation_from_vector


def test_of_equal_poses_the_first_is_kept() -> None:
    corners = box_corners(np.random.default_rng(0).uniform(-10, 10, (500, 3)))
    moved = ((0.0, 0.0), (0.0, 0.1), (0.0, 9.0), (1.0, 0.0), (1.0, 0.1))
    poses = np.array([pose(rotation_from_vector([angle, 0, 0]), [shift, 0, 0]) for angle, shift in moved])
    assert distinct_poses(poses, corners, 1.0, 9).tolist() == [0, 2, 3]
    assert distinct_poses(poses, corners, 1.0, 2).tolist() == [0, 2]
    assert distinct_poses(poses[:0], corners, 1.0, 2).tolist() == []


def test_the_corners_enclose_most_points() -> None:
    points = np.random.default_rng(1).normal(size=(1000, 3)) * [1, 2, 3]
    corners = box_corners(points)
    assert corners.shape == (8, 3)
    inside = ((points >= corners.min(axis=0)) & (points <= corners.max(axis=0))).all(axis=1)
    assert 0.65 < inside.mean() < 0.8
