"""Free space: surfels in front of what the other scan saw, against a wall seen from a known viewpoint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.strategies import Floats, random_transform, small_pair

from graphreg.engine.free_space import FREE_SPACE, seen_through
from graphreg.engine.orientation import Orientation
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import SurfelPyramid, build_pyramids, to_pyramid_frames
from graphreg.poses import pose, rotation_from_vector, transform


@pytest.fixture(scope="module")
def pyramids() -> tuple[SurfelPyramid, SurfelPyramid]:
    """A wavy wall, scanned twice, seen from the same side."""
    rng = np.random.default_rng(0)
    walls = []
    for _ in range(2):
        x, y = rng.uniform(-1, 1, (2, 8000))
        walls.append(np.column_stack([x, y, 2 + 0.05 * np.sin(4 * x) * np.cos(3 * y)]))
    x, y = build_pyramids(preprocess(walls[0], "source"), preprocess(walls[1], "target"))
    return _seen_from_the_origin(x), _seen_from_the_origin(y)


def _seen_from_the_origin(pyramid: SurfelPyramid) -> SurfelPyramid:
    return replace(pyramid, orientation=Orientation(pyramid.T_local_cloud[:3, 3], towards=True))


def at(pyramids: tuple[SurfelPyramid, SurfelPyramid], T: Floats) -> float:
    return seen_through(*pyramids, to_pyramid_frames(T, *pyramids))


def test_nothing_is_in_front_of_what_coincides(pyramids: tuple[SurfelPyramid, SurfelPyramid]) -> None:
    assert at(pyramids, np.eye(4)) == 0


@pytest.mark.parametrize("height", [-0.9, 0.9])
def test_all_is_in_front_where_one_wall_is_nearer(pyramids: tuple[SurfelPyramid, SurfelPyramid], height: float) -> None:
    """In either direction: where the source is behind the target, the target is in front of the source."""
    count = min(len(pyramid.coarse) for pyramid in pyramids)
    # A wall at half the distance covers what is in front of a quarter of the other.
    expected = count / 5 / (count / 5 + FREE_SPACE.usual)
    assert at(pyramids, pose(np.eye(3), [0, 0, height])) > expected


def test_the_true_pose_of_scans_is_seen_through_least() -> None:
    pair = small_pair("casting")
    x, y = build_pyramids(preprocess(pair.source, "source"), preprocess(pair.target, "target"))
    truth = at((x, y), pair.T_target_source)
    centre = pair.target.mean(axis=0)
    for seed in range(3):
        rotation = random_transform(seed, 0.0)[:3, :3]
        wrong = pose(rotation, centre - rotation @ centre) @ pair.T_target_source
        assert truth < at((x, y), wrong)


def test_it_does_not_depend_on_the_frames() -> None:
    pair = small_pair("casting")
    x, y = build_pyramids(preprocess(pair.source, "source"), preprocess(pair.target, "target"))
    S = pose(rotation_from_vector([0.3, 0.2, -1.0]), [1.0, 2.0, 3.0])
    moved, _ = build_pyramids(preprocess(transform(S, pair.source), "source"), preprocess(pair.target, "target"))
    there = pair.T_target_source @ np.linalg.inv(S)
    assert at((moved, y), there) == pytest.approx(at((x, y), pair.T_target_source), abs=0.02)
