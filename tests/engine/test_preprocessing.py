"""Preprocessed clouds: sampled, distinct, in a local frame, with a bounded cache."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial import cKDTree
from tests.support.strategies import Floats, random_cloud, small_pair

import graphreg
from graphreg.datasets import synthetic
from graphreg.engine.preprocessing import PREPROCESSING, map_pair, preprocess
from graphreg.engine.pyramid import build_pyramids
from graphreg.poses import pose, transform


@pytest.fixture(scope="module")
def pair() -> synthetic.Pair:
    return small_pair("casting")


def test_points_are_distinct_and_at_most_as_many_as_asked_for(pair: synthetic.Pair) -> None:
    once, twice = preprocess(pair.source, "source"), preprocess(np.repeat(pair.source, 2, axis=0), "source")
    assert np.array_equal(once.local_points, twice.local_points)
    fewer, others = (preprocess(pair.source, "source", max_points=3000, seed=seed).points for seed in (0, 1))
    assert len(fewer) == 3000
    assert not np.array_equal(fewer[:100], others[:100])
    distance, row = cKDTree(pair.source).query(fewer)
    assert distance.max() < 1e-12
    assert len(set(row)) == 3000


def test_far_points_are_dropped_with_their_weights(pair: synthetic.Pair) -> None:
    points = np.vstack([pair.source, [[1e6, 0, 0], [0, -1e9, 0]]])
    weights = np.arange(1.0, len(points) + 1)
    found = preprocess(points, "source", weights)
    np.testing.assert_allclose(found.points, pair.source, atol=1e-12)
    assert found.weights is not None
    assert np.array_equal(found.weights, weights[:-2])


def test_the_local_frame_has_the_centroid_and_the_principal_axes(pair: synthetic.Pair) -> None:
    for points in (pair.source, pair.target):
        local = preprocess(points, "points").local_points
        # Computed from a sample, so approximately.
        np.testing.assert_allclose(local.mean(axis=0), 0, atol=0.01 * np.ptp(local))
        np.testing.assert_allclose(local.T @ local, np.diag(np.diag(local.T @ local)), atol=0.01 * (local**2).sum())


def test_another_frame_keeps_the_points(pair: synthetic.Pair) -> None:
    T = pose(np.eye(3), -pair.target.mean(axis=0))
    for points in (pair.source, pair.target):
        cloud = preprocess(points, "points").in_frame(T)
        np.testing.assert_allclose(cloud.local_points, transform(T, points), atol=1e-12)
        np.testing.assert_allclose(cloud.points, points, atol=1e-12)


def test_subsampling_leaves_one_point_a_voxel(pair: synthetic.Pair) -> None:
    cloud = preprocess(pair.source, "source", np.arange(1.0, len(pair.source) + 1))
    voxel = 4 * cloud.voxel_sizes.finest
    some = cloud.subsample(voxel)
    voxels = np.floor(some.local_points / voxel)
    assert len(np.unique(voxels, axis=0)) == len(some)
    assert len(np.unique(np.floor(cloud.local_points / voxel), axis=0)) == len(some)
    distance, row = cKDTree(cloud.local_points).query(some.local_points)
    assert not distance.any()
    assert cloud.weights is not None
    assert np.array_equal(some.weights, cloud.weights[row])


@pytest.mark.slow
def test_the_cache_computes_once_is_bounded_and_is_not_pickled(pair: synthetic.Pair) -> None:
    source, target = preprocess(pair.source, "source"), preprocess(pair.target, "target")
    first, second = build_pyramids(source, target), build_pyramids(target, source)
    assert first[0] is second[1]
    assert first[1] is second[0]
    coarser = build_pyramids(source, target, voxel=2 * first[0].fine_voxel)
    assert coarser[0] is not first[0]
    for factor in range(3, 3 + PREPROCESSING.cache_size):
        build_pyramids(source, target, voxel=factor * first[0].fine_voxel)
        assert len(source._cache) <= PREPROCESSING.cache_size
    assert build_pyramids(source, target)[0] is not first[0]
    assert pickle.loads(pickle.dumps(source))._cache == {}


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.repeat(random_cloud("blob", 5, 0), 20, axis=0), "source: has 5 distinct points"),
        (np.zeros((100, 3)), "source: has 1 distinct points"),
    ],
)
def test_too_few_distinct_points_are_refused(points: Floats, message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        build_pyramids(preprocess(points, "source"), preprocess(random_cloud("box", 300, 1), "target"))


def test_both_clouds_get_half_of_the_threads() -> None:
    for threads, share in ((1, 1), (2, 1), (5, 2), (8, 4)):
        found = map_pair(lambda item, workers: (item, workers), ("a", "b"), threads)
        assert found == (("a", share), ("b", share))
