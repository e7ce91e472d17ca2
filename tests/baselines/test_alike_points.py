"""Laws of `features=True`: invariance, reproducibility, bad input, and that it finds more right correspondences."""

from __future__ import annotations

import numpy as np
import pytest

import graphreg
from graphreg.baselines import BASELINES
from graphreg.baselines.alike_points import (
    ATTRACTION,
    JointClosestPoints,
    attract_alike_points,
    invariants_at,
    sample_with_invariants,
)
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.baselines.closest_points import ClosestPoints, within_distance
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.registration import run_method

SIZE = 0.17
MOVED = pose(rotation_from_vector([0.3, -0.4, 0.9]), [0.6, -0.7, 0.4])
ALL = within_distance(None)


@pytest.fixture(scope="module")
def pair() -> synthetic.Pair:
    return synthetic.pair("hare", 20.0, points=1500)


@pytest.fixture(scope="module")
def far(pair: synthetic.Pair) -> np.ndarray:
    """The true transform, after a rotation by 70 degrees about the centroid."""
    centre = transform(pair.T_target_source, pair.source).mean(axis=0)
    rotation = rotation_from_vector(np.radians(70) * np.array([0.6, 0.0, 0.8]))
    return np.asarray(pose(rotation, centre - rotation @ centre) @ pair.T_target_source)


@pytest.fixture(scope="module", params=[name for name in BASELINES if name != "icp-kp"])  # icp in all but its end
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def found(pair: synthetic.Pair, method: str) -> graphreg.Result:
    return registered(pair.source, pair.target, method, pair.T_target_source)


def registered(
    source: np.ndarray, target: np.ndarray, method: str, init: np.ndarray, threads: int = 1
) -> graphreg.Result:
    return run_method(source, target, method, {"features": True, "voxel": 0.006}, init=init, threads=threads)


