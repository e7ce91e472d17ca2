"""Scale hypotheses: found from any pose, at any scale, within limits, of a part of the surface as of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.strategies import small_pair

from graphreg.bench import pot
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import thin_by_distance
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.scale_hypotheses import SCALE_HYPOTHESES, ScaleHypothesis, propose_scales
from graphreg.engine.settings import EngineSettings
from graphreg.method_interface import ANY_SCALE
from graphreg.poses import pose, rotation_from_vector, transform

# A vote is as exact as a voxel is small beside the lengths; half of this is what rigid registration still finds.
NEAR = 0.1


def proposed(source: Floats, target: Floats, limits: tuple[float, float] = ANY_SCALE) -> list[ScaleHypothesis]:
    return propose_scales(preprocess(source, "source"), preprocess(target, "target"), EngineSettings(), limits)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.floats(0.1, 10), st.integers(0, 2**20))
def test_the_scale_of_two_views_is_found_from_any_pose(scale: float, seed: int) -> None:
    pair = synthetic.pair("casting", 20.0, points=3_000)
    T = pose(rotation_from_vector(np.random.default_rng(seed).normal(size=3)), [0.3, -0.2, 5.0])
    found = proposed(transform(T, pair.source) / scale, pair.target)
    assert abs(np.log(found[0].scale / scale)) < NEAR / 2


@pytest.mark.slow
def test_uneven_density_does_not_bias_it() -> None:
    pair = synthetic.pair("hare", 20.0, points=8_000)
    found = proposed(thin_by_distance(pair.source, 0.1) / 3, pair.target)
    assert abs(np.log(found[0].scale / 3)) < NEAR / 2


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**20))
def test_a_small_part_is_not_scaled_to_the_size_of_the_whole(seed: int) -> None:
    lid, whole, *_ = pot.lid_and_pot()
    rotation = rotation_from_vector(np.random.default_rng(seed).normal(size=3))
    found = proposed(transform(pose(rotation, np.zeros(3)), lid) / 2, whole)
    assert any(abs(np.log(each.scale / 2)) < NEAR for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("end", [-1, 1])
def test_nor_is_half_of_a_view(end: int) -> None:
    pair = small_pair("hare")
    height = end * pair.source[:, 2]
    found = proposed(pair.source[height >= np.median(height)] * 4, pair.target)
    assert any(abs(np.log(each.scale * 4)) < NEAR for each in found)


@pytest.mark.slow
def test_scales_are_within_the_limits_distinct_and_sorted_by_score() -> None:
    pair = small_pair("hare")
    found = proposed(pair.source, pair.target, (2.0, 4.0))
    assert all(2.0 - 1e-12 <= each.scale <= 4.0 + 1e-12 for each in found)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert len(found) == 1 or abs(np.log(found[0].scale / found[1].scale)) > SCALE_HYPOTHESES.distinct


def test_a_scale_is_proposed_where_no_correspondences_vote() -> None:
    rng = np.random.default_rng(0)
    found = proposed(rng.normal(size=(60, 3)), rng.normal(size=(60, 3)))
    assert found
    assert all(each.scale > 0 for each in found)
