"""Photogrammetric pairs: exact truth, any scale, uneven density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

import graphreg
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.datasets.photogrammetry import photogrammetric_pair
from graphreg.poses import as_similarity, scale_of, transform


@pytest.mark.slow
def test_the_truth_aligns_the_clouds() -> None:
    pair = photogrammetric_pair("hare", points=4_000)
    moved = transform(pair.T_target_source, pair.source)
    distances = cKDTree(moved).query(pair.target)[0]
    # Half of the target or more is seen by the cameras too, and the errors are small.
    assert np.median(distances) < 0.02 * np.ptp(pair.target)


@pytest.mark.slow
def test_the_scale_is_as_asked_or_within_its_range() -> None:
    assert scale_of(photogrammetric_pair("hare", scale=4.0, points=500).T_target_source) == pytest.approx(4)
    for seed in range(3):
        pair = photogrammetric_pair("hare", points=500, seed=seed)
        as_similarity(pair.T_target_source, "truth")
        assert 0.1 <= scale_of(pair.T_target_source) <= 10


@pytest.mark.slow
def test_the_density_is_more_uneven_than_that_of_a_scan() -> None:
    def contrast(source: Floats, target: Floats) -> float:
        """Of the number of source points around points of the target, where there are any."""
        around = target[::7]
        near = cKDTree(source).query_ball_point(around, 0.03 * np.ptp(target), return_length=True)
        return float(np.quantile(near[near > 0], 0.95) / np.quantile(near[near > 0], 0.05))

    pairs = [photogrammetric_pair("hare", points=2_000, seed=seed) for seed in range(3)]
    scans = [synthetic.pair("hare", 30.0, points=2_000, seed=seed) for seed in range(3)]
    photos, scanned = (
        np.median([contrast(transform(pair.T_target_source, pair.source), pair.target) for pair in some])
        for some in (pairs, scans)
    )
    assert photos > 2 * scanned


@pytest.mark.slow
def test_a_seed_gives_the_same_pair() -> None:
    one, two, other = (photogrammetric_pair("hare", points=500, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.source, two.source)
    assert np.array_equal(one.target, two.target)
    assert not np.array_equal(one.T_target_source, other.T_target_source)


@pytest.mark.parametrize(("argument", "value"), [("scale", 0.0), ("scale", -1.0), ("seed", -1), ("step", float("nan"))])
def test_bad_arguments_are_refused(argument: str, value: float) -> None:
    with pytest.raises(graphreg.InputError, match=argument):
        photogrammetric_pair("hare", **{argument: value, "points": 100})
