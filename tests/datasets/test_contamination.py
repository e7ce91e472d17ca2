"""Laws of corruption: outliers, noise and thinning have the requested number, spread and distribution."""

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
def test_outliers_are_appended_in_the_requested_number_and_marked(
    count: int, ratio: float, kind: str, seed: int
) -> None:
    points = cloud(1, count)
    before = points.copy()
    corrupted, is_outlier = add_outliers(points, ratio, kind, seed)
    assert is_outlier.sum() == int(count * ratio)
    assert np.array_equal(corrupted[~is_outlier], before)
    assert np.array_equal(points, before)
    assert np.array_equal(add_outliers(points, ratio, kind, seed)[0], corrupted)


def test_gaussian_outliers_have_the_mean_of_the_cloud_and_the_extent_of_its_box() -> None:
    points = cloud()
    corrupted, is_outlier = add_outliers(points, 1.0, "gaussian", seed=2)
    extent, outliers = np.ptp(points, axis=0), corrupted[is_outlier]
    accuracy = 4 / np.sqrt(len(outliers))
    assert outliers.std(axis=0) / extent == pytest.approx(np.ones(3), abs=accuracy)
    assert (outliers.mean(axis=0) - points.mean(axis=0)) / extent == pytest.approx(np.zeros(3), abs=accuracy)


def test_uniform_outliers_fill_the_box() -> None:
    points = cloud()
    corrupted, is_outlier = add_outliers(points, 0.8, "uniform", seed=2)
    relative = (corrupted[is_outlier] - points.min(axis=0)) / np.ptp(points, axis=0)
    assert relative.min() >= 0
    assert relative.max() <= 1
    shares = np.stack([np.histogram(relative[:, axis], 10, (0, 1))[0] for axis in range(3)]) / len(relative)
    assert np.abs(shares - 0.1).max() < 5 * np.sqrt(0.09 / len(relative))


def test_noise_is_relative_to_each_edge_of_the_bounding_box() -> None:
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


@pytest.mark.slow
def test_density_falls_exponentially_from_the_centroid_to_the_farthest_point() -> None:
    rng = np.random.default_rng(4)
    # Evenly spread over the distance from the centroid.
    distance = rng.random(60_000)
    points = distance[:, None] * (lambda v: v / np.linalg.norm(v, axis=1, keepdims=True))(rng.normal(size=(60_000, 3)))
    kept = thin_by_distance(points, 0.01, seed=5)
    centre = points.mean(axis=0)
    before, after = (np.histogram(np.linalg.norm(cloud - centre, axis=1), 10, (0, 1.01))[0] for cloud in (points, kept))
    middles = (np.arange(10) + 0.5) * 0.101 / np.linalg.norm(points - centre, axis=1).max()
    expected = 0.01**middles
    # Five standard deviations of a count, and the bend of the curve within a bin.
    assert (np.abs(after / before - expected) < 5 * np.sqrt(expected / before) + 0.02 * expected).all()
    assert set(map(tuple, kept)) <= set(map(tuple, points))
    assert np.array_equal(kept, thin_by_distance(points, 0.01, seed=5))


def test_nothing_is_removed_if_the_density_is_constant_or_all_points_coincide() -> None:
    points = cloud(6, 100)
    assert np.array_equal(thin_by_distance(points, 1.0), points)
    assert len(thin_by_distance(np.ones((50, 3)), 0.5)) == 50


@pytest.mark.parametrize("rim", [0.0, -1, 1.5, np.nan, "a"])
def test_a_density_at_the_rim_out_of_range_is_refused(rim: Any) -> None:
    with pytest.raises(InputError, match="rim: "):
        thin_by_distance(cloud(6, 100), rim)
