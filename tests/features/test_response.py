"""Intensity, the X84 rule and resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.lattices import lattice
from tests.support.strategies import Floats, clouds, random_cloud, random_transform, seeds

import graphreg
from graphreg.features.response import median_absolute_deviation, x84_inliers


@given(clouds, st.integers(2, 14))
def test_intensity_agrees_with_its_twin(points: Floats, k: int) -> None:
    neighbours, _ = twins.nearest(points, points, k, exclude_self=True)
    np.testing.assert_allclose(
        np.sqrt(graphreg.intensity(points, k)),
        np.sqrt(twins.response(points, neighbours)),
        rtol=1e-11,
        atol=1e-14 * np.ptp(points),
    )


def test_the_response_is_zero_on_a_plane_and_largest_at_an_outlier() -> None:
    axis = np.arange(20.0)
    plane = np.stack([*np.meshgrid(axis, axis), np.zeros((20, 20))], -1).reshape(-1, 3)
    response = graphreg.intensity(np.vstack([plane, [[9.5, 9.5, 6.0]]]))
    inner = ((plane > 2) & (plane < 17))[:, :2].all(axis=1)
    assert response[:-1][inner].max() < 1e-25
    assert response.argmax() == len(plane)
    assert response[-1] == pytest.approx(36, rel=0.05)


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=60), st.floats(0.1, 20))
def test_x84_is_the_rule_as_printed(values: list[float], alpha: float) -> None:
    response = np.array(values)
    deviations = sorted(abs(v - np.median(response)) for v in values)
    n = len(deviations)
    mad = (deviations[(n - 1) // 2] + deviations[n // 2]) / 2
    assert median_absolute_deviation(response) == pytest.approx(mad)
    kept = x84_inliers(response, alpha)
    assert np.array_equal(kept, response <= alpha * median_absolute_deviation(response))


def test_x84_rejects_values_that_are_not_finite() -> None:
    response = np.array([1.0, 2.0, 3.0, np.inf, np.inf, np.inf, np.inf])
    assert np.array_equal(x84_inliers(response, 5.2), [True, True, True] + 4 * [False])
    assert not x84_inliers(np.full(5, np.inf), 5.2).any()


@pytest.mark.parametrize("alpha", [0, -1, float("nan")])
def test_alpha_must_be_positive(alpha: float) -> None:
    with pytest.raises(graphreg.InputError, match="^alpha: expected"):
        graphreg.inliers(random_cloud("blob", 50, 0), alpha)


@given(clouds, st.floats(0.01, 1))
def test_the_top_share_has_the_highest_response(points: Floats, fraction: float) -> None:
    chosen = graphreg.resample(points, fraction, alpha=None)
    response = graphreg.intensity(points)
    assert len(chosen) == max(1, round(fraction * len(points)))
    assert np.array_equal(chosen, np.unique(chosen))
    others = np.setdiff1d(np.arange(len(points)), chosen)
    if len(others):
        assert np.sqrt(response[chosen].min()) >= np.sqrt(response[others].max()) * (1 - 1e-8)  # equal up to rounding


def test_of_points_without_response_a_random_share_is_sampled() -> None:
    plane = np.random.default_rng(0).permutation(lattice((40, 40, 1)))
    inner = ((plane[:, :2] > 3) & (plane[:, :2] < 36)).all(axis=1)
    chosen = graphreg.resample(plane, 0.7, method="proportional", alpha=None)
    flat = np.intersect1d(chosen, np.flatnonzero(inner))
    assert 0.4 < (flat < 800).mean() < 0.6


@given(seeds)
def test_of_equal_responses_the_first_are_selected(seed: int) -> None:
    patch, T = lattice((3, 3, 1)), random_transform(seed, 100.0)
    patches = np.concatenate([place + patch for place in 50 * lattice((2, 2, 2))])
    corners = np.flatnonzero(np.isin(np.arange(len(patches)) % 9, [0, 2, 6, 8]))
    chosen = graphreg.resample(patches @ T[:3, :3].T + T[:3, 3], 0.25, k=5, alpha=None)
    assert np.array_equal(chosen, corners[:18])


@given(clouds, seeds)
def test_no_outlier_is_selected(points: Floats, seed: int) -> None:
    kept = graphreg.inliers(points)
    for method in ("top", "proportional"):
        chosen = graphreg.resample(points, 0.9, method=method, seed=seed)  # type: ignore[arg-type]
        assert kept[chosen].all()
        assert len(chosen) == min(kept.sum(), round(0.9 * len(points)))


@pytest.mark.slow
def test_sampling_is_proportional_to_the_response() -> None:
    points = random_cloud("surface", 60, 2)
    response = graphreg.intensity(points)
    samples = 1000
    counts = np.zeros(60)
    for seed in range(samples):
        counts[graphreg.resample(points, 1 / 60, method="proportional", alpha=None, seed=seed)] += 1
    share = response / response.sum()
    spread = np.sqrt(share * (1 - share) * samples)
    assert (np.abs(counts - share * samples) <= 5 * spread + 1).all()


def test_the_same_seed_samples_the_same_points() -> None:
    points = random_cloud("blob", 500, 2)
    first, again, other = (graphreg.resample(points, 0.3, method="proportional", seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_indices_are_those_of_the_callers_rows() -> None:
    points = random_cloud("surface", 300, 4)
    gaps = np.insert(points, [0, 100, 100, 250], np.nan, axis=0)
    rows = np.flatnonzero(np.isfinite(gaps).all(axis=1))
    assert np.array_equal(graphreg.resample(gaps, 0.2), rows[np.unique(graphreg.resample(points, 0.2))])
    response = graphreg.intensity(gaps)
    assert np.array_equal(response[rows], graphreg.intensity(points))
    assert np.isnan(response).sum() == 4
    assert not graphreg.inliers(gaps)[np.isnan(response)].any()


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01, float("nan")])
def test_fraction_out_of_range(fraction: float) -> None:
    with pytest.raises(graphreg.InputError, match="^fraction: expected"):
        graphreg.resample(random_cloud("blob", 50, 0), fraction)


def test_unknown_method() -> None:
    with pytest.raises(graphreg.InputError, match="^method: expected one of top, proportional, got 'best'"):
        graphreg.resample(random_cloud("blob", 50, 0), 0.5, method="best")  # type: ignore[arg-type]
