"""What the engine sees of two clouds: cleaned, in frames of their own, in common cells."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial import cKDTree
from tests.support.strategies import Floats, random_cloud, random_transform, seeds, small_pair

import graphreg
from graphreg.datasets import synthetic
from graphreg.engine.preprocessing import (
    COARSE_PIECES,
    SurfelPyramid,
    build_pyramids,
    map_pair,
    preprocess,
    robust_x84_limit,
    to_cloud_frames,
    to_pyramid_frames,
)
from graphreg.engine.surfels import voxel_moments
from graphreg.features.response import median_absolute_deviation
from graphreg.poses import pose, transform


def seen(
    source: Floats, target: Floats, weights: Floats | None = None, threads: int = 1
) -> tuple[SurfelPyramid, SurfelPyramid]:
    return build_pyramids(preprocess(source, "source", weights), preprocess(target, "target"), threads=threads)


@pytest.fixture(scope="module")
def pair() -> synthetic.Pair:
    return small_pair("casting")


def test_views_hold_nothing_alive_that_holds_them(pair: synthetic.Pair) -> None:
    """Else memory would grow from pair to pair, until the collector of cycles comes by."""
    gc.disable()
    try:
        view = weakref.ref(seen(pair.source, pair.target)[0])
        assert view() is None
    finally:
        gc.enable()


def test_among_few_outliers_the_rule_is_x84() -> None:
    response = np.random.default_rng(0).exponential(size=2000)
    limit = 5.2 * median_absolute_deviation(response)
    assert robust_x84_limit(response, 5.2) == limit
    assert robust_x84_limit(np.append(response, [np.inf] * 10), 5.2) == limit


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.5])
def test_outliers_are_dropped_also_where_most_points_are(pair: synthetic.Pair, ratio: float) -> None:
    spoilt, is_outlier = synthetic.add_outliers(pair.source, ratio, "uniform", 1)
    # So light that their share in a sum of weights tells how many of them are in it.
    weights = np.where(is_outlier, 1e-6, 1.0)
    view, _ = seen(spoilt, pair.target, weights)
    for surface in (view.coarse, view.fine):
        good = np.floor(surface.weights + 1e-3)
        assert good.sum() > 0.75 * len(pair.source)
        assert (surface.weights - good).sum() / 1e-6 < 0.1 * is_outlier.sum()


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.5])
def test_outliers_do_not_change_the_size_of_cells(pair: synthetic.Pair, ratio: float) -> None:
    spoilt, _ = synthetic.add_outliers(pair.source, ratio, "gaussian", 1)
    clean, _ = seen(pair.source, pair.target)
    found, _ = seen(spoilt, pair.target)
    assert found.cell == pytest.approx(clean.cell, rel=0.25)


def test_a_grid_without_any_response_is_kept() -> None:
    assert robust_x84_limit(np.zeros(50), 5.2) == 0
    assert robust_x84_limit(np.full(50, 1e-20), 5.2, rounding=1e-9) > 1e-20


def test_where_all_respond_alike_all_are_kept() -> None:
    response = 0.0045 * (1 + 1e-15 * np.random.default_rng(0).random(2000))
    assert robust_x84_limit(response, 5.2, rounding=1e-14) >= response.max()


def test_points_are_looked_at_once_and_not_more_than_asked_for(pair: synthetic.Pair) -> None:
    once, twice = preprocess(pair.source, "source"), preprocess(np.repeat(pair.source, 2, axis=0), "source")
    assert np.array_equal(once.local, twice.local)
    fewer, others = (preprocess(pair.source, "source", most=3000, seed=seed).points for seed in (0, 1))
    assert len(fewer) == 3000
    assert not np.array_equal(fewer[:100], others[:100])
    distance, row = cKDTree(pair.source).query(fewer)
    assert distance.max() < 1e-12
    assert len(set(row)) == 3000


def test_a_point_that_is_far_off_is_left_out_with_its_weight(pair: synthetic.Pair) -> None:
    stray = np.vstack([pair.source, [[1e6, 0, 0], [0, -1e9, 0]]])
    weights = np.arange(1.0, len(stray) + 1)
    found = preprocess(stray, "source", weights)
    np.testing.assert_allclose(found.points, pair.source, atol=1e-12)
    assert found.weights is not None
    assert np.array_equal(found.weights, weights[:-2])


@pytest.mark.parametrize(
    ("points", "told"),
    [
        (np.repeat(random_cloud("blob", 5, 0), 20, axis=0), "source: has 5 different points"),
        (np.zeros((100, 3)), "source: has 1 different points"),
    ],
)
def test_too_few_points(points: Floats, told: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{told}"):
        seen(points, random_cloud("box", 300, 1))


def test_views_share_their_cells_and_are_seen_in_frames_of_their_own(pair: synthetic.Pair) -> None:
    x, y = seen(pair.source, pair.target)
    assert (x.cell, x.fine_cell) == (y.cell, y.fine_cell)
    assert y.cell / 2.5 <= y.fine_cell < y.cell
    # About so many coarse pieces, by a count of a sample and a power law.
    assert 0.7 < min(len(x.coarse), len(y.coarse)) / COARSE_PIECES < 1.4
    for view, points in ((x, pair.source), (y, pair.target)):
        # By a sample: about, not exactly.
        own = transform(view.home, points)
        np.testing.assert_allclose(own.mean(axis=0), 0, atol=0.01 * np.ptp(own))
        np.testing.assert_allclose(own.T @ own, np.diag(np.diag(own.T @ own)), atol=0.01 * (own**2).sum())
        assert view.descriptors.shape == (len(view.coarse), 96)
        assert np.linalg.det(view.home[:3, :3]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("distance", [0.0, 100.0])
def test_a_view_is_the_same_wherever_the_cloud_lies(pair: synthetic.Pair, distance: float) -> None:
    motion = random_transform(3, distance)
    here, _ = seen(pair.source, pair.target)
    there, _ = seen(transform(motion, pair.source), pair.target)
    assert there.cell == pytest.approx(here.cell, rel=1e-9)
    assert len(there.coarse) == len(here.coarse)
    np.testing.assert_allclose(there.coarse.points, here.coarse.points, atol=1e-9)
    np.testing.assert_allclose(there.home @ motion, here.home, atol=1e-9)


def test_seen_from_a_frame_that_is_given(pair: synthetic.Pair) -> None:
    home = pose(np.eye(3), -pair.target.mean(axis=0))
    clouds = [preprocess(points, "points").seen_from(home) for points in (pair.source, pair.target)]
    for cloud, points in zip(clouds, (pair.source, pair.target), strict=True):
        np.testing.assert_allclose(cloud.local, transform(home, points), atol=1e-12)
        np.testing.assert_allclose(cloud.points, points, atol=1e-12)
    x, y = build_pyramids(clouds[0], clouds[1], voxel=0.002)
    assert x.home is y.home is home
    assert x.fine_cell == y.fine_cell == 0.002


def test_what_is_made_of_a_cloud_is_made_once(pair: synthetic.Pair) -> None:
    source, target = preprocess(pair.source, "source"), preprocess(pair.target, "target")
    first, second = build_pyramids(source, target), build_pyramids(target, source)
    assert first[0] is second[1]
    assert first[1] is second[0]
    coarser = build_pyramids(source, target, voxel=2 * first[0].fine_cell)
    assert coarser[0] is not first[0]
    # Only the last few are kept, and none goes along into a pickle.
    for factor in (3, 4, 5):
        build_pyramids(source, target, voxel=factor * first[0].fine_cell)
    assert build_pyramids(source, target)[0] is not first[0]
    assert pickle.loads(pickle.dumps(source))._made == {}


def test_clouds_like_each_other_are_cut_into_the_same_cells(pair: synthetic.Pair) -> None:
    source, target = preprocess(pair.source, "source"), preprocess(pair.target, "target")
    fewer = preprocess(np.delete(pair.target, slice(None, None, 20), axis=0), "target")
    assert build_pyramids(source, target, shared=True)[0] is build_pyramids(source, fewer, shared=True)[0]
    assert build_pyramids(source, target)[0] is not build_pyramids(source, fewer)[0]


@given(seeds)
def test_motions_go_from_cells_to_the_users_frame_and_back(seed: int) -> None:
    points = random_cloud("box", 300, 1)
    x, y = seen(points * 7 + 3, points * 5 - 40)
    motion = random_transform(seed, 20.0)
    between = to_pyramid_frames(motion, x, y)
    np.testing.assert_allclose(to_cloud_frames(between, x, y), motion, atol=1e-9)
    # A point of the source, moved either way.
    mine = x.coarse.points * x.cell
    here = transform(np.linalg.inv(x.home), mine)
    np.testing.assert_allclose(
        transform(y.home, transform(motion, here)), transform(between, x.coarse.points) * y.cell, atol=1e-9
    )


def test_the_same_bits_for_any_number_of_threads(pair: synthetic.Pair) -> None:
    def bits(threads: int) -> list[bytes]:
        views = seen(pair.source, pair.target, threads=threads)
        parts = [(view.coarse.points, view.coarse.normals, view.fine.normals, view.descriptors) for view in views]
        return [array.tobytes() for view in parts for array in view]

    assert bits(1) == bits(2) == bits(5)


def test_both_clouds_get_their_share_of_the_threads() -> None:
    for threads, share in ((1, 1), (2, 1), (5, 2), (8, 4)):
        assert map_pair(lambda item, workers: (item, workers), "ab", threads) == [("a", share), ("b", share)]


def test_strays_are_dropped_before_the_graph_is_built(pair: synthetic.Pair) -> None:
    spoilt, is_outlier = synthetic.add_outliers(pair.source, 1.0, "gaussian", 3)
    weights = np.where(is_outlier, 1e-6, 1.0)
    fine = seen(pair.source, pair.target)[0].fine_cell

    def observability_at(points: Floats, weights: Floats | None, side: float, strays: bool) -> tuple[float, float]:
        """How many good points and outliers the cells hold, by their weights."""
        sums = voxel_moments(points, side, weights, strays=strays).sums
        good = np.floor(sums + 1e-3)
        return good.sum(), (sums - good).sum() / 1e-6

    good, outliers = observability_at(spoilt, weights, fine, strays=False)
    # Where a wide cell holds but a corner of the surface, its points are lost too.
    assert good > 0.95 * len(pair.source)
    assert outliers < 0.5 * is_outlier.sum()
    assert observability_at(spoilt, weights, fine, strays=True) == pytest.approx((len(pair.source), is_outlier.sum()))
    # Of a scan without strays nothing is lost, nor where cells are so small that every point is alone.
    for side in (fine, 1e-6):
        assert observability_at(pair.source, None, side, strays=False)[0] == len(pair.source)