def test_the_joint_metric_is_that_of_all_pairs(pair: synthetic.Pair, far: np.ndarray) -> None:
    run = BaselineRun(pair.source, pair.target, 0.008, far, 1, None)
    invariants = sample_with_invariants(run, 0)
    found = JointClosestPoints(run, invariants, 0.1).pairs(np.eye(4), ALL)
    apart = ((run.source[:, None] - run.target[None]) ** 2).sum(axis=2)
    apart += 0.1**2 * ((invariants.source[:, None] - invariants.target[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.squared, apart.min(axis=1), rtol=1e-9)
    np.testing.assert_array_equal(found.nearest, apart.argmin(axis=1))


def test_without_weight_it_is_the_nearest_neighbour(pair: synthetic.Pair, far: np.ndarray) -> None:
    run = BaselineRun(pair.source, pair.target, 0.005, far, 1, None)
    invariants = sample_with_invariants(run, 0)
    joint, plain = JointClosestPoints(run, invariants, 0.0), ClosestPoints(run)
    np.testing.assert_allclose(joint.pairs(np.eye(4), ALL).squared, plain.pairs(np.eye(4), ALL).squared, rtol=1e-9)


def test_more_correspondences_are_right_from_a_far_pose(pair: synthetic.Pair, far: np.ndarray) -> None:
    """The paper's "point matching confidence": of the nearest points hardly any is right, 70 degrees from the truth."""
    run = BaselineRun(pair.source, pair.target, None, far, 1, None)
    invariants = sample_with_invariants(run, 0)
    spread = float(np.sqrt(run.target.var(axis=0).sum()))
    back = pair.T_target_source @ inverse(far)
    origin = run.outcome().target.mean(axis=0)
    right = transform(back, run.source + origin) - origin
    shares = []
    for search in (ClosestPoints(run), JointClosestPoints(run, invariants, spread)):
        partner = run.target[search.pairs(np.eye(4), ALL).nearest]
        shares.append(float((np.linalg.norm(partner - right, axis=1) < 0.05 * SIZE).mean()))
    assert shares[1] > 1.5 * shares[0]


@pytest.mark.slow
def test_attraction_registers_from_where_icp_does_not() -> None:
    pair = synthetic.pair("dragon", 30.0, points=2500)
    rotation = rotation_from_vector(np.radians(60) * np.array([0.6, 0.0, 0.8]))
    centre = pair.target.mean(axis=0)
    far = pose(rotation, centre - rotation @ centre) @ pair.T_target_source
    plain = graphreg.register(pair.source, pair.target, method="icp", init=far)
    alike = graphreg.register(pair.source, pair.target, method="icp", init=far, features=True)
    assert angular_error(plain.transformation, pair.T_target_source) > 20
    assert angular_error(alike.transformation, pair.T_target_source) < 2


def test_the_sample_is_part_of_the_source(pair: synthetic.Pair) -> None:
    run = BaselineRun(pair.source, pair.target, 0, None, 1, None)
    before = run.source
    assert not attract_alike_points(run, 0)
    assert len(run.source) == max(ATTRACTION.least, round(ATTRACTION.share * len(before)))
    assert {row.tobytes() for row in run.source} <= {row.tobytes() for row in before}


def test_invariants_at_the_points_themselves_are_theirs(pair: synthetic.Pair) -> None:
    run = BaselineRun(pair.source, pair.target, 0.006, None, 1, None)
    at = invariants_at(run, run.source, run.target)
    assert at.source.shape == (len(run.source), 3)
    assert at.target.shape == (len(run.target), 3)


@pytest.mark.slow
def test_it_registers(pair: synthetic.Pair, method: str, found: graphreg.Result) -> None:
    assert found.settings["features"] is True
    assert rmsd(found.transformation, pair.T_target_source, pair.source) < 0.03 * SIZE


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads(pair: synthetic.Pair, method: str, found: graphreg.Result) -> None:
    again = registered(pair.source, pair.target, method, pair.T_target_source, threads=3)
    assert again.transformation.tobytes() == found.transformation.tobytes()


@pytest.mark.slow
def test_the_pose_of_neither_cloud_matters(method: str) -> None:
    """Equivariance: an exact copy, so that the result does not depend on how a cloud is downsampled."""
    body = graphreg.voxel_downsample(synthetic.scan("hare", points=1500).points, 0.008)
    start = pose(rotation_from_vector([0.1, -0.1, 0.15]), [0.002, 0.0, -0.003])
    moved, options = transform(MOVED, body), {"features": True, "voxel": 0}
    one = run_method(body, body, method, options, init=start, threads=1).transformation
    of_source = run_method(moved, body, method, options, init=start @ inverse(MOVED), threads=1).transformation
    of_target = run_method(body, moved, method, options, init=MOVED @ start, threads=1).transformation
    # Single precision of the mixtures and bins of descriptors: a ten-thousandth of the body; the others only round.
    assert rmsd(of_source @ MOVED, one, body) < 1e-4 * SIZE
    assert rmsd(inverse(MOVED) @ of_target, one, body) < 1e-4 * SIZE


@pytest.mark.parametrize("method", ["icp", "cpd", "super4pcs"])
def test_too_few_points_for_a_graph_are_refused(method: str) -> None:
    points = np.random.default_rng(0).uniform(size=(40, 3))
    with pytest.raises(graphreg.InputError, match=r"source: has \d+ points in voxels of 0\.6, but features need 11"):
        run_method(points, points, method, {"features": True, "voxel": 0.6})


@pytest.mark.parametrize("method", ["graphreg", "graphreg-paper", "pipl"])
def test_methods_without_it_say_so(method: str) -> None:
    points = np.random.default_rng(0).uniform(size=(40, 3))
    with pytest.raises(graphreg.InputError, match=f"features: no setting of {method}"):
        run_method(points, points, method, {"features": True})


def test_it_is_true_or_false() -> None:
    points = np.random.default_rng(0).uniform(size=(40, 3))
    with pytest.raises(graphreg.InputError, match="features: expected True or False, got 'yes'"):
        run_method(points, points, "icp", {"features": "yes"})


@pytest.mark.parametrize("shape", ["plane", "line", "coincident but for a few"])
def test_degenerate_clouds_give_a_result_or_an_input_error(shape: str) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(60, 3)) * {"plane": [1, 1, 0], "line": [1, 0, 0]}.get(shape, [1e-9, 1e-9, 1e-9])
    points[:3] += shape.startswith("coincident") * rng.uniform(size=(3, 3))
    for method in ("icp", "cpd", "fgr"):
        try:
            result = run_method(points, points + 0.01, method, {"features": True, "voxel": 0})
        except graphreg.InputError:
            continue
        assert np.isfinite(result.transformation).all()
