"""Data snooping: probabilities of residuals, and the points that remain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import chdtri

from graphreg.multiscan.data_snooping import PointResiduals, consistent_points


def mean_residuals(values: np.ndarray, known: bool) -> object:
    """The adjustment of a mean in each coordinate, with unit variances."""

    def adjust(used: np.ndarray) -> PointResiduals:
        count = np.count_nonzero(used)
        residuals = values - values[used].mean(axis=0)
        factor = 1 + np.where(used, -1.0, 1.0) / count
        covariances = factor[:, None, None] * np.eye(3)
        squared = float((residuals[used] ** 2).sum())
        return PointResiduals(
            residuals, covariances, np.ones(len(values)), squared, 3 * (count - 1), None if known else 1e-30
        )

    return adjust


@pytest.mark.parametrize("known", [True, False])
def test_right_points_are_rejected_as_often_as_stated(known: bool) -> None:
    rng = np.random.default_rng(0)
    used = np.ones(10, bool)
    small = [
        np.count_nonzero(mean_residuals(rng.normal(size=(10, 3)), known)(used).probabilities(used) < 0.05)  # type: ignore[operator]
        for _ in range(500)
    ]
    # 250 of 5,000 expected; five standard deviations, as if they were independent.
    assert np.sum(small) == pytest.approx(250, abs=5 * np.sqrt(5000 * 0.05 * 0.95))


@pytest.mark.parametrize("known", [True, False])
def test_outliers_are_removed_and_right_points_added(known: bool) -> None:
    values = np.random.default_rng(1).normal(size=(12, 3))
    values[:3] += [30.0, 0, 0]
    start = np.arange(12) >= 6
    used, found = consistent_points(mean_residuals(values, known), start)  # type: ignore[arg-type]
    assert used.tolist() == [False] * 3 + [True] * 9
    np.testing.assert_allclose(found.residuals, values - values[3:].mean(axis=0))


def test_a_direction_that_nothing_checks_does_not_count() -> None:
    covariances = np.diag([0.0, 1.0, 1.0])[None]
    found = PointResiduals(np.array([[5.0, 1.0, 2.0]]), covariances, np.ones(1), 0.0, 2, None)
    (probability,) = found.probabilities(np.ones(1, bool))
    assert chdtri(2, probability) == pytest.approx(5.0)
