"""Whether surfaces determine the scale: not a corner, which scaling about its apex leaves as it is; a box does."""

from __future__ import annotations

import numpy as np
import pytest

import graphreg
from graphreg.clouds import Floats
from graphreg.engine.scale_observability import SCALE, sum_over_patches
from graphreg.engine.similarity_refinement import SimilarityEquations


def sides(count: int, far: bool, seed: int) -> Floats:
    """Points on three sides of a box that meet in a corner, or on all six, with a dent that fixes the pose."""
    rng = np.random.default_rng(seed)
    points = rng.random((count, 3))
    axis = rng.integers(0, 3, count)
    points[np.arange(count), axis] = rng.integers(0, 2, count) if far else 0
    return np.asarray(points * [1.0, 1.4, 1.9] + rng.normal(0, 5e-4, points.shape))


@pytest.mark.slow
def test_three_planes_that_meet_in_a_point_have_no_scale() -> None:
    result = graphreg.register(sides(8_000, False, 0) * 2, sides(8_000, False, 1), scale=True)
    assert not result.success
    assert SCALE in result.degenerate_directions


@pytest.mark.slow
def test_a_box_has_one() -> None:
    result = graphreg.register(sides(8_000, True, 0) * 2, sides(8_000, True, 1), scale=True)
    assert SCALE not in result.degenerate_directions
    assert result.scale == pytest.approx(0.5, rel=0.003)


@pytest.mark.slow
def test_a_plane_has_none() -> None:
    rng = np.random.default_rng(3)
    plane = np.column_stack([rng.random((4_000, 2)), rng.normal(0, 5e-4, 4_000)])
    result = graphreg.register(plane * 3, plane, scale=True)
    assert not result.success
    assert SCALE in result.degenerate_directions


@pytest.mark.slow
def test_the_covariance_is_symmetric_and_positive() -> None:
    result = graphreg.register(sides(8_000, True, 0), sides(8_000, True, 1), scale=True)
    assert result.covariance is not None
    assert result.covariance.shape == (7, 7)
    assert np.allclose(result.covariance, result.covariance.T)
    assert np.linalg.eigvalsh(result.covariance / np.sqrt(np.outer(*[np.diag(result.covariance)] * 2))).min() > 0


def equations_with(residuals: Floats, positions: Floats) -> SimilarityEquations:
    gradients = residuals[:, None] * np.ones(7)
    return SimilarityEquations(np.eye(7), gradients.sum(axis=0), 1.0, 1.0, positions, gradients)


def test_residuals_that_neighbours_share_weigh_more_than_independent_ones() -> None:
    rng = np.random.default_rng(4)
    positions = rng.uniform(-1, 1, (20_000, 3))
    independent = rng.normal(size=len(positions))
    alone = sum_over_patches(equations_with(independent, positions))[6, 6]
    # Independent ones: the sum of squares, whatever the patches; its standard error over some 100 patches is 15 %.
    assert alone == pytest.approx((independent**2).sum(), rel=0.5)
    shared = np.sin(3 * positions[:, 0]) * np.sqrt(2)
    assert sum_over_patches(equations_with(shared, positions))[6, 6] > 20 * alone
