"""What users rely on: a pose does not depend on how the clouds are given, but on what they show.

Bounds are in standard deviations of the rotation, from the covariance of the result. Two estimates from different
samples of the points differ by the noise of both. What only rounds coordinates, or exchanges the roles of the clouds,
changes which voxel a few points are in: much less.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.strategies import Floats, random_transform, seeds, small_pair, small_result

import graphreg
from graphreg.metrics import angular_error
from graphreg.poses import inverse, pose, transform

# In standard deviations: another sample; rounding.
ANOTHER_SAMPLE, ROUNDING = 5 * np.sqrt(2), 0.25
# Easting and northing of a place in Europe, in UTM coordinates, and larger offsets than any map has.
OFFSETS = ([4e5, 5e6, 100.0], [1e7, -1e7, 1e7])
SCENES = ("hare", pytest.param("casting", marks=pytest.mark.slow), pytest.param("room", marks=pytest.mark.slow))
some = settings(max_examples=2)


def registered(name: str) -> graphreg.Result:
    """The registration that all others are compared with."""
    result = small_result(name)
    assert result.success
    return result


def deviations(name: str, T: Floats) -> float:
    """How far a pose is from the pose found, in standard deviations of its rotation."""
    found = registered(name)
    assert found.covariance is not None
    deviation = np.degrees(np.sqrt(np.linalg.eigvalsh(found.covariance[:3, :3])[-1]))
    return float(angular_error(T, found.transformation) / deviation)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
@some
@given(seed=seeds)
def test_rows_in_another_order_give_the_same_bits(name: str, seed: int) -> None:
    pair, rng = small_pair(name), np.random.default_rng(seed)
    found = graphreg.register(rng.permutation(pair.source), rng.permutation(pair.target), threads=1)
    assert found.transformation.tobytes() == registered(name).transformation.tobytes()
    assert found.confidence == registered(name).confidence


@pytest.mark.parametrize("name", SCENES)
def test_swapping_the_clouds_inverts_the_pose(name: str) -> None:
    pair = small_pair(name)
    found = graphreg.register(pair.target, pair.source, threads=1)
    assert deviations(name, inverse(found.transformation)) < ROUNDING


@pytest.mark.parametrize("name", SCENES)
@some
@given(seed=seeds)
def test_moving_both_clouds_moves_the_pose_with_them(name: str, seed: int) -> None:
    pair, along = small_pair(name), random_transform(seed, 10.0)
    found = graphreg.register(transform(along, pair.source), transform(along, pair.target), threads=1)
    assert deviations(name, inverse(along) @ found.transformation @ along) < ROUNDING


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("offset", OFFSETS, ids=["UTM", "farther"])
def test_large_coordinates_do_not_matter(name: str, offset: list[float]) -> None:
    pair, along = small_pair(name), pose(np.eye(3), np.array(offset))
    found = graphreg.register(pair.source + offset, pair.target + offset, threads=1)
    assert deviations(name, inverse(along) @ found.transformation @ along) < ROUNDING


@pytest.mark.parametrize("name", SCENES)
@some
@given(scale=st.floats(-4, 4).map(lambda exponent: 10.0**exponent))
def test_the_unit_does_not_matter(name: str, scale: float) -> None:
    pair = small_pair(name)
    found = graphreg.register(scale * pair.source, scale * pair.target, threads=1).transformation
    assert deviations(name, pose(found[:3, :3], found[:3, 3] / scale)) < ROUNDING


@pytest.mark.parametrize("name", SCENES)
@some
@given(seed=st.integers(1, 2**32 - 1))
def test_another_seed_gives_the_same_pose_up_to_noise(name: str, seed: int) -> None:
    pair = small_pair(name)
    found = graphreg.register(pair.source, pair.target, seed=seed, threads=1)
    assert found.success
    assert deviations(name, found.transformation) < ANOTHER_SAMPLE


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_prepared_clouds_give_the_same_pose(name: str) -> None:
    """One of them the same bits; two up to noise, because their voxel sizes are those that other pairs share."""
    pair = small_pair(name)
    source, target = graphreg.prepare(pair.source), graphreg.prepare(pair.target)
    for one in ((source, pair.target), (pair.source, target)):
        same = graphreg.register(*one, threads=1).transformation
        assert same.tobytes() == registered(name).transformation.tobytes()
    both = graphreg.register(source, target, threads=1)
    assert both.success
    assert deviations(name, both.transformation) < ANOTHER_SAMPLE
