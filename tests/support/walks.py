"""A synthetic walk through a scene: small frames with exact poses."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.poses import inverse, pose, rotation_from_vector, transform

# Standard deviation of each coordinate of a frame, in metres.
NOISE = 0.002
# Points of a frame.
POINTS = 3_000


@lru_cache
def scene_points(name: str = "room") -> Floats:
    """A scene as points in the world frame, scanned from two sides. Not to be written to."""
    return np.concatenate([transform(scan.pose, scan.points) for scan in synthetic.sequence(name, 2, points=8_000)])


def walk_poses(count: int) -> list[Floats]:
    """Poses T_world_frame, each 8 cm and about two degrees from the one before."""
    return [
        pose(rotation_from_vector([0.0, 0.01 * np.sin(k), 0.04 * k]), [0.08 * k, 0.02 * np.sin(k), 1.2])
        for k in range(count)
    ]


def frame_at(T_world_frame: Floats, seed: int, name: str = "room") -> Floats:
    """A random sample of the points of a scene, with noise, in the frame of the sensor."""
    rng = np.random.default_rng([seed, 7])
    points = scene_points(name)
    sample = points[rng.choice(len(points), POINTS, replace=False)]
    return transform(inverse(T_world_frame), sample + NOISE * rng.normal(size=sample.shape))


def walk_frames(count: int) -> list[Floats]:
    """The frame at each pose of the walk, each a sample of its own."""
    return [frame_at(T_world_frame, k) for k, T_world_frame in enumerate(walk_poses(count))]


def in_first_frame(poses: list[Floats]) -> Floats:
    """Poses with respect to the first, (N, 4, 4)."""
    return np.array([inverse(poses[0]) @ each for each in poses])
