"""Samples of a cloud: distinct points at random, the same wherever it is and however its rows are sorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.strategies import Floats, clouds, random_cloud, random_transform, seeds

import graphreg._core as _core
from graphreg.engine.point_sampling import SAMPLING, sample_points
from graphreg.poses import transform


def mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)


@given(clouds, st.integers(1, 300), st.integers(0, 2**32))
def test_kernels_agree_with_their_numpy_twins(points: Floats, size: int, seed: int) -> None:
    middle, radius, sums = _core.near_moments(points, 2.0, len(points))
    np.testing.assert_allclose(middle, np.median(points, axis=0), rtol=1e-15)
    offsets = points - middle
    squared = offsets[:, 0] ** 2 + offsets[:, 1] ** 2 + offsets[:, 2] ** 2
    assert radius == pytest.approx(np.sqrt(np.median(squared)), rel=1e-12)
    x, y, z = near = (offsets[squared <= (2 * radius) ** 2] / radius).T
    products = [values.sum() for values in (x * x, y * y, z * z, x * y, x * z, y * z)]
    np.testing.assert_allclose(sums, [len(x), *near.sum(axis=1), *products], atol=1e-9)

    axes = random_transform(seed, 0)[:3, :3] / (0.01 * radius)
    numbers = np.abs(offsets[:, :1] * axes[:, 0] + offsets[:, 1:2] * axes[:, 1] + offsets[:, 2:] * axes[:, 2])
    cells = numbers.astype(np.uint64) << np.array([0, 21, 42], np.uint64)
    hashes = mixed(np.bitwise_or.reduce(cells, axis=1) + mixed(np.array([seed], np.uint64)))
    order = np.lexsort((squared, hashes))
    expected = order[squared[order] <= (2 * radius) ** 2][:size]
    assert np.array_equal(_core.sample_by_cell(points, middle, 2 * radius, axes, size, seed), expected)


@given(clouds, st.integers(1, 300), seeds)
def test_the_order_of_the_rows_does_not_matter(points: Floats, size: int, seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(points)
    assert np.array_equal(shuffled[sample_points(shuffled, size, seed)], points[sample_points(points, size, seed)])


@given(clouds, st.integers(1, 300), seeds, st.sampled_from([np.nan, np.inf, -np.inf]))
def test_rows_that_are_not_finite_do_not_matter(points: Floats, size: int, seed: int, gap: float) -> None:
    rng = np.random.default_rng(seed)
    dirty = np.insert(points, rng.integers(0, len(points) + 1, len(points)), 0.0, axis=0)
    finite = np.zeros(len(dirty), bool)
    finite[rng.choice(len(dirty), len(points), replace=False)] = True
    dirty[finite], dirty[~finite, rng.integers(3)] = points, gap
    assert np.array_equal(dirty[sample_points(dirty, size, seed)], points[sample_points(points, size, seed)])


@given(clouds, st.integers(1, 300), seeds, st.sampled_from([1.0, 0.3, 1e4]))
def test_the_sample_moves_with_the_cloud(points: Floats, size: int, seed: int, scale: float) -> None:
    moved = transform(random_transform(seed, np.ptp(points)), scale * points)
    # Rounding is 1e-12 of a cell or less: the chance that it moves one of 300 points to another is 1e-9.
    assert np.array_equal(sample_points(moved, size, seed), sample_points(points, size, seed))


@given(clouds, st.integers(1, 300), seeds)
def test_the_first_of_a_sample_are_a_sample(points: Floats, size: int, seed: int) -> None:
    assert np.array_equal(sample_points(points, 300, seed)[:size], sample_points(points, size, seed))


def test_samples_are_distinct_and_without_far_points() -> None:
    points = random_cloud("surface", 500, 0)
    far = SAMPLING.farthest * 2 * np.eye(3)
    repeated = np.vstack([np.repeat(points, 7, axis=0), far, [[0, 1e30, 0]]])
    rows = sample_points(repeated, 10_000)
    assert np.array_equal(np.unique(repeated[rows], axis=0), np.unique(points, axis=0))
    assert len(rows) == 500
    assert len(sample_points(repeated, 400)) == 400
    assert len(sample_points(np.ones((100, 3)), 50)) == 1


def test_every_point_is_sampled_as_often_as_any_other() -> None:
    points = random_cloud("box", 2000, 0)
    times = np.bincount(np.concatenate([sample_points(points, 500, seed) for seed in range(400)]), minlength=2000)
    # Binomial: 100 times in the mean, with a standard deviation of 8.7.
    assert np.abs(times - 100).max() < 6 * 8.7
    assert np.std(times) == pytest.approx(8.7, rel=0.1)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_of_few_points_all_are_sampled(count: int) -> None:
    points = random_cloud("blob", count, 0)
    assert set(sample_points(points, 40_000)) == set(range(count))
    assert len(sample_points(points, 1)) == 1


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e149])
def test_no_scale_is_too_small_or_too_large(scale: float) -> None:
    assert len(sample_points(scale * random_cloud("blob", 300, 0), 100)) == 100
