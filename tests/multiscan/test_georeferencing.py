"""Absolute orientation: exact without noise, covariance and residuals of the right size, outliers, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.support.strategies import random_transform

import graphreg
from graphreg import InputError, absolute_orientation
from graphreg.poses import inverse, pose, transform

# Rotations and translations of each choice of degrees of freedom.
DOF = {
    None: lambda seed: random_transform(seed, 100.0),
    "rz,x,y,z": lambda seed: pose(Rotation.from_euler("z", seed).as_matrix(), random_transform(seed, 100.0)[:3, 3]),
    "x,y,z": lambda seed: pose(np.eye(3), random_transform(seed, 100.0)[:3, 3]),
    "ry": lambda seed: pose(Rotation.from_euler("y", seed).as_matrix(), np.zeros(3)),
}


def points(seed: int, count: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-10, 10, (count, 3))


@pytest.mark.parametrize("dof", DOF)
@given(seed=st.integers(0, 10_000))
def test_it_is_exact_without_noise(dof: str | None, seed: int) -> None:
    source, T = points(seed), DOF[dof](seed)
    found = absolute_orientation(source, transform(T, source), dof=dof)
    np.testing.assert_allclose(found.transformation, T, atol=1e-12 * 200)
    assert found.used.all()
    assert found.sigma0 < 1e-12
    assert found.scale == 1.0


@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 100))
def test_the_scale_is_exact_without_noise(seed: int, scale: float) -> None:
    source, T = points(seed), random_transform(seed, 100.0)
    found = absolute_orientation(source, scale * transform(T, source), scale=True)
    assert found.scale == pytest.approx(scale, rel=1e-12)
    np.testing.assert_allclose(found.transformation[:3, :3], scale * T[:3, :3], atol=1e-12 * scale)


def test_far_from_the_origin_no_digit_is_lost() -> None:
    source, T = points(1), pose(random_transform(1, 0)[:3, :3], [4.4e5, 5.4e6, 300.0])
    found = absolute_orientation(source, transform(T, source))
    # Coordinates of millions are rounded to 1e-9.
    assert np.abs(found.residuals).max() < 4e-9
    back = absolute_orientation(transform(T, source), source)
    assert np.abs(back.residuals).max() < 4e-9


@pytest.mark.slow
@pytest.mark.parametrize(("dof", "scale"), [(None, False), (None, True), ("rz,x,y,z", False)])
@pytest.mark.parametrize("known", [True, False])
def test_the_covariance_agrees_with_the_spread(dof: str | None, scale: bool, known: bool) -> None:
    """The squared error by the covariance is chi-squared (F with an estimated sigma): its mean is known."""
    runs, rng, squared = 200, np.random.default_rng(0), []
    sigma = np.linspace(0.005, 0.02, 8) if known else np.full(8, 0.01)
    for run in range(runs):
        source, T = points(run, 8), DOF[dof](run)
        target = transform(T, source) + sigma[:, None] * rng.normal(size=(8, 3))
        found = absolute_orientation(
            source, target, sigma=sigma if known else None, scale=scale, dof=dof, significance=None
        )
        error = found.transformation @ inverse(T)
        size = np.cbrt(np.linalg.det(error[:3, :3]))
        shift = transform(error, found.centre[None])[0] - found.centre
        twist = np.r_[Rotation.from_matrix(error[:3, :3] / size).as_rotvec(), shift, size - 1]
        free = np.diag(found.covariance) > 0
        squared.append(twist[free] @ np.linalg.solve(found.covariance[np.ix_(free, free)], twist[free]))
    unknowns = (4 if dof else 6) + scale
    redundancy = 24 - unknowns
    expected = unknowns if known else unknowns * redundancy / (redundancy - 2)
    # Five standard deviations of the mean; those of F are at most 1.7 times those of chi-squared here.
    assert np.mean(squared) == pytest.approx(expected, abs=5 * 1.7 * np.sqrt(2 * unknowns / runs))


@pytest.mark.parametrize("sigma", [0.005, None])
def test_swapped_names_and_a_wrong_number_are_found(sigma: float | None) -> None:
    found = 0
    for seed in range(20):
        rng, source = np.random.default_rng(seed), points(seed, 9)
        target = transform(random_transform(seed, 100.0), source) + 0.005 * rng.normal(size=(9, 3))
        target[[0, 1]] = target[[1, 0]]
        target[2, 1] += 1.0
        outliers = np.flatnonzero(~absolute_orientation(source, target, sigma=sigma).used)
        assert set(outliers) >= {0, 1, 2}
        found += len(outliers) == 3
    # Of 120 right points tested at 0.001, more than two are outliers with probability 0.0003.
    assert found >= 18


def test_all_points_count_where_that_is_asked_for() -> None:
    source = points(0)
    target = source + np.eye(6, 3)
    assert absolute_orientation(source, target, sigma=0.01, significance=None).used.all()


def test_levelled_frames_need_two_points() -> None:
    source, T = points(3, 2), DOF["rz,x,y,z"](3)
    np.testing.assert_allclose(
        absolute_orientation(source, transform(T, source), dof="rz,x,y,z").transformation, T, atol=1e-10
    )


LINE = np.outer([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
SPACE = points(0, 4)


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (SPACE[:2], SPACE[:2], {}, "source_points: expected at least 3 that agree with each other, got 2"),
        (LINE, LINE, {}, "source_points: all 4 are coincident or collinear, expected three that are not on one line"),
        (SPACE, LINE, {}, "target_points: all 4 are coincident or collinear"),
        (np.ones((4, 3)), SPACE, {}, "source_points: all 4 are coincident or collinear"),
        (SPACE, SPACE[:3], {}, "target_points: expected 4 as in source_points, got 3"),
        (SPACE[:, :2], SPACE, {}, r"source_points: expected shape \(N, 3\), got \(4, 2\)"),
        (SPACE * np.nan, SPACE, {}, "source_points: expected finite numbers"),
        (SPACE, SPACE, {"sigma": 0.0}, "sigma: expected positive numbers, got 0.0"),
        (SPACE, SPACE, {"sigma": [1, 2]}, r"sigma: expected a number or 4, got shape \(2,\)"),
        (SPACE, SPACE, {"scale": 2}, "scale: expected True or False, got 2"),
        (SPACE, SPACE, {"dof": "rz,x"}, "dof: a rotation leads from one axis to another"),
        (SPACE, SPACE, {"significance": 2}, "significance: expected a number from 0 to 1, got 2"),
        (np.eye(3) * [0, 0, 1], np.eye(3), {"dof": "rz,x,y,z"}, "source_points: all 3 are on one line along z"),
    ],
)
def test_bad_input_is_named(source: Any, target: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        graphreg.absolute_orientation(source, target, **options)
