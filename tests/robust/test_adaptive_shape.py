"""The shape of Barron's loss: normal residuals are least squares, heavier tails more robust."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.robust.adaptive_shape import SHAPES, estimate_shape


def test_normal_residuals_ask_for_least_squares() -> None:
    assert estimate_shape(np.random.default_rng(0).normal(size=5000)) >= 1.75


def test_the_more_outliers_the_smaller_the_shape() -> None:
    rng = np.random.default_rng(1)
    shapes = [
        estimate_shape(np.concatenate([rng.normal(size=2000), rng.uniform(-10, 10, int(2000 * ratio))]))
        for ratio in (0.0, 0.1, 0.3, 1.0)
    ]
    assert shapes == sorted(shapes, reverse=True)
    assert shapes[0] > 1 > shapes[-1]


def test_signs_and_order_do_not_matter() -> None:
    residuals = np.random.default_rng(2).standard_cauchy(999)
    assert estimate_shape(residuals) == estimate_shape(-residuals[::-1])


@pytest.mark.parametrize("residuals", [np.zeros(7), np.array([1e300]), np.full(3, 1e-300)])
def test_any_residuals_have_a_shape(residuals: np.ndarray) -> None:
    assert estimate_shape(residuals) in SHAPES
