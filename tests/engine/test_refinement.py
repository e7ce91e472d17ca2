"""The last steps: exact, the same from both sides, and on pieces as small as the noise allows."""

from __future__ import annotations

import numpy as np
import pytest

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import add_noise
from graphreg.engine.preprocessing import SurfelPyramid, build_pyramids, preprocess, to_cloud_frames, to_pyramid_frames
from graphreg.engine.refinement import _side, refine_fine
from graphreg.poses import inverse, pose, rotation_from_vector, transform

FREE = (True,) * 6


def views(source: Floats, target: Floats) -> tuple[SurfelPyramid, SurfelPyramid]:
    return build_pyramids(preprocess(source, "source"), preprocess(target, "target"))


def moved_a_little(extent: float) -> Floats:
    return pose(rotation_from_vector(np.radians([1.0, -0.6, 0.8])), np.array([0.004, -0.003, 0.002]) * extent)


def settle_between(source: SurfelPyramid, target: SurfelPyramid, start: Floats) -> Floats:
    found = refine_fine(source, target, to_pyramid_frames(start, source, target), FREE, np.zeros(3), False)
    return to_cloud_frames(found, source, target)


@pytest.mark.parametrize("name", ["hare", "casting"])
def test_a_copy_is_laid_on_itself_to_the_last_digits(name: str) -> None:
    scan = synthetic.scan(name, points=8_000).points
    truth = moved_a_little(float(np.ptp(scan)))
    source, target = views(scan, transform(truth, scan))
    off = settle_between(source, target, np.eye(4)) @ inverse(truth)
    assert np.abs(off - np.eye(4)).max() < 1e-4


def test_from_the_other_side_it_is_the_inverse() -> None:
    made = synthetic.pair("hare", 30.0, points=8_000)
    source, target = views(made.source, made.target)
    there = settle_between(source, target, made.T_target_source)
    back = settle_between(target, source, inverse(made.T_target_source))
    # Pieces begin on one side only; the points that end it are on both.
    assert np.abs(there @ back - np.eye(4)).max() < 1e-4


def test_points_of_both_sides_pull_alike() -> None:
    """Swapping roles in the last steps gives the inverse motion, step by step."""
    made = synthetic.pair("casting", 30.0, points=6_000)
    x, y = (view.fine for view in views(made.source, made.target))
    start = to_pyramid_frames(made.T_target_source, *views(made.source, made.target))
    start[:3, 3] *= 2.5
    here, there = (
        _core.SurfelPoints(surface.grid, surface.points, np.arange(len(surface), dtype=np.int32), np.ones(len(surface)))
        for surface in (x, y)
    )
    freedom = _core.DegreesOfFreedom(FREE, np.zeros(3))
    forth = _core.refine_symmetric(here, there, start, 0.7, 8, 1e-9, freedom, 1)
    back = _core.refine_symmetric(there, here, inverse(start), 0.7, 8, 1e-9, freedom, 1)
    np.testing.assert_allclose(forth @ back, np.eye(4), atol=2e-6)


def test_the_same_bits_for_any_number_of_threads() -> None:
    made = synthetic.pair("hand", 30.0, points=8_000)
    source, target = views(made.source, made.target)
    start = to_pyramid_frames(made.T_target_source, source, target)
    alone, *others = (refine_fine(source, target, start, FREE, np.zeros(3), False, threads) for threads in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(other, alone)


def test_pieces_grow_with_noise_and_not_with_relief() -> None:
    scan = synthetic.scan("hare", points=20_000).points
    sides = []
    for noise in (0.0, 0.002, 0.008, 0.014):
        source, target = views(add_noise(scan, noise, 1), add_noise(scan, noise, 2))
        sides.append(_side(source, target) / target.fine_cell)
    assert sides[0] == sides[1] == 1
    assert 1 < sides[2] < sides[3]


def test_noise_costs_less_than_on_fine_pieces() -> None:
    made = synthetic.pair("hare", 30.0, points=20_000)
    wide, narrow = [], []
    for seed in range(3):
        source, target = views(add_noise(made.source, 0.014, 2 * seed), add_noise(made.target, 0.014, 2 * seed + 1))
        start = to_pyramid_frames(made.T_target_source, source, target)
        for as_asked, errors in ((False, wide), (True, narrow)):
            found = to_cloud_frames(refine_fine(source, target, start, FREE, np.zeros(3), as_asked), source, target)
            errors.append(np.linalg.norm((found @ inverse(made.T_target_source))[:3, :3] - np.eye(3)))
    assert np.mean(wide) < np.mean(narrow)
