"""register(): laws of the transform, the result, and what is refused."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

import graphreg
from graphreg.datasets import synthetic
from graphreg.method_interface import Iteration
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.registration import METHODS, run_method
from tests.support.strategies import random_transform, small_pair, small_scan

TURNED = pose(rotation_from_vector(np.radians([8.0, -12.0, 10.0])), [0.03, -0.02, 0.01])
ROUND_ABOUT = np.linspace(0, 2 * np.pi, 300, endpoint=False)
CIRCLE = np.column_stack([np.cos(ROUND_ABOUT), np.sin(ROUND_ABOUT), np.zeros(300)])
LINE = np.outer(np.arange(50.0), [1, 0, 0])


@pytest.fixture(scope="module")
def body() -> np.ndarray:
    return synthetic.scan("hare", points=3000).points


@pytest.fixture(scope="module", params=["graphreg", "graphreg-paper"])
def found(body: np.ndarray, request: pytest.FixtureRequest) -> graphreg.Result:
    return graphreg.register(transform(inverse(TURNED), body), body, method=request.param)


def test_the_default_method_is_our_own(body: np.ndarray) -> None:
    assert graphreg.register(body, body).method == "graphreg"
    assert list(graphreg.methods())[:3] == ["graphreg", "graphreg-paper", "pipl"]


def test_a_moved_copy_is_registered(body: np.ndarray, found: graphreg.Result) -> None:
    size = np.ptp(body, axis=0).max()
    assert found.success
    assert found.reason.startswith("registered: ")
    assert angular_error(found.transformation, TURNED) < 1
    assert rmsd(found.transformation, TURNED, transform(inverse(TURNED), body)) < 0.01 * size
    assert found.overlap > 0.9
    assert found.inlier_rmse < found.settings["voxel"]


def test_the_transformation_is_rigid(found: graphreg.Result) -> None:
    for motion in (found.transformation, *(step.transformation for step in found.history)):
        rotation = motion[:3, :3]
        assert abs(np.linalg.det(rotation) - 1) < 1e-12
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
        assert np.array_equal(motion[3], [0, 0, 0, 1])


@pytest.mark.slow
def test_the_same_bits_again_and_for_any_number_of_threads(body: np.ndarray, found: graphreg.Result) -> None:
    for threads in (1, 5):
        again = graphreg.register(transform(inverse(TURNED), body), body, method=found.method, threads=threads)
        assert again.transformation.tobytes() == found.transformation.tobytes()
        assert [step.energy for step in again.history] == [step.energy for step in found.history]
        assert (again.confidence, again.overlap) == (found.confidence, found.overlap)


@pytest.mark.slow
def test_another_seed_takes_another_sample(body: np.ndarray) -> None:
    source = transform(inverse(TURNED), body)
    for settings in ({"method": "graphreg-paper"}, {"points": 1500}):
        motions = [graphreg.register(source, body, seed=seed, **settings).transformation for seed in (0, 1)]
        assert motions[0].tobytes() != motions[1].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hare", "casting"])
def test_moving_both_clouds_moves_the_published_pose_with_them(name: str) -> None:
    scans = synthetic.pair(name, 20.0, points=3000)
    along = random_transform(5, 1.0)
    moved = transform(along, scans.source), transform(along, scans.target)
    here = graphreg.register(scans.source, scans.target, method="graphreg-paper").transformation
    there = graphreg.register(*moved, method="graphreg-paper").transformation
    # each of 100 iterations rounds to single precision: 100 u = 3e-4 degrees
    assert angular_error(inverse(along) @ there @ along, here) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("method", ["graphreg", "graphreg-paper"])
def test_registration_works_far_from_the_origin(body: np.ndarray, method: str) -> None:
    """There coordinates are rounded more, so that points change voxels: poses differ as for another sample."""
    along = random_transform(5, 1e6)
    source = transform(inverse(TURNED), body)
    moved = graphreg.register(transform(along, source), transform(along, body), method=method)
    back = inverse(along) @ moved.transformation @ along
    assert angular_error(back, TURNED) < 1
    assert rmsd(back, TURNED, source) < 0.01 * np.ptp(body, axis=0).max()


def test_the_history_has_every_iteration(found: graphreg.Result) -> None:
    assert [step.number for step in found.history] == list(range(1, len(found.history) + 1))
    assert np.array_equal(found.history[-1].transformation, found.transformation)


@pytest.mark.slow
def test_the_history_of_the_published_method_has_its_temperature(body: np.ndarray) -> None:
    history = graphreg.register(transform(inverse(TURNED), body), body, method="graphreg-paper").history
    assert len(history) == 100
    ratios = [b.temperature / a.temperature for a, b in pairwise(history)]
    assert all(min(abs(ratio - 0.9), abs(ratio - 1 / 0.9)) < 1e-12 for ratio in ratios)


@pytest.mark.parametrize(("method", "last"), [("graphreg", 1), ("graphreg-paper", 7)])
def test_a_callback_can_stop_the_registration(body: np.ndarray, method: str, last: int) -> None:
    seen: list[Iteration] = []

    def watch(now: Iteration) -> bool:
        seen.append(now)
        return now.number == last

    result = graphreg.register(body, body, method=method, callback=watch)
    assert len(seen) == len(result.history) == last
    assert np.array_equal(result.transformation, seen[-1].transformation)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["graphreg", "graphreg-paper", "pipl"])
@pytest.mark.parametrize("turn", [0.0, 0.3])
def test_a_grid_without_features_gives_a_result(method: str, turn: float) -> None:
    plane = np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0), [0.0]), axis=-1).reshape(-1, 3)
    turned = transform(pose(rotation_from_vector([turn, 0.1, turn]), np.zeros(3)), plane)
    result = graphreg.register(plane, turned, method=method)
    assert np.isfinite(result.transformation).all()
    assert not result.success


@pytest.mark.parametrize("method", ["graphreg", "graphreg-paper"])
def test_exceptions_of_a_callback_propagate(body: np.ndarray, method: str) -> None:
    def stop(_: Iteration) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graphreg.register(body, body, method=method, callback=stop)


@pytest.mark.slow
def test_the_published_method_starts_at_the_initial_pose(body: np.ndarray) -> None:
    far = pose(rotation_from_vector([0, 0, np.radians(150)]), [0.5, 0.1, 0.0])
    source = transform(inverse(far), body)
    begun = graphreg.register(source, body, method="graphreg-paper", init=far)
    assert angular_error(begun.transformation, far) < 1
    assert not graphreg.register(source, body, method="graphreg-paper").success


@pytest.mark.slow
def test_pipl_cools_until_epsilon(body: np.ndarray) -> None:
    result = graphreg.register(transform(inverse(TURNED), body), body, method="pipl")
    assert len(result.history) == int(np.ceil(np.log(1e-5) / np.log(0.9)))
    assert result.history[-1].temperature < 1e-5
    assert result.success


def test_results_survive_json_and_pickle(found: graphreg.Result) -> None:
    for again in (pickle.loads(pickle.dumps(found)), graphreg.Result.from_json(found.to_json())):
        assert again.to_json() == found.to_json()
        assert np.array_equal(again.transformation, found.transformation)
        assert np.array_equal(again.history[1].transformation, found.history[1].transformation)


def test_rows_that_are_not_finite_are_counted(body: np.ndarray) -> None:
    dirty = body.copy()
    dirty[:5] = np.nan
    result = graphreg.register(dirty, body)
    assert result.dropped == (5, 0)
    assert result.success


@pytest.mark.slow
def test_different_objects_are_not_registered(body: np.ndarray) -> None:
    other = synthetic.scan("casting", points=500).points
    result = graphreg.register(other, body)
    assert not result.success
    assert result.confidence < 0.5
    assert result.reason.startswith("not registered")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"method": "magic"}, "method: expected one of graphreg, graphreg-paper, pipl, .*, got 'magic'"),
        ({"init": np.eye(3)}, "init: expected a 4x4"),
        ({"speed": 11}, "speed: no setting of graphreg, which has alpha, dof,"),
        ({"speed": 11, "method": "graphreg-paper"}, "speed: no setting of graphreg-paper"),
        ({"metod": "cpd"}, "metod: no setting of graphreg, .*did you mean 'method'"),
        ({"max_iterations": 50}, "max_iterations: no setting of graphreg,"),
        ({"beta": 1.5, "method": "graphreg-paper"}, "beta: expected"),
        ({"max_iterations": 0, "method": "graphreg-paper"}, "max_iterations: expected"),
        ({"annealing": "quick", "method": "graphreg-paper"}, "annealing: expected"),
        ({"threads": 0}, "threads: expected"),
        ({"voxel": -1.0}, "voxel: expected a positive number"),
        ({"voxel": np.nan}, "voxel: expected a positive number"),
        ({"voxel": -1.0, "method": "graphreg-paper"}, "voxel: expected"),
        ({"k": 0}, "k: expected a whole number from 2 on"),
        ({"alpha": -1.0}, "alpha: expected a positive number"),
        ({"points": 0}, "points: expected a whole number from 1 on"),
        ({"dof": "rx,up"}, "dof: expected some of rx, ry, rz, x, y, z, got 'rx,up'"),
        ({"dof": ()}, "dof: expected some of"),
        ({"dof": ("rx", "ry", "x")}, "dof: expected rotations about three axes, one or none"),
        ({"weights": np.ones(7)}, "weights: expected [0-9]+ for the source"),
        ({"weights": "heavy"}, "weights: expected"),
        ({"weights": np.ones(3), "method": "pipl"}, "weights: no setting of pipl"),
    ],
)
def test_unusable_arguments_are_refused(body: np.ndarray, settings: dict[str, object], told: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{told}"):
        graphreg.register(body, body, **settings)


@pytest.mark.slow
def test_a_circle_is_no_surface(body: np.ndarray) -> None:
    for pair in ((body, CIRCLE), (CIRCLE, body), (CIRCLE, CIRCLE)):
        found = graphreg.register(*pair)
        assert np.isfinite(found.transformation).all()
        assert not found.success


def test_unusable_clouds_are_refused(body: np.ndarray) -> None:
    with pytest.raises(graphreg.InputError, match="^source: has 5 finite points"):
        graphreg.register(body[:5], body)
    with pytest.raises(graphreg.InputError, match="^target: expected shape"):
        graphreg.register(body, body[:, :2])
    with pytest.raises(graphreg.InputError, match="^target: the X84 rule leaves"):
        graphreg.register(body, CIRCLE, method="graphreg-paper")
    for method in graphreg.methods():
        with pytest.raises(graphreg.InputError, match="all points coincide|has 1 distinct point"):
            graphreg.register(np.zeros((50, 3)), np.zeros((50, 3)), method=method)
    with pytest.raises(graphreg.InputError, match="needs at least 11"):
        graphreg.register(LINE, np.zeros((50, 3)), method="graphreg-paper")


@pytest.mark.slow
def test_a_preprocessed_cloud_stands_for_the_cloud() -> None:
    pair = small_pair("hare")
    plain = graphreg.register(pair.source, pair.target)
    source = graphreg.prepare(np.vstack([pair.source, [[np.nan] * 3]]))
    target = graphreg.prepare(pair.target)
    one = graphreg.register(source, pair.target)
    # With a raw target, voxel sizes are those of the raw pair.
    assert one.transformation.tobytes() == plain.transformation.tobytes()
    assert one.dropped == (1, 0)
    both = graphreg.register(source, target)
    assert both.success
    assert rmsd(both.transformation, pair.T_target_source, pair.source) < 0.005 * np.ptp(pair.source)
    again = graphreg.register(pickle.loads(pickle.dumps(source)), target, threads=1)
    assert again.transformation.tobytes() == both.transformation.tobytes()
    level = graphreg.register(source, target, init=both.transformation, dof=("rz", "x", "y", "z"))
    assert rmsd(level.transformation, both.transformation, pair.source) < 0.005 * np.ptp(pair.source)


def test_to_other_methods_a_preprocessed_cloud_is_its_points(body: np.ndarray) -> None:
    moved = transform(inverse(TURNED), body)
    found = graphreg.register(graphreg.prepare(moved), graphreg.prepare(body), method="icp-kn")
    assert angular_error(found.transformation, TURNED) < 0.1


def test_fewer_points_are_sampled_and_weights_belong_to_prepare(body: np.ndarray) -> None:
    assert len(graphreg.prepare(body, points=1000)) == 1000
    weighted = graphreg.prepare(body, weights=np.arange(1.0, len(body) + 1))
    assert weighted.weights is not None
    assert weighted.weights.max() == 1
    with pytest.raises(graphreg.InputError, match="^weights: the source was preprocessed without them"):
        graphreg.register(graphreg.prepare(body), body, weights=np.ones(len(body)))
    for wrong in ({"points": 0}, {"seed": -1}, {"weights": [1.0]}):
        with pytest.raises(graphreg.InputError, match=f"^{next(iter(wrong))}: "):
            graphreg.prepare(body, **wrong)
    with pytest.raises(graphreg.InputError, match="^points: "):
        graphreg.prepare(b"scan.ply")
    with pytest.raises(graphreg.InputError, match="^source: has 1 distinct"):
        graphreg.register(graphreg.prepare(np.zeros((20, 3))), body)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_stages_sum_to_at_most_the_total(method: str) -> None:
    pair = synthetic.pair("hand", 20.0, points=600)
    timings = dict(run_method(pair.source, pair.target, method, {}).timings)
    total = timings.pop("total")
    assert all(seconds >= 0 for seconds in timings.values())
    # Sums of differences of one clock: rounding only.
    assert sum(timings.values()) <= total * (1 + 1e-9)


@pytest.mark.slow
def test_the_stages_of_a_retry_are_booked_once() -> None:
    result = graphreg.register(small_scan("hare")[::6], small_scan("casting")[::6])
    assert not result.success  # so it was retried
    timings = dict(result.timings)
    total = timings.pop("total")
    assert sum(timings.values()) <= total * (1 + 1e-9)
