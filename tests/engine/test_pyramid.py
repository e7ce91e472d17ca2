"""Surfel pyramids: cleaned clouds in local frames, with common voxel sizes."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from tests.support.strategies import Floats, random_cloud, random_transform, seeds, small_pair

from graphreg.datasets import synthetic
from graphreg.engine.pipeline import RETRY
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import SurfelPyramid, build_pyramids, to_cloud_frames, to_pyramid_frames
from graphreg.engine.voxel_sizes import VOXEL_SIZES
from graphreg.poses import inverse, pose, transform


def pyramids(source: Floats, target: Floats, threads: int = 1) -> tuple[SurfelPyramid, SurfelPyramid]:
    return build_pyramids(preprocess(source, "source"), preprocess(target, "target"), threads=threads)


@pytest.fixture(scope="module")
def pair() -> synthetic.Pair:
    return small_pair("casting")


def test_pyramids_are_in_no_reference_cycle(pair: synthetic.Pair) -> None:
    """Else memory would grow from pair to pair until the garbage collector runs."""
    gc.disable()
    try:
        pyramid = weakref.ref(pyramids(pair.source, pair.target)[0])
        assert pyramid() is None
    finally:
        gc.enable()


def test_both_have_the_same_voxel_sizes_and_about_as_many_surfels_as_wanted(pair: synthetic.Pair) -> None:
    x, y = pyramids(pair.source, pair.target)
    assert (x.coarse_voxel, x.fine_voxel) == (y.coarse_voxel, y.fine_voxel)
    assert y.coarse_voxel / VOXEL_SIZES.fine_per_coarse <= y.fine_voxel < y.coarse_voxel
    # By counts in a sample and a power law.
    assert 0.7 < min(len(x.coarse), len(y.coarse)) / VOXEL_SIZES.coarse_surfels < 1.4
    for pyramid in (x, y):
        assert pyramid.descriptors.shape == (len(pyramid.coarse), 96)
        assert np.linalg.det(pyramid.T_local_cloud[:3, :3]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("distance", [0.0, 100.0])
def test_a_rigid_motion_of_the_cloud_does_not_change_its_pyramid(pair: synthetic.Pair, distance: float) -> None:
    T = random_transform(3, distance)
    here, _ = pyramids(pair.source, pair.target)
    there, _ = pyramids(transform(T, pair.source), pair.target)
    assert there.coarse_voxel == pytest.approx(here.coarse_voxel, rel=1e-9)
    assert len(there.coarse) == len(here.coarse)
    np.testing.assert_allclose(there.coarse.points, here.coarse.points, atol=1e-9)
    np.testing.assert_allclose(there.T_local_cloud @ T, here.T_local_cloud, atol=1e-9)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.5])
def test_outliers_do_not_change_the_voxel_size(pair: synthetic.Pair, ratio: float) -> None:
    corrupted, _ = synthetic.add_outliers(pair.source, ratio, "gaussian", 1)
    clean, _ = pyramids(pair.source, pair.target)
    found, _ = pyramids(corrupted, pair.target)
    assert found.coarse_voxel == pytest.approx(clean.coarse_voxel, rel=0.25)


def test_frame_and_voxel_size_can_be_chosen(pair: synthetic.Pair) -> None:
    T = pose(np.eye(3), -pair.target.mean(axis=0))
    source, target = (preprocess(points, "points").in_frame(T) for points in (pair.source, pair.target))
    x, y = build_pyramids(source, target, voxel=0.002)
    assert x.T_local_cloud is y.T_local_cloud is T
    assert x.fine_voxel == y.fine_voxel == 0.002


def test_clouds_of_similar_size_share_pyramids(pair: synthetic.Pair) -> None:
    source, target = preprocess(pair.source, "source"), preprocess(pair.target, "target")
    fewer = preprocess(np.delete(pair.target, slice(None, None, 20), axis=0), "target")
    assert build_pyramids(source, target, shared=True)[0] is build_pyramids(source, fewer, shared=True)[0]
    assert build_pyramids(source, target)[0] is not build_pyramids(source, fewer)[0]


@pytest.mark.slow
@given(seeds)
def test_transforms_go_between_clouds_and_pyramids_and_back(seed: int) -> None:
    points = random_cloud("box", 300, 1)
    x, y = pyramids(points * 7 + 3, points * 5 - 40)
    T = random_transform(seed, 20.0)
    between = to_pyramid_frames(T, x, y)
    np.testing.assert_allclose(to_cloud_frames(between, x, y), T, atol=1e-9)
    in_cloud = transform(inverse(x.T_local_cloud), x.coarse.points * x.coarse_voxel)
    expected = transform(y.T_local_cloud, transform(T, in_cloud))
    np.testing.assert_allclose(transform(between, x.coarse.points) * y.coarse_voxel, expected, atol=1e-9)


@pytest.mark.slow
def test_density_contrast_is_low_on_objects_and_high_around_a_scanner(pair: synthetic.Pair) -> None:
    street = synthetic.pair("street", 10.0, points=8_000)
    assert pyramids(pair.source, pair.target)[0].density_contrast < RETRY.density_contrast
    assert pyramids(street.source, street.target)[0].density_contrast > RETRY.density_contrast


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads(pair: synthetic.Pair) -> None:
    def bits(threads: int) -> list[bytes]:
        both = pyramids(pair.source, pair.target, threads)
        parts = [(each.coarse.points, each.coarse.normals, each.fine.normals, each.descriptors) for each in both]
        return [array.tobytes() for arrays in parts for array in arrays]

    assert bits(1) == bits(2) == bits(5)
