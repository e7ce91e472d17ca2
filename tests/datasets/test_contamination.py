"""Laws of outliers and noise: as many, as wide and as even as asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.clouds import Floats
from graphreg.datasets.contamination import thin_by_distance
from graphreg.datasets.synthetic import add_noise, add_outliers
from graphreg.errors import InputError


def cloud(seed: int = 0, count: int = 20000) -> Floats:
    return np.random.default_rng(seed).random((count, 3)) * [3.0, 0.5, 0.02] + [100, -7, 0.3]


@given(st.integers(1, 300), st.floats(0, 3), st.sampled_from(["gaussian", "uniform"]), st.integers(0, 2**32))
def test_outliers_are_counted_marked_and_appended(count: int, ratio: float, kind: str, seed: int) -> None:
    points = cloud(1, count)
    before = points.copy()
    spoilt, is_outlier = add_outliers(points, ratio, kind, seed)
    assert is_outlier.sum() == int(count * ratio)
    assert np.array_equal(spoilt[~is_outlier], before)
    assert np.array_equal(points, before)
    assert np.array_equal(add_outliers(points, ratio, kind, seed)[0], spoilt)


def test_gaussian_outliers_spread_like_the_box_around_the_mean() -> None:
    points = cloud()
    spoilt, is_outlier = add_outliers(points, 1.0, "gaussian", seed=2)
    sides, extra = np.ptp(points, axis=0), spoilt[is_outlier]
    accuracy = 4 / np.sqrt(len(extra))
    assert extra.std(axis=0) / sides == pytest.approx(np.ones(3), abs=accuracy)
    assert (extra.mean(axis=0) - points.mean(axis=0)) / sides == pytest.approx(np.zeros(3), abs=accuracy)


def test_uniform_outliers_fill_the_box() -> None:
    points = cloud()
    spoilt, is_outlier = add_outliers(points, 0.8, "uniform", seed=2)
    place = (spoilt[is_outlier] - points.min(axis=0)) / np.ptp(points, axis=0)
    assert place.min() >= 0
    assert place.max() <= 1
    shares = np.stack([np.histogram(place[:, axis], 10, (0, 1))[0] for axis in range(3)]) / len(place)
    assert np.abs(shares - 0.1).max() < 5 * np.sqrt(0.09 / len(place))


def test_noise_is_relative_to_each_side_of_the_box() -> None:
    points = cloud()
    error = (add_noise(points, 0.01, seed=3) - points) / np.ptp(points, axis=0)
    assert error.std(axis=0) == pytest.approx(np.full(3, 0.01), rel=4 / np.sqrt(2 * len(points)))
    assert np.array_equal(add_noise(points, 0.0, seed=3), points)


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("points", {"points": np.empty((0, 3))}), ("ratio", {"ratio": -0.1}), ("ratio", {"ratio":
        float("nan")}), ("kind", {"kind": "cauchy"}), ("seed", {"seed": -1}),
    ],
)  # fmt: skip
def test_a_bad_argument_is_named(argument: str, changes: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"points": cloud(count=5), "ratio": 0.5} | changes
    with pytest.raises(InputError, match=f"^{argument}: "):
        add_outliers(**arguments)


def test_a_bad_noise_is_named() -> None:
    with pytest.raises(InputError, match=r"^sigma_relative: "):
        add_noise(cloud(count=5), -1.0)


def test_density_falls_by_equal_ratios_from_the_middle_to_the_rim() -> None:
    rng = np.random.default_rng(4)
    # Evenly spread over the distance from the centroid.
    away = rng.random(60_000)
    points = away[:, None] * (lambda v: v / np.linalg.norm(v, axis=1, keepdims=True))(rng.normal(size=(60_000, 3)))
    kept = thin_by_distance(points, 0.01, seed=5)
    centre = points.mean(axis=0)
    before, after = (np.histogram(np.linalg.norm(cloud - centre, axis=1), 10, (0, 1.01))[0] for cloud in (points, kept))
    middles = (np.arange(10) + 0.5) * 0.101 / np.linalg.norm(points - centre, axis=1).max()
    expected = 0.01**middles
    # Five standard deviations of a count, and the bend of the curve within a bin.
    assert (np.abs(after / before - expected) < 5 * np.sqrt(expected / before) + 0.02 * expected).all()
    assert set(map(tuple, kept)) <= set(map(tuple, points))
    assert np.array_equal(kept, thin_by_distance(points, 0.01, seed=5))


def test_nothing_is_thinned_out_where_nothing_is_asked_or_all_lie_in_one_place() -> None:
    points = cloud(6, 100)
    assert np.array_equal(thin_by_distance(points, 1.0), points)
    assert len(thin_by_distance(np.ones((50, 3)), 0.5)) == 50


@pytest.mark.parametrize("rim", [0.0, -1, 1.5, np.nan, "a"])
def test_a_share_at_the_rim_that_is_none_is_refused(rim: Any) -> None:
    with pytest.raises(InputError, match="rim: "):
        thin_by_distance(cloud(6, 100), rim)
