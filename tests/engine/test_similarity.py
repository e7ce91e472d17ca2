"""register(scale=True): any pose, any scale, and nothing changes where no scale is asked for."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.strategies import small_pair, small_result, small_scan

import graphreg
from graphreg.datasets.photogrammetry import photogrammetric_pair
from graphreg.method_interface import Iteration
from graphreg.metrics import angular_error
from graphreg.poses import inverse_similarity, pose, rotation_from_vector, scale_of, split_similarity, transform

MOST_DEGREES = 0.5
MOST_SCALE_ERROR = 0.005


@lru_cache
def tripled() -> graphreg.Result:
    """A source three times as large, registered with a scale by one thread."""
    pair = small_pair("casting")
    return graphreg.register(pair.source * 3, pair.target, scale=True, threads=1)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.floats(-2.3, 2.3), st.integers(0, 2**20))
def test_a_scaled_source_is_registered_from_any_pose(log_scale: float, seed: int) -> None:
    pair = small_pair("hare")
    scale = float(np.exp(log_scale))
    T = pose(rotation_from_vector(np.random.default_rng(seed).normal(size=3)), [2.0, 0.0, -1.0])
    result = graphreg.register(transform(T, pair.source) / scale, pair.target, scale=True)
    found = split_similarity(result.transformation)[1] @ T
    assert result.success
    assert result.scale == pytest.approx(scale, rel=MOST_SCALE_ERROR)
    assert angular_error(found, pair.T_target_source) < MOST_DEGREES


@pytest.mark.slow
def test_the_result_is_consistent() -> None:
    pair = small_pair("casting")
    seen: list[Iteration] = []
    result = graphreg.register(pair.source / 2, pair.target, scale=(1.0, 4.0), callback=seen.append)
    assert result.success
    assert result.scale == scale_of(result.transformation)
    assert result.settings["scale"] == (1.0, 4.0)
    assert [step.number for step in result.history] == list(range(1, len(result.history) + 1))
    assert np.array_equal(result.history[-1].transformation, result.transformation)
    assert len(seen) == len(result.history)
    assert sum(seconds for stage, seconds in result.timings.items() if stage != "total") <= result.timings["total"]
    again = graphreg.Result.from_json(result.to_json())
    assert again.scale == result.scale
    assert again.covariance is not None
    assert np.array_equal(again.covariance, np.asarray(result.covariance))


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_threads() -> None:
    pair = small_pair("casting")
    one, two = tripled(), graphreg.register(pair.source * 3, pair.target, scale=True, threads=2)
    assert np.array_equal(one.transformation, two.transformation)
    assert np.array_equal(np.asarray(one.covariance), np.asarray(two.covariance))


@pytest.mark.slow
def test_a_scale_outside_its_limits_is_not_found() -> None:
    pair = small_pair("casting")
    result = graphreg.register(pair.source * 3, pair.target, scale=(0.5, 2.0))
    assert not result.success
    assert 0.5 - 1e-12 <= result.scale <= 2.0 + 1e-12


@pytest.mark.slow
def test_limits_around_one_are_a_rigid_registration() -> None:
    pair = small_pair("casting")
    result = graphreg.register(pair.source, pair.target, scale=(1.0, 1.0))
    assert result.success
    assert result.scale == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_without_scale_the_result_has_none() -> None:
    pair = small_pair("casting")
    plain, off = small_result("casting"), graphreg.register(pair.source, pair.target, scale=False)
    assert plain.scale == off.scale == 1.0
    assert np.array_equal(plain.transformation, off.transformation)
    assert plain.covariance is not None
    assert plain.covariance.shape == (6, 6)


@pytest.mark.slow
def test_an_initial_similarity_is_refined() -> None:
    pair = small_pair("casting")
    init = pair.T_target_source @ np.diag([2.02, 2.02, 2.02, 1.0])
    result = graphreg.register(pair.source / 2, pair.target, scale=True, init=init)
    assert result.scale == pytest.approx(2.0, rel=MOST_SCALE_ERROR)


@pytest.mark.slow
def test_clouds_that_do_not_match_are_not_registered_at_any_scale() -> None:
    hare, casting = (small_scan(name)[::4] for name in ("hare", "casting"))
    assert not graphreg.register(hare * 4, casting, scale=True).success


@pytest.mark.slow
def test_preprocessed_clouds_and_meshes_are_scaled_too() -> None:
    pair = small_pair("casting")
    source, target = graphreg.prepare(pair.source * 3), graphreg.prepare(pair.target)
    result = graphreg.register(source, target, scale=True)
    assert result.success
    assert result.scale == pytest.approx(1 / 3, rel=MOST_SCALE_ERROR)


@pytest.mark.slow
def test_swapping_the_clouds_inverts_the_scale() -> None:
    pair = small_pair("casting")
    there = tripled()
    back = graphreg.register(pair.target, pair.source * 3, scale=True)
    assert there.scale * back.scale == pytest.approx(1, rel=2 * MOST_SCALE_ERROR)
    assert (
        angular_error(
            split_similarity(back.transformation)[1], split_similarity(inverse_similarity(there.transformation))[1]
        )
        < 1
    )


@pytest.mark.parametrize(
    "wrong", ["any", (2.0, 1.0), (0.0, 1.0), (1.0, 2.0, 3.0), 3, float("nan"), (1.0, float("inf"))]
)
def test_a_scale_that_is_none_is_refused(wrong: object) -> None:
    points = np.random.default_rng(0).random((50, 3))
    with pytest.raises(graphreg.InputError, match="scale: expected True, False, or the smallest"):
        graphreg.register(points, points, scale=wrong)  # type: ignore[call-overload]


def test_degrees_of_freedom_and_scale_exclude_each_other() -> None:
    points = np.random.default_rng(0).random((50, 3))
    with pytest.raises(graphreg.InputError, match="scale: cannot be estimated with degrees of freedom"):
        graphreg.register(points, points, scale=True, dof="rz,x,y,z")


@pytest.mark.parametrize("method", ["fgr", "super4pcs", "tricp"])
def test_methods_that_define_no_scale_refuse_it(method: str) -> None:
    points = np.random.default_rng(0).random((50, 3))
    with pytest.raises(graphreg.InputError, match=f"scale: no setting of {method}"):
        graphreg.register(points, points, method=method, scale=True)


@pytest.mark.slow
def test_a_callback_can_stop_it() -> None:
    pair = small_pair("casting")
    result = graphreg.register(pair.source * 3, pair.target, scale=True, callback=lambda _: True)
    assert len(result.history) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "points"), [("dragon", 5_000), ("room", 10_000)])
def test_a_photogrammetric_cloud_is_registered_to_a_laser_scan(name: str, points: int) -> None:
    pair = photogrammetric_pair(name, points=points)
    result = graphreg.register(pair.source, pair.target, scale=True)
    true_scale, true_pose = split_similarity(pair.T_target_source)
    assert result.success
    assert result.scale == pytest.approx(true_scale, rel=MOST_SCALE_ERROR)
    assert angular_error(split_similarity(result.transformation)[1], true_pose) < 2
