"""Voxel downsampling: one point for each occupied voxel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphreg
import graphreg._core as _core
from tests.support import twins
from tests.support.strategies import Floats, clouds, random_cloud


def in_order(points: Floats) -> Floats:
    ordered: Floats = points[np.lexsort(points.round(9).T)]
    return ordered


@given(clouds, st.floats(0.01, 1))
def test_each_voxel_is_replaced_by_the_mean_of_its_points(points: Floats, share: float) -> None:
    size = share * np.ptp(points)
    found, expected = graphreg.voxel_downsample(points, size), twins.voxel_means(points, size)
    scale = np.ptp(points)
    np.testing.assert_allclose(in_order(found / scale), in_order(expected / scale), atol=1e-14)


def test_precision_does_not_suffer_far_from_the_origin() -> None:
    points = np.round(random_cloud("surface", 5000, 1) * 2**20) / 2**20
    offset = np.array([5_000_000.0, -4_000_000.0, 10_000_000.0])
    near, far = graphreg.voxel_downsample(points, 0.125), graphreg.voxel_downsample(points + offset, 0.125)
    np.testing.assert_allclose(far - offset, near, rtol=0, atol=4 * np.spacing(1e7))


def test_a_voxel_larger_than_the_cloud_gives_its_centroid() -> None:
    points = np.random.default_rng(0).uniform(1, 2, (1000, 3))
    np.testing.assert_allclose(graphreg.voxel_downsample(points, 10), points.mean(0)[None])


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf"), "1", None, [1, 2, 3], 1j])
def test_sizes_that_are_no_length_are_refused(size: object) -> None:
    with pytest.raises(graphreg.InputError, match="^size: expected a positive length"):
        graphreg.voxel_downsample(np.zeros((5, 3)), size)  # type: ignore[arg-type]


def test_more_voxels_than_keys_are_refused() -> None:
    points = np.vstack([random_cloud("blob", 50, 0), [[1e7, 0, 0]]])
    with pytest.raises(graphreg.InputError, match="use a larger size"):
        graphreg.voxel_downsample(points, 1e-3)
    assert len(graphreg.voxel_downsample(points, 10.0)) >= 2


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-300])
def test_voxels_too_small_for_the_coordinates_have_valid_numbers(size: float) -> None:
    points = np.full((20, 3), 1e150)
    order, starts, keys = _core.group_by_voxel(points, size, 1)
    assert sorted(order) == list(range(20))
    assert starts.tolist() == [0, 20]
    assert keys.tolist() == [0]
