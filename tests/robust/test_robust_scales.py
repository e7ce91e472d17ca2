"""Scales of residuals: consistent on normal ones, equivariant, and bounded while fewer than half are outliers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import seeds

from graphreg.clouds import Floats
from graphreg.robust.robust_scales import SCALES, s_scale

Scale = Callable[[Floats], float]
scales = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)


@scales
def test_of_normal_residuals_it_is_the_standard_deviation(scale: Scale) -> None:
    # The standard error of the MAD of n residuals is 1.17 / sqrt(n) of it, that of the S-estimate is smaller.
    assert scale(np.random.default_rng(1).normal(size=100_000)) == pytest.approx(1.0, abs=4 * 1.17 / np.sqrt(100_000))


@scales
@given(seeds, st.floats(1e-6, 1e6))
def test_it_is_equivariant_and_ignores_signs(scale: Scale, seed: int, factor: float) -> None:
    residuals = np.random.default_rng(seed).standard_t(2, size=101)
    assert scale(-factor * residuals) == pytest.approx(factor * scale(residuals), rel=1e-9)


@scales
def test_its_breakdown_point_is_one_half(scale: Scale) -> None:
    residuals = np.random.default_rng(2).normal(size=1000)
    for share, bounded in ((0.3, True), (0.45, True), (0.55, False)):
        corrupted = residuals.copy()
        corrupted[: int(share * len(residuals))] = 1e9
        assert (scale(corrupted) < 10) == bounded, share


@scales
def test_of_equal_points_it_is_zero(scale: Scale) -> None:
    assert scale(np.zeros(5)) == 0
    assert scale(np.array([0.0, 0.0, 0.0, 7.0])) == 0


def test_the_s_estimate_solves_its_equation() -> None:
    residuals = np.random.default_rng(3).standard_t(3, size=2000)
    u = np.clip(residuals / (1.5476 * s_scale(residuals)), -1, 1)
    assert (1 - (1 - u**2) ** 3).mean() == pytest.approx(0.5, abs=1e-3)
