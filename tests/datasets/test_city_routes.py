"""Routes through the synthetic city: evenly spaced frames on the right of the road, and blocks that are alike."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from graphreg.datasets.city import PLAN, grid_city
from graphreg.datasets.city_routes import ROUND, SWAY, _Track, follow
from graphreg.errors import InputError
from graphreg.metrics import angular_error


def test_the_vehicle_moves_steadily_and_comes_round() -> None:
    track = _Track(100.0 * np.array(ROUND))
    at = np.arange(0, track.length, 0.5)
    poses = [track.sensor_pose(distance) for distance in at]
    steps = [np.linalg.norm(there[:3, 3] - here[:3, 3]) for here, there in pairwise(poses)]
    # On a bend the lane is outside of the middle of the road, or inside.
    assert min(steps) > 0.3
    assert max(steps) < 0.7
    assert max(angular_error(here, there) for here, there in pairwise(poses)) < 5.0
    start = poses[0][:3, 3]
    closest = min(
        np.linalg.norm(pose[:3, 3] - start) for pose, distance in zip(poses, at, strict=True) if distance > 50
    )
    # Where the first street is taken again, but for the bend into it.
    assert closest < 9.0
    for pose in poses:
        across = np.abs(pose[:2, 3] - 100.0 * np.round(pose[:2, 3] / 100.0))
        assert across.min() < PLAN.road
        assert abs(pose[2, 3] - PLAN.sensor) < SWAY[0][0]


def test_blocks_are_alike_where_they_are_to_be() -> None:
    streets = 40.0 * np.arange(3)
    rng = np.random.default_rng
    for alike in (True, False):
        parts = grid_city(streets, streets, rng(0), alike).scene.parts
        roads = len(streets) + (len(streets) - 1) * len(streets)
        count = (len(parts) - roads) // 4
        centres = [
            np.array([part.centre for part in parts[roads + k * count : roads + (k + 1) * count]]) for k in (0, 1)
        ]
        assert np.allclose(centres[1] - centres[0], [0.0, 40.0, 0.0]) == alike


@pytest.mark.slow
def test_arguments_determine_every_bit() -> None:
    first, again, other = (next(follow(block=(50, 50), points=500, seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(first.points, again.points)
    assert not np.array_equal(first.points[:9], other.points[:9])


@pytest.mark.parametrize(
    "arguments",
    [
        {"route": ((0, 0),)},
        {"route": ((0, 0), (1, 1))},
        {"route": ((0, 0), (2, 0), (1, 0))},
        {"route": ((0, 0), (99, 0))},
        {"route": "north"},
        {"length": 1e6},
        {"step": 0.0},
        {"block": (1.0, 50.0)},
        {"points": 1},
        {"noise": -1.0},
        {"alike": 2},
        {"seed": 0.5},
        {"variant": -1},
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(arguments))):
        follow(**arguments)
