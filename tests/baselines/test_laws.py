"""Laws of every baseline, whatever it minimises."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import graphreg
from graphreg.baselines import BASELINES
from graphreg.datasets import synthetic
from graphreg.method_interface import Iteration
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform

TRUTH = pose(rotation_from_vector(np.radians([4.0, -6.0, 5.0])), [0.01, -0.01, 0.005])

SPACING = 0.006
BOUND = 0.004  # smaller than the spacing, which bounds the influence of an outlier
SIZE = 0.17  # of the body
# Largest error on an exact copy. In double precision: rounding. CPD and ECM sum over all pairs in single precision,
# where each coordinate has an error of up to 2^-24. GMM compares values of such a sum, and a displacement by d changes
# it by the square of d over the width: 2^-12 of the width is below rounding. Of the correspondences of FGR and TEASER++
# up to one in a hundred is an outlier, since rounding moves angles from one bin to the next; the influence of an
# outlier is at most a third of FGR's max_distance, and in TEASER++ two noise bounds. (Without outliers: test_fgr.py,
# test_teaser.py.)
EXACT = dict.fromkeys(BASELINES, 1e-10 * SIZE) | {
    "cpd": 2.0**-22 * SIZE,
    "ecm": 2.0**-22 * SIZE,
    "gmm": 2.0**-12 * 0.02 * SIZE,
    "fgr": 1e-2 * BOUND / 3,
    "teaser": 1e-2 * BOUND * 2,
}


@pytest.fixture(scope="module")
def body() -> np.ndarray:
    points = graphreg.voxel_downsample(synthetic.scan("hare", points=6000).points, SPACING)
    return points - points.mean(axis=0)


@pytest.fixture(scope="module")
def source(body: np.ndarray) -> np.ndarray:
    return transform(inverse(TRUTH), body)


@pytest.fixture(scope="module")
def dragon() -> synthetic.Pair:
    return synthetic.pair("dragon", 24.0, points=3000)


@pytest.fixture(scope="module", params=BASELINES)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def found(body: np.ndarray, source: np.ndarray, method: str) -> graphreg.Result:
    return graphreg.register(source, body, method=method, voxel=0, threads=1)


def test_an_exact_copy_is_found_to_numerical_precision(
    body: np.ndarray, source: np.ndarray, method: str, found: graphreg.Result
) -> None:
    assert rmsd(found.transformation, TRUTH, source) < EXACT[method]
    assert found.success
    assert found.overlap == 1


def test_the_result_is_a_rigid_transform(found: graphreg.Result) -> None:
    for transformation in (found.transformation, *(step.transformation for step in found.history)):
        rotation = transformation[:3, :3]
        assert abs(np.linalg.det(rotation) - 1) < 1e-12
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
        assert np.array_equal(transformation[3], [0, 0, 0, 1])


def test_the_history_has_every_iteration(found: graphreg.Result) -> None:
    assert [step.number for step in found.history] == list(range(1, len(found.history) + 1))
    assert np.array_equal(found.history[-1].transformation, found.transformation)
    assert all(np.isfinite(step.energy) for step in found.history)


@pytest.mark.slow
def test_the_same_bits_again_and_for_any_number_of_threads(
    body: np.ndarray, source: np.ndarray, method: str, found: graphreg.Result
) -> None:
    again = graphreg.register(source, body, method=method, voxel=0, threads=3)
    assert again.transformation.tobytes() == found.transformation.tobytes()
    assert [step.energy for step in again.history] == [step.energy for step in found.history]


@pytest.mark.slow
def test_results_are_equivariant_under_a_common_rigid_transform(
    body: np.ndarray, source: np.ndarray, method: str
) -> None:
    assert_equivariant(body, source, method, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["icp", "cpd", "teaser"])
def test_large_coordinates_do_not_matter(body: np.ndarray, source: np.ndarray, name: str) -> None:
    """The clouds are moved to a common origin before any method sees them."""
    assert_equivariant(body, source, name, 1e6)


def assert_equivariant(body: np.ndarray, source: np.ndarray, method: str, distance: float) -> None:
    along = pose(rotation_from_vector([0.3, -0.4, 0.9]), distance * np.array([0.6, -0.7, 0.4]))
    moved = graphreg.register(transform(along, source), transform(along, body), method=method, voxel=0)
    back = inverse(along) @ moved.transformation @ along
    rounding = 2.0**-50 * distance
    assert rmsd(back, TRUTH, source) < EXACT[method] + 10 * rounding


@pytest.mark.slow
def test_a_callback_can_stop_it(body: np.ndarray, source: np.ndarray, method: str) -> None:
    seen: list[Iteration] = []

    def watch(now: Iteration) -> bool:
        seen.append(now)
        return True

    result = graphreg.register(source, body, method=method, voxel=0, callback=watch)
    assert len(seen) == len(result.history) == 1
    assert np.array_equal(result.transformation, seen[0].transformation)


@pytest.mark.slow
def test_the_synthetic_dragon_from_its_scanned_pose(dragon: synthetic.Pair, method: str) -> None:
    """Two noisy scans, 24 degrees apart as the real ones of tests/real: within two degrees and two voxels."""
    result = graphreg.register(dragon.source, dragon.target, method=method)
    assert angular_error(result.transformation, dragon.T_target_source) < 2
    assert rmsd(result.transformation, dragon.T_target_source, dragon.source) < 2 * result.settings["voxel"]
    assert result.success


def test_input_that_is_refused(body: np.ndarray, method: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^speed: no setting of {method}"):
        graphreg.register(body, body, method=method, speed=1)
    with pytest.raises(graphreg.InputError, match="^source: has 5 finite points"):
        graphreg.register(body[:5], body, method=method)


@pytest.mark.slow
def test_degenerate_clouds_end_in_a_result(method: str) -> None:
    """Points on a line and on a plane: any finite transform is valid."""
    rng = np.random.default_rng(0)
    line = np.outer(rng.random(60), [1.0, 2.0, 3.0])
    plane = np.column_stack([rng.random((60, 2)), np.zeros(60)])
    for cloud in (line, plane):
        result = graphreg.register(cloud, cloud + np.array([0.0, 0.0, 0.1]), method=method, voxel=0)
        assert np.isfinite(result.transformation).all()


@pytest.mark.slow
def test_duplicate_points(body: np.ndarray, source: np.ndarray, method: str) -> None:
    result = graphreg.register(np.repeat(source, 2, axis=0), np.repeat(body, 2, axis=0), method=method, voxel=0)
    assert angular_error(result.transformation, TRUTH) < 0.5


def test_every_baseline_has_a_summary_of_one_line(method: str) -> None:
    summary = graphreg.methods()[method]
    assert 20 < len(summary) < 100
    assert "\n" not in summary


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rounding"), [("icp", 1e-12), ("icp-kp", 1e-12), ("cpd", 2.0**-20)])
def test_the_objective_never_rises(name: str, rounding: float) -> None:
    pair = synthetic.pair("hare", 20.0, points=2000)
    result = graphreg.register(pair.source, pair.target, method=name)
    energies = [step.energy for step in result.history]
    assert len(energies) > 10
    assert all(after <= before + rounding * abs(before) for before, after in pairwise(energies))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["icp", "cpd", "teaser"])
@pytest.mark.parametrize("scale", [True, (0.2, 0.5)])
def test_a_scaled_copy_is_registered_by_methods_with_a_scale(method: str, scale: bool | tuple[float, float]) -> None:
    cloud = synthetic.scan("hare", points=2_000).points
    moved = transform(pose(rotation_from_vector([0.05, -0.03, 0.04]), [0.01, 0.0, 0.02]), cloud)
    result = graphreg.register(
        moved * 3, cloud, method=method, scale=scale, **({"voxel": 0} if method != "teaser" else {})
    )
    assert result.scale == pytest.approx(1 / 3, rel=1e-3)
    assert np.linalg.norm(transform(result.transformation, moved * 3) - cloud, axis=1).max() < 0.02 * np.ptp(cloud)


@pytest.mark.parametrize("method", ["icp", "cpd", "teaser"])
def test_a_scale_is_within_its_limits(method: str) -> None:
    cloud = synthetic.scan("hare", points=500).points
    result = graphreg.register(cloud * 3, cloud, method=method, scale=(0.5, 2.0))
    assert 0.5 - 1e-9 <= result.scale <= 2.0 + 1e-9
