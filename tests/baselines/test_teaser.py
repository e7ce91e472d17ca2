"""TEASER++: maximum clique, truncated least squares, outlier correspondences."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.correspondences import random_correspondences, run_with_voxel
from tests.support.strategies import random_transform, seeds

import graphreg
import graphreg._core as _core
from graphreg.baselines.teaser import (
    TeaserSettings,
    estimate_rotation,
    estimate_scale,
    gnc_weights,
    solve_decoupled,
    truncated_mean,
    truncated_weighted_mean,
)
from graphreg.metrics import rmsd
from graphreg.poses import inverse, rotation_from_vector, transform


@pytest.mark.parametrize(("outliers", "noise"), [(0.0, 0.0), (0.9, 0.0), (0.98, 0.0), (0.9, 0.01), (0.98, 0.01)])
def test_a_few_inliers_among_outliers_suffice(outliers: float, noise: float) -> None:
    x, y, truth = random_correspondences(outliers, noise, 0)
    run, origin = run_with_voxel(x, y)
    solve_decoupled(run, x - origin, y - origin, TeaserSettings())
    inliers = 1000 * (1 - outliers)
    # Noise averages out over the inliers; outliers that are within the bound by chance are too few to count.
    assert rmsd(run.outcome().transformation, truth, x) < 1e-9 + 6 * noise / np.sqrt(inliers)


def test_the_transform_of_the_largest_consistent_set_is_found() -> None:
    """Also where it is not the true one, as with a part of which there are two."""
    x, y, truth = random_correspondences(0.0, 0.0, 0)
    wrong = random_transform(7, 1.0)
    for share, expected in ((0.4, truth), (0.6, wrong)):
        mixed = y.copy()
        mixed[: int(share * 1000)] = transform(wrong, x[: int(share * 1000)])
        run, origin = run_with_voxel(x, mixed)
        solve_decoupled(run, x - origin, mixed - origin, TeaserSettings())
        assert rmsd(run.outcome().transformation, expected, x) < 1e-9


@pytest.mark.slow
@given(seeds, st.floats(0.01, 1.0))
def test_the_truncated_mean_is_the_global_minimum(seed: int, bound: float) -> None:
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=20) * 0.1, rng.uniform(-3, 3, rng.integers(0, 60))]) + 1e3

    def cost(m: float) -> float:
        return float(np.minimum((values - m) ** 2, bound**2).sum())

    found = cost(truncated_mean(values, bound))
    assert all(found <= cost(m) + 1e-9 for m in np.linspace(values.min(), values.max(), 2001))


def test_a_sample_of_the_correspondences_suffices(body: np.ndarray) -> None:
    moved = transform(random_transform(3, 0.1), body)
    result = graphreg.register(moved, body, method="teaser", voxel=0, max_matches=100)
    assert rmsd(result.transformation, inverse(random_transform(3, 0.1)), moved) < 0.003


def test_weights_of_graduated_non_convexity_become_binary() -> None:
    squared = np.linspace(0, 4, 401)
    soft, hard = gnc_weights(squared, 1.0, 0.1), gnc_weights(squared, 1.0, 1e6)
    assert ((soft > 0) & (soft < 1)).mean() > 0.8
    np.testing.assert_array_equal(hard[squared < 0.999], 1)
    np.testing.assert_array_equal(hard[squared > 1.001], 0)
    assert (np.diff(soft) <= 0).all()


def test_the_rotation_is_the_truncated_minimum() -> None:
    """Half of the pairs are outliers: the rotation is the one that fits the others exactly."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(300, 3))
    truth = rotation_from_vector([0.5, -1.0, 2.0])
    b = a @ truth.T
    b[150:] = rng.normal(size=(150, 3))
    *_, (rotation, cost) = estimate_rotation(a, b, 0.01, 100, 1.4)
    np.testing.assert_allclose(rotation, truth, atol=1e-9)
    assert cost == pytest.approx(150 * 0.01**2, rel=0.05)


@given(seeds, st.integers(0, 12), st.floats(0.1, 1.5))
def test_the_maximum_clique_of_few_correspondences(seed: int, count: int, tolerance: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, count, 3))
    lengths = [np.linalg.norm(points[:, None] - points[None], axis=2) for points in (a, b)]
    agree = np.abs(lengths[0] - lengths[1]) <= tolerance
    largest = next(
        size
        for size in range(count, -1, -1)
        if any(agree[np.ix_(subset, subset)].all() for subset in combinations(range(count), size))
    )
    members, proven = _core.largest_consistent_set(a, b, tolerance, 10_000, 2)
    assert proven
    assert len(members) == largest
    assert agree[np.ix_(members, members)].all()


def test_a_search_for_the_clique_that_ends_early_reports_it() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 200, 3))
    members, proven = _core.largest_consistent_set(a, b, 1.0, 1, 1)
    assert not proven
    assert len(members) >= 3
    longer, _ = _core.largest_consistent_set(a, b, 1.0, 100_000, 1)
    assert len(longer) >= len(members)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise_bound": 0.0}, "noise_bound: expected a positive"),
        ({"max_matches": 0}, "max_matches: expected a whole number"),
        ({"factor": 1}, "factor: expected a number above 1"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(TeaserSettings(), **settings)


@pytest.mark.slow
@given(seeds)
def test_the_truncated_weighted_mean_is_the_global_minimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.concatenate([1 + rng.normal(size=20) * 0.1, rng.uniform(-3, 3, rng.integers(0, 60))])
    bounds = rng.uniform(0.05, 1.0, len(values))

    def cost(m: float) -> float:
        return float(np.minimum(((values - m) / bounds) ** 2, 1).sum())

    found = cost(truncated_weighted_mean(values, bounds))
    assert all(found <= cost(m) + 1e-9 for m in np.linspace(values.min(), values.max(), 2001))


@given(seeds, st.floats(0.01, 1.0))
def test_with_equal_bounds_it_is_the_truncated_mean(seed: int, bound: float) -> None:
    values = np.random.default_rng(seed).uniform(-1, 1, 30)
    assert truncated_weighted_mean(values, np.full(30, bound)) == pytest.approx(truncated_mean(values, bound), abs=1e-9)


@pytest.mark.parametrize("outliers", [0.0, 0.8])
@pytest.mark.parametrize("scale", [0.2, 5.0])
def test_the_scale_is_that_of_the_inliers(outliers: float, scale: float) -> None:
    x, y, _ = random_correspondences(outliers, 0.0, 0)
    found = estimate_scale(x / scale, y, 0.01, (0.0, np.inf))
    assert found == pytest.approx(scale, rel=1e-3)
