"""Feature matching: mutual nearest neighbours and the tuple test."""

from __future__ import annotations

import numpy as np
from tests.support.strategies import random_cloud, random_transform

from graphreg.baselines.baseline_run import BaselineRun
from graphreg.baselines.fpfh_correspondences import match_fpfh, mutual_nearest_neighbours, tuple_test
from graphreg.poses import transform


def test_mutual_nearest_neighbours() -> None:
    source = np.array([[0.0], [1.0], [5.0]], np.float32)
    target = np.array([[4.9], [0.1], [0.2]], np.float32)
    assert mutual_nearest_neighbours(source, target, 1).tolist() == [[0, 1], [2, 0]]


def test_the_tuple_test_selects_inliers_rather_than_outliers() -> None:
    rng = np.random.default_rng(0)
    source = random_cloud("blob", 400, 1)
    target = transform(random_transform(2, 1.0), source)
    target[200:] = rng.normal(size=(200, 3))
    passed = tuple_test(source, target, 0.95, 1000, rng)
    assert passed[:200].mean() > 0.9
    assert passed[200:].mean() < 0.3 * passed[:200].mean()


def test_the_correspondences_of_an_exact_copy_are_inliers(body: np.ndarray) -> None:
    """Rounding moves a few angles from one bin to the next, and can make another point the nearest in feature space."""
    run = BaselineRun(transform(random_transform(1, 1.0), body), body, 0, None, 2, None)
    found = match_fpfh(run, 5.0)
    assert len(found) > 0.9 * len(body)
    assert (found[:, 0] == found[:, 1]).mean() > 0.99
