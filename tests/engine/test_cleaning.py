"""Outlier removal: the X84 rule where it can tell, and where most points are outliers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.strategies import Floats, small_pair

from graphreg.datasets import synthetic
from graphreg.engine.cleaning import inlier_voxels, robust_x84_limit
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import build_pyramids
from graphreg.engine.surfels import voxel_moments
from graphreg.features.response import median_absolute_deviation

# So light that their share in a sum of weights tells how many outliers are in it.
OUTLIER_WEIGHT = 1e-6


@pytest.fixture(scope="module")
def pair() -> synthetic.Pair:
    return small_pair("casting")


def points_and_outliers(weights: Floats) -> tuple[float, float]:
    """How many good points and how many outliers sums of weights are made of."""
    good = np.floor(weights + 1e-3)
    return good.sum(), (weights - good).sum() / OUTLIER_WEIGHT


def test_among_few_outliers_the_limit_is_that_of_x84() -> None:
    response = np.random.default_rng(0).exponential(size=2000)
    limit = 5.2 * median_absolute_deviation(response)
    assert robust_x84_limit(response, 5.2) == limit
    assert robust_x84_limit(np.append(response, [np.inf] * 10), 5.2) == limit


def test_a_regular_grid_without_response_is_kept() -> None:
    assert robust_x84_limit(np.zeros(50), 5.2) == 0
    assert robust_x84_limit(np.full(50, 1e-20), 5.2, rounding=1e-9) > 1e-20


def test_where_all_responses_are_equal_all_points_are_kept() -> None:
    response = 0.0045 * (1 + 1e-15 * np.random.default_rng(0).random(2000))
    assert robust_x84_limit(response, 5.2, rounding=1e-14) >= response.max()


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.5])
def test_outliers_are_removed_also_where_they_are_the_majority(pair: synthetic.Pair, ratio: float) -> None:
    corrupted, is_outlier = synthetic.add_outliers(pair.source, ratio, "uniform", 1)
    weights = np.where(is_outlier, OUTLIER_WEIGHT, 1.0)
    pyramid, _ = build_pyramids(preprocess(corrupted, "source", weights), preprocess(pair.target, "target"))
    for surfels in (pyramid.coarse, pyramid.fine):
        good, outliers = points_and_outliers(surfels.weights)
        assert good > 0.75 * len(pair.source)
        assert outliers < 0.1 * is_outlier.sum()


@pytest.mark.slow
def test_isolated_points_are_dropped_before_the_graph_is_built(pair: synthetic.Pair) -> None:
    corrupted, is_outlier = synthetic.add_outliers(pair.source, 1.0, "gaussian", 3)
    weights = np.where(is_outlier, OUTLIER_WEIGHT, 1.0)
    voxel = build_pyramids(preprocess(pair.source, "source"), preprocess(pair.target, "target"))[0].fine_voxel
    good, outliers = points_and_outliers(voxel_moments(corrupted, voxel, weights, keep_isolated=False).weights)
    # Where a wide voxel holds only a corner of the surface, its points are lost too.
    assert good > 0.95 * len(pair.source)
    assert outliers < 0.5 * is_outlier.sum()
    everything = points_and_outliers(voxel_moments(corrupted, voxel, weights).weights)
    assert everything == pytest.approx((len(pair.source), is_outlier.sum()))
    # Nothing is lost of a scan without isolated points, nor where voxels are so small that every point is alone.
    for size in (voxel, 1e-6):
        assert voxel_moments(pair.source, size, keep_isolated=False).weights.sum() == len(pair.source)


def test_a_cloud_of_few_voxels_is_kept_whole(pair: synthetic.Pair) -> None:
    cloud = preprocess(pair.source, "source")
    voxels, kept = inlier_voxels(cloud, float(np.ptp(pair.source)), 10, 5.2)
    assert len(voxels) <= 10
    assert kept.all()
