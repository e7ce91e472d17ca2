"""Theorems 1 and 2 for every point of grids, rasters and lattices, where many neighbours are at one distance.

The tolerance is 1e-6 for all of them, of the square of the spacing for I and absolute for V_g.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.lattices import Floats, regular_samples
from tests.support.strategies import random_transform, seeds

import graphreg
from graphreg.features.invariant_features import fit_planes

SAMPLES = regular_samples()

# Every fourth of them in the fast tier.
each_sample = pytest.mark.parametrize(
    "points",
    [
        pytest.param(points, id=name, marks=[pytest.mark.slow] if number % 4 else [])
        for number, (name, points) in enumerate(SAMPLES.items())
    ],
)
neighbours = st.sampled_from([3, 4, 6, 8, 10, 10, 10, 14])
# Of each of 16 samples.
some = settings(max_examples=15)
transforms = st.builds(random_transform, seeds, st.sampled_from([0.0, 10.0, 1000.0]))


def moved(transformation: Floats, points: Floats) -> Floats:
    return np.asarray(points @ transformation[:3, :3].T + transformation[:3, 3])


@each_sample
@some
@given(k=neighbours, transformation=transforms)
def test_theorem_1(points: Floats, k: int, transformation: Floats) -> None:
    before, after = graphreg.intensity(points, k), graphreg.intensity(moved(transformation, points), k)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)  # equal where infinite


@each_sample
@some
@given(k=neighbours, transformation=transforms)
def test_theorem_2(points: Floats, k: int, transformation: Floats) -> None:
    before, after = graphreg.invariants(points, k), graphreg.invariants(moved(transformation, points), k)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)


@each_sample
@some
@given(k=neighbours, transformation=transforms)
def test_planes_rotate_with_the_cloud(points: Floats, k: int, transformation: Floats) -> None:
    before, _ = fit_planes(graphreg.neighbour_graph(points, k))
    after, _ = fit_planes(graphreg.neighbour_graph(moved(transformation, points), k))
    rotated = before @ transformation[:3, :3].T
    change = np.minimum(np.abs(after - rotated), np.abs(after + rotated)).max()
    assert change <= 1e-6


@each_sample
@some
@given(k=neighbours, transformation=transforms)
def test_outlier_removal_and_resampling_select_the_same_points(points: Floats, k: int, transformation: Floats) -> None:
    after = moved(transformation, points)
    assert np.array_equal(graphreg.inliers(after, k=k), graphreg.inliers(points, k=k))
    for fraction in (0.1, 0.5):
        chosen = graphreg.resample(points, fraction, k=k, alpha=None)
        assert np.array_equal(graphreg.resample(after, fraction, k=k, alpha=None), chosen)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_samples_have_ties(name: str) -> None:
    """Otherwise the laws above would say nothing about them."""
    weights = [np.count_nonzero(graphreg.neighbour_graph(SAMPLES[name], k).weights == 0, axis=1) for k in (4, 10)]
    assert max(zero.max() for zero in weights) > 1 or name == "each point twelve times"
