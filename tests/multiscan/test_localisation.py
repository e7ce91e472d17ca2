"""Localisation in a prior map: from any pose, tracked, lost and found again; and never where the frame is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.walks import NOISE, frame_at, scene_points, walk_frames, walk_poses

from graphreg.errors import InputError
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan.localisation import Localisation, localise
from graphreg.multiscan.trajectory import FrameResult
from graphreg.poses import pose, rotation_from_vector, transform

COUNT = 3
# A pose is estimated from thousands of points, so its error is below the noise of one.
DEGREES, METRES = 0.2, 4 * NOISE
# Coordinates of a survey: the map is far from their origin.
FAR = pose(rotation_from_vector([0.0, 0.0, 0.5]), [4.5e5, 5.4e6, 300.0])


@pytest.fixture(scope="module")
def far_map() -> np.ndarray:
    return transform(FAR, scene_points())


def assert_right(step: FrameResult, truth: np.ndarray) -> None:
    assert step.success, step.reason
    assert angular_error(step.pose, truth) < DEGREES
    assert translation_error(step.pose, truth) < METRES


@pytest.mark.slow
def test_a_walk_is_localised_and_a_lost_frame_found_again(far_map: np.ndarray) -> None:
    truth = [FAR @ each for each in walk_poses(COUNT)]
    elsewhere = pose(rotation_from_vector([0.2, -0.3, 2.5]), [-1.0, 0.7, 1.5])
    foreign = frame_at(np.eye(4), 1, "facade")
    frames: list[Any] = [foreign, *walk_frames(COUNT), frame_at(elsewhere, 9), np.empty((0, 3)), walk_frames(1)[0]]
    first, *steps = localise(frames, far_map).steps
    assert [step.success for step in (first, *steps)] == [False, *[True] * (COUNT + 1), False, True]
    for step, true in zip((*steps[: COUNT + 1], steps[-1]), (*truth, FAR @ elsewhere, truth[0]), strict=True):
        assert_right(step, true)
    # The first frame and those after a loss are searched for in the whole map, the others are tracked.
    assert all((step.global_search, step.target) == (True, "map") for step in (steps[0], steps[COUNT], steps[-1]))
    assert not any(step.global_search for step in steps[2:COUNT])
    # A frame that is lost has a prediction and a reason.
    assert all(np.isfinite(step.pose).all() and step.reason.startswith("not ") for step in (first, steps[-2]))


@pytest.mark.slow
def test_a_map_that_shows_the_same_twice_is_ambiguous() -> None:
    once = scene_points()
    aside = pose(rotation_from_vector([0.0, 0.0, 1.0]), [3 * float(np.ptp(once[:, 0])), 1.0, 0.0])
    frame = walk_frames(1)[0]
    step = Localisation(np.concatenate([once, transform(aside, once)])).add(frame)
    assert not step.success
    assert "ambiguous" in step.reason
    assert step.confidence <= 0.6


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads_and_one_by_one() -> None:
    frames = walk_frames(2)
    together = localise(frames, scene_points(), threads=2)
    localisation = Localisation(scene_points(), threads=1)
    assert np.array_equal(together.poses, [localisation.add(frame).pose for frame in frames])


def test_callback_and_limit_stop() -> None:
    assert localise([], scene_points()).steps == ()
    seen: list[FrameResult] = []
    few = [np.zeros((3, 3))] * 5
    localise(few, scene_points(), callback=lambda step: seen.append(step) or len(seen) == 2)
    assert [step.number for step in seen] == [0, 1]
    assert len(localise(few, scene_points(), every=2, limit=2).steps) == 2


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"prior_map": np.zeros((2, 3))}, "prior_map"),
        ({"prior_map": np.full((50, 3), np.nan)}, "prior_map"),
        ({"prior_map": "missing.ply"}, "missing.ply"),
        ({"frames": 3}, "frames"),
        ({"every": 0}, "every"),
        ({"threads": 0}, "threads"),
        ({"times": "late"}, "times"),
        ({"seed": "one"}, "seed"),
    ],
)
def test_bad_arguments_are_named(bad: dict[str, Any], name: str) -> None:
    arguments: dict[str, Any] = {"frames": [], "prior_map": scene_points(), **bad}
    with pytest.raises(InputError, match=name):
        localise(**arguments)
