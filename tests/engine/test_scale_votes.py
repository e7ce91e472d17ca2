"""Votes for the scale: found from any pose, at any scale, within limits, however uneven the density is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import thin_by_distance
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.scale_votes import SCALE_VOTES, ScaleHypothesis, is_clear, propose_scales
from graphreg.engine.settings import EngineSettings
from graphreg.method_interface import ANY_SCALE
from graphreg.poses import pose, rotation_from_vector, transform


def proposed(source: Floats, target: Floats, limits: tuple[float, float] = ANY_SCALE) -> list[ScaleHypothesis]:
    return propose_scales(preprocess(source, "source"), preprocess(target, "target"), EngineSettings(), limits)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.floats(0.1, 10), st.integers(0, 2**20))
def test_the_scale_of_two_views_is_found_from_any_pose(scale: float, seed: int) -> None:
    pair = synthetic.pair("casting", 20.0, points=3_000)
    T = pose(rotation_from_vector(np.random.default_rng(seed).normal(size=3)), [0.3, -0.2, 5.0])
    found = proposed(transform(T, pair.source) / scale, pair.target)
    # A vote is as exact as a voxel is small beside the lengths; the maximum of many is finer.
    assert abs(np.log(found[0].scale / scale)) < SCALE_VOTES.kernel


@pytest.mark.slow
def test_uneven_density_does_not_bias_it() -> None:
    pair = synthetic.pair("hare", 20.0, points=8_000)
    found = proposed(thin_by_distance(pair.source, 0.1) / 3, pair.target)
    assert abs(np.log(found[0].scale / 3)) < 2 * SCALE_VOTES.kernel


@pytest.mark.slow
def test_scales_are_within_the_limits_and_sorted_by_votes() -> None:
    pair = synthetic.pair("hare", 20.0, points=3_000)
    found = proposed(pair.source, pair.target, (2.0, 4.0))
    assert all(2.0 <= each.scale <= 4.0 for each in found)
    assert [each.votes for each in found] == sorted((each.votes for each in found), reverse=True)


def test_a_scale_is_proposed_where_no_correspondences_vote() -> None:
    rng = np.random.default_rng(0)
    found = proposed(rng.normal(size=(60, 3)), rng.normal(size=(60, 3)))
    assert found
    assert all(each.scale > 0 for each in found)


@pytest.mark.parametrize(
    ("votes", "clear"), [([], False), ([50.0], False), ([900.0, 100.0], True), ([900.0, 800.0], False)]
)
def test_a_clear_maximum_has_many_votes_and_no_rival(votes: list[float], clear: bool) -> None:
    assert is_clear([ScaleHypothesis(1.0, count) for count in votes]) is clear
