"""Votes for the scale: a narrow maximum is found below a wide bump of votes that wrong correspondences cast."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphreg.engine.scale_votes import SCALE_VOTES, largest_maxima


@given(st.floats(-0.8, 0.8), st.integers(0, 2**20))
def test_a_narrow_maximum_is_found_beside_a_wide_bump_that_is_higher(log_scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    by_chance = rng.normal(0.0, 0.4, 40_000)
    right = rng.normal(log_scale, SCALE_VOTES.kernel, 600)
    found = largest_maxima(np.concatenate([by_chance, right]))
    assert abs(found[0].log_scale - log_scale) < 2 * SCALE_VOTES.kernel


@given(st.integers(0, 2**20), st.integers(1, 500))
def test_maxima_are_distinct_and_sorted(seed: int, count: int) -> None:
    found = largest_maxima(np.random.default_rng(seed).normal(0.0, 0.5, count))
    assert 1 <= len(found) <= SCALE_VOTES.most
    excess = [each.excess for each in found]
    assert excess == sorted(excess, reverse=True)
    assert excess[-1] > 0


def test_without_votes_there_is_no_maximum() -> None:
    assert largest_maxima(np.empty(0)) == []
