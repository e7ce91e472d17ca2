"""Degenerate clouds: a result or an `InputError`, by every baseline and at every scale."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from tests.support.strategies import random_cloud

import graphreg
from graphreg.baselines import BASELINES

SURFACE = random_cloud("surface", 80, 0)
CLOUDS = {
    "one point": np.ones((80, 3)),
    "two points": np.repeat([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], 40, axis=0),
    "line": np.linspace([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], 80),
    "1e-310": 1e-310 * SURFACE,
    "1e-300": 1e-300 * SURFACE,
    "1e-140": 1e-140 * SURFACE,
    "1e100": 1e100 * SURFACE,
    "1e149": 1e149 * SURFACE,
    "1e300": 1e300 * SURFACE,
}


@pytest.mark.slow
@pytest.mark.parametrize("method", BASELINES)
def test_a_result_or_an_input_error(method: str) -> None:
    for name, cloud in CLOUDS.items():
        for source, target in ((cloud, cloud), (cloud, SURFACE), (SURFACE, cloud)):
            with warnings.catch_warnings(), contextlib.suppress(graphreg.InputError):
                warnings.simplefilter("ignore", RuntimeWarning)  # where numbers overflow
                result = graphreg.register(source, target, method=method, max_iterations=8, threads=1)
                assert np.isfinite(result.transformation).all(), name


@pytest.mark.parametrize("method", ["fgr", "teaser", "fricp", "ecm", "super4pcs"])
def test_the_cloud_with_too_few_points_is_named(method: str) -> None:
    with pytest.raises(graphreg.InputError, match=r"^target: has 1 distinct points in voxels of"):
        graphreg.register(SURFACE, CLOUDS["one point"], method=method)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("method", ["icp", "super4pcs", "graphreg-paper"])
def test_scales_whose_squares_are_no_numbers_are_refused(method: str, scale: float) -> None:
    with pytest.raises(graphreg.InputError, match=r"^source.* to square$"):
        graphreg.register(scale * SURFACE, scale * SURFACE, method=method)
