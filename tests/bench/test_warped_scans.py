"""Warps of real scans: maps of space that keep what they should."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench.warped_scans import WARPS, warp_of


def a_body() -> np.ndarray:
    return np.random.default_rng(3).uniform(-1, 1, (500, 3)) * [4, 2, 1] + 10


@pytest.mark.parametrize("name", WARPS)
def test_a_warp_is_a_smooth_map_that_deforms(name: str) -> None:
    points = a_body()
    warped = warp_of(name, points, np.random.default_rng(0))
    displacement = warped(points) - points
    assert np.linalg.norm(displacement, axis=1).max() > 0.02 * np.ptp(points)
    step = 1e-5
    slopes = [(warped(points + step * axis) - warped(points - step * axis)) / (2 * step) for axis in np.eye(3)]
    # No fold: the map keeps the orientation of space everywhere.
    assert np.linalg.det(np.stack(slopes, axis=2)).min() > 0.2


def test_bending_keeps_lengths_along_the_middle() -> None:
    points = a_body()
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    line = middle + np.linspace(-1, 1, 200)[:, None] * [4, 0, 0]
    bent = warp_of("bend", points, np.random.default_rng(0))(line)
    assert np.linalg.norm(np.diff(bent, axis=0), axis=1).sum() == pytest.approx(8, rel=1e-4)
