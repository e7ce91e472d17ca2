"""Fine refinement: exact, symmetric in source and target, on voxels as small as the noise allows."""

from __future__ import annotations

import numpy as np
import pytest

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import add_noise
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import SurfelPyramid, build_pyramids, to_cloud_frames, to_pyramid_frames
from graphreg.engine.refinement import FineRefinement, refinement_voxel
from graphreg.poses import inverse, pose, rotation_from_vector, transform

FREE = (True,) * 6


def pyramids(source: Floats, target: Floats) -> tuple[SurfelPyramid, SurfelPyramid]:
    return build_pyramids(preprocess(source, "source"), preprocess(target, "target"))


def small_transform(extent: float) -> Floats:
    return pose(rotation_from_vector(np.radians([1.0, -0.6, 0.8])), np.array([0.004, -0.003, 0.002]) * extent)


def refined(source: SurfelPyramid, target: SurfelPyramid, initial: Floats, fixed_voxel: bool = False) -> Floats:
    """The refined transform between the clouds."""
    T = to_pyramid_frames(initial, source, target)
    return to_cloud_frames(FineRefinement(source, target, FREE, np.zeros(3), fixed_voxel)(T), source, target)


@pytest.mark.parametrize("name", ["hare", "casting"])
def test_a_copy_is_registered_to_itself_to_the_last_digits(name: str) -> None:
    scan = synthetic.scan(name, points=4_000).points
    truth = small_transform(float(np.ptp(scan)))
    source, target = pyramids(scan, transform(truth, scan))
    error = refined(source, target, np.eye(4)) @ inverse(truth)
    assert np.abs(error - np.eye(4)).max() < 1e-4


@pytest.mark.slow
def test_swapping_the_clouds_gives_the_inverse() -> None:
    pair = synthetic.pair("hare", 30.0, points=4_000)
    source, target = pyramids(pair.source, pair.target)
    there = refined(source, target, pair.T_target_source)
    back = refined(target, source, inverse(pair.T_target_source))
    # The surfel-to-surfel steps are one-sided; the point-to-plane steps that follow are symmetric.
    assert np.abs(there @ back - np.eye(4)).max() < 1e-4


@pytest.mark.slow
def test_symmetric_steps_are_symmetric() -> None:
    """Swapping source and target gives the inverse transform, step by step."""
    pair = synthetic.pair("casting", 30.0, points=4_000)
    both = pyramids(pair.source, pair.target)
    initial = to_pyramid_frames(pair.T_target_source, *both)
    initial[:3, 3] *= 2.5
    x, y = (
        _core.SurfelPoints(surfels.grid, surfels.points, np.arange(len(surfels), dtype=np.int32), np.ones(len(surfels)))
        for surfels in (pyramid.fine for pyramid in both)
    )
    dof = _core.DegreesOfFreedom(FREE, np.zeros(3))
    forth = _core.refine_symmetric(x, y, initial, 0.7, 8, 1e-9, dof, 1)
    back = _core.refine_symmetric(y, x, inverse(initial), 0.7, 8, 1e-9, dof, 1)
    np.testing.assert_allclose(forth @ back, np.eye(4), atol=2e-6)


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads() -> None:
    pair = synthetic.pair("hand", 30.0, points=4_000)
    source, target = pyramids(pair.source, pair.target)
    T = to_pyramid_frames(pair.T_target_source, source, target)
    alone, *others = (FineRefinement(source, target, FREE, np.zeros(3))(T, threads) for threads in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(other, alone)


@pytest.mark.slow
def test_voxels_grow_with_noise_and_not_with_relief() -> None:
    scan = synthetic.scan("hare", points=10_000).points
    factors = []
    for noise in (0.0, 0.002, 0.008, 0.014):
        source, target = pyramids(add_noise(scan, noise, 1), add_noise(scan, noise, 2))
        factors.append(refinement_voxel(source, target) / target.fine_voxel)
    assert factors[0] == factors[1] == 1
    assert 1 < factors[2] < factors[3]


@pytest.mark.slow
def test_under_noise_larger_voxels_are_more_accurate() -> None:
    pair = synthetic.pair("hare", 30.0, points=10_000)
    wide, narrow = [], []
    for seed in range(3):
        source, target = pyramids(add_noise(pair.source, 0.014, 2 * seed), add_noise(pair.target, 0.014, 2 * seed + 1))
        for fixed_voxel, errors in ((False, wide), (True, narrow)):
            error = refined(source, target, pair.T_target_source, fixed_voxel) @ inverse(pair.T_target_source)
            errors.append(np.linalg.norm(error[:3, :3] - np.eye(3)))
    assert np.mean(wide) < np.mean(narrow)
