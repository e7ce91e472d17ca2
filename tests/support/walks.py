"""A walk through a room that the tests know every step of: cheap frames with exact poses."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.poses import inverse, pose, rotation_from_vector, transform

# Metres, of each point of a frame.
NOISE = 0.002
POINTS = 6_000


@lru_cache
def place(name: str = "room") -> Floats:
    """A place as points in one frame, seen from two sides."""
    return np.concatenate([transform(scan.pose, scan.points) for scan in synthetic.sequence(name, 2, points=40_000)])


def poses(count: int) -> list[Floats]:
    """Steps of 8 cm and about two degrees, the first at the origin of the room."""
    return [
        pose(rotation_from_vector([0.0, 0.01 * np.sin(k), 0.04 * k]), [0.08 * k, 0.02 * np.sin(k), 1.2])
        for k in range(count)
    ]


def frame(at: Floats, seed: int, name: str = "room") -> Floats:
    """Some points of a place, other ones for each seed, as the sensor sees them."""
    rng = np.random.default_rng([seed, 7])
    points = place(name)
    some = points[rng.choice(len(points), POINTS, replace=False)]
    return transform(inverse(at), some + NOISE * rng.normal(size=some.shape))


def walk(count: int) -> list[Floats]:
    return [frame(at, k) for k, at in enumerate(poses(count))]


def from_first(all_poses: list[Floats]) -> Floats:
    return np.array([inverse(all_poses[0]) @ at for at in all_poses])
