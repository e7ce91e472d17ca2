"""FPFH: against its numpy twin, invariance under rigid transforms, input that is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import clouds, random_cloud, random_transform, seeds

import graphreg
import graphreg._core as _core
from graphreg.poses import transform


def unit_normals(count: int, seed: int) -> np.ndarray:
    normals = np.random.default_rng(seed).normal(size=(count, 3))
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


@pytest.mark.slow
@settings(max_examples=40)  # the twin is a loop in Python
@given(clouds, seeds, st.floats(0.05, 0.6), st.sampled_from([5, 1000]))
def test_histograms_agree_with_their_twin(points: np.ndarray, seed: int, reach: float, most: int) -> None:
    points = points[:40]
    normals = unit_normals(len(points), seed)
    radius = reach * np.ptp(points, axis=0).max()
    found = graphreg.fpfh(points, radius, normals=normals, max_neighbours=most)
    expected, doubtful = twins.feature_histograms(points, normals, radius, most)
    assert doubtful.mean() < 0.1
    np.testing.assert_allclose(found[~doubtful], expected[~doubtful], rtol=1e-9, atol=1e-9)


@given(clouds, seeds)
def test_rigid_transforms_do_not_change_fpfh(points: np.ndarray, seed: int) -> None:
    """Except for angles at the edge of a bin, which rounding can move into the next one."""
    transformation = random_transform(seed, np.ptp(points, axis=0).max())
    normals = unit_normals(len(points), seed)
    radius = 0.3 * np.ptp(points, axis=0).max()
    here = graphreg.fpfh(points, radius, normals=normals)
    there = graphreg.fpfh(transform(transformation, points), radius, normals=normals @ transformation[:3, :3].T)
    assert np.isclose(here, there, atol=1e-6).all(axis=1).mean() > 0.95


def test_each_histogram_has_the_sum_200() -> None:
    points = random_cloud("surface", 400, 0)
    sums = graphreg.fpfh(points).reshape(-1, 3, 11).sum(axis=2)
    nonzero = sums.any(axis=1)
    assert nonzero.mean() > 0.9
    np.testing.assert_allclose(sums[nonzero & (sums > 150).all(axis=1)], 200)


def test_the_same_bits_for_any_number_of_threads() -> None:
    points = random_cloud("surface", 3000, 0)
    assert len({graphreg.fpfh(points, threads=threads).tobytes() for threads in (1, 2, 5)}) == 1


def test_rows_that_are_not_finite_and_points_without_neighbours() -> None:
    points = np.vstack([random_cloud("surface", 100, 0), [[100.0, 0, 0]], [[np.nan, 0, 0]]])
    found = graphreg.fpfh(points, 0.3)
    assert found.shape == (102, 33)
    assert np.isnan(found[101]).all()
    assert not found[100].any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0.0}, "radius: expected a positive"),
        ({"normals": np.zeros((5, 3))}, r"normals: expected shape \(100, 3\)"),
        ({"normals": np.full((100, 3), np.nan)}, "normals: expected finite"),
        ({"k": 200}, "points: has 100 points"),
    ],
)
def test_arguments_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        graphreg.fpfh(random_cloud("surface", 100, 0), **settings)


@given(seeds, st.integers(1, 60), st.integers(0, 60), st.sampled_from([1, 7, 33]), st.integers(1, 3))
def test_nearest_features_are_exact(seed: int, count: int, queries: int, width: int, threads: int) -> None:
    """Whole numbers, so that distances are exact and many are equal: then the lowest index is nearest."""
    rng = np.random.default_rng(seed)
    features, asked = (rng.integers(0, 4, (n, width)).astype(np.float32) for n in (count, queries))
    squared = ((asked[:, None] - features[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(_core.nearest_features(features, asked, threads), squared.argmin(axis=1))
