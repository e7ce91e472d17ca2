"""What the engine sees of two clouds: cleaned, in frames of their own, in common cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import graphreg
from drawn import Floats, make_cloud, make_motion, scanned_twice, seeds
from graphreg.datasets import synthetic
from graphreg.poses import pose, transform
from graphreg.response import median_absolute_deviation
from graphreg.views import COARSE_PIECES, Cleaned, at_once, clean, in_cells, in_users_frame, on_surface, views_of


def cleaned(points: Floats, weights: Floats | None = None, most: int = 10**6, seed: int = 0) -> Cleaned:
    return clean(points, "source", weights, most, 10, 5.2, seed, 1)


@pytest.fixture(scope="module")
def pair() -> synthetic.Pair:
    return scanned_twice("casting")


def test_among_few_outliers_the_rule_is_x84() -> None:
    response = np.random.default_rng(0).exponential(size=2000)
    expected = response <= 5.2 * median_absolute_deviation(response)
    assert np.array_equal(on_surface(response, 5.2), expected)
    response[:10] = np.inf
    assert not on_surface(response, 5.2)[:10].any()


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.5])
def test_outliers_are_dropped_also_where_most_points_are(pair: synthetic.Pair, ratio: float) -> None:
    spoilt, is_outlier = synthetic.add_outliers(pair.source, ratio, "uniform", 1)
    weights = np.where(is_outlier, 2.0, 1.0)
    kept = cleaned(spoilt, weights)
    assert kept.weights is not None
    assert (kept.weights == 2).sum() < 0.1 * is_outlier.sum()
    assert (kept.weights == 1).sum() > 0.75 * len(pair.source)


def test_a_grid_without_any_response_is_kept() -> None:
    assert on_surface(np.zeros(50), 5.2).all()
    assert on_surface(np.full(50, 1e-20), 5.2, rounding=1e-9).all()


def test_points_are_looked_at_once_and_not_more_than_asked_for(pair: synthetic.Pair) -> None:
    once, twice = cleaned(pair.source), cleaned(np.repeat(pair.source, 2, axis=0))
    assert np.array_equal(once.points, twice.points)
    fewer, others = (cleaned(pair.source, most=3000, seed=seed).points for seed in (0, 1))
    assert len(fewer) <= 3000
    assert not np.array_equal(fewer[:100], others[:100])
    rows = {tuple(point) for point in pair.source}
    assert all(tuple(point) in rows for point in fewer)


@pytest.mark.parametrize(
    ("points", "told"),
    [
        (np.repeat(make_cloud("blob", 5, 0), 20, axis=0), "source: holds 5 different points"),
        (np.zeros((100, 3)), "source: holds 1 different points"),
    ],
)
def test_too_few_points(points: Floats, told: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{told}"):
        cleaned(points)


def test_views_share_their_cells_and_are_seen_in_frames_of_their_own(pair: synthetic.Pair) -> None:
    x, y = views_of(Cleaned(pair.source), Cleaned(pair.target))
    assert (x.cell, x.fine_cell) == (y.cell, y.fine_cell)
    assert y.fine_cell == pytest.approx(y.cell / 2.5)
    # About so many coarse pieces, by a count of a sample and a power law.
    assert 0.7 < min(len(x.coarse), len(y.coarse)) / COARSE_PIECES < 1.4
    for view, points in ((x, pair.source), (y, pair.target)):
        own = transform(view.home, points)
        np.testing.assert_allclose(own.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(own.T @ own, np.diag(np.diag(own.T @ own)), atol=1e-9 * (own**2).sum())
        assert view.signatures.shape == (len(view.coarse), 96)
        assert np.linalg.det(view.home[:3, :3]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("distance", [0.0, 100.0])
def test_a_view_is_the_same_wherever_the_cloud_lies(pair: synthetic.Pair, distance: float) -> None:
    motion = make_motion(3, distance)
    here, _ = views_of(Cleaned(pair.source), Cleaned(pair.target))
    there, _ = views_of(Cleaned(transform(motion, pair.source)), Cleaned(pair.target))
    assert there.cell == pytest.approx(here.cell, rel=1e-9)
    assert len(there.coarse) == len(here.coarse)
    np.testing.assert_allclose(there.coarse.points, here.coarse.points, atol=1e-9)
    np.testing.assert_allclose(there.home @ motion, here.home, atol=1e-9)


def test_with_common_axes_both_are_seen_from_the_target(pair: synthetic.Pair) -> None:
    x, y = views_of(Cleaned(pair.source), Cleaned(pair.target), voxel=0.002, common_axes=True)
    expected = pose(np.eye(3), -pair.target.mean(axis=0))
    assert np.array_equal(x.home, expected)
    assert np.array_equal(y.home, expected)
    assert x.fine_cell == y.fine_cell == 0.002


@given(seeds)
def test_motions_go_from_cells_to_the_users_frame_and_back(seed: int) -> None:
    points = make_cloud("box", 300, 1)
    x, y = views_of(Cleaned(points * 7 + 3), Cleaned(points * 5 - 40))
    motion = make_motion(seed, 20.0)
    between = in_cells(motion, x, y)
    np.testing.assert_allclose(in_users_frame(between, x, y), motion, atol=1e-9)
    # A point of the source, moved either way.
    mine = x.coarse.points * x.cell
    here = transform(np.linalg.inv(x.home), mine)
    np.testing.assert_allclose(
        transform(y.home, transform(motion, here)), transform(between, x.coarse.points) * y.cell, atol=1e-9
    )


def test_the_same_bits_for_any_number_of_threads(pair: synthetic.Pair) -> None:
    def seen(threads: int) -> list[bytes]:
        views = views_of(Cleaned(pair.source), Cleaned(pair.target), threads=threads)
        parts = [(view.coarse.points, view.coarse.normals, view.fine.normals, view.signatures) for view in views]
        return [array.tobytes() for view in parts for array in view]

    assert seen(1) == seen(2) == seen(5)


def test_both_clouds_get_their_share_of_the_threads() -> None:
    for threads, share in ((1, 1), (2, 1), (5, 2), (8, 4)):
        assert at_once(lambda item, workers: (item, workers), "ab", threads) == [("a", share), ("b", share)]
