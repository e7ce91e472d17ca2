"""register(): the laws of the answer, the result object, and what is refused."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

import graphreg
from drawn import make_motion
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error, rmsd
from graphreg.outcomes import Iteration
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.verdict import judge

TURNED = pose(rotation_from_vector(np.radians([8.0, -12.0, 10.0])), [0.03, -0.02, 0.01])


@pytest.fixture(scope="module")
def body() -> np.ndarray:
    return synthetic.scan("hare", points=6000).points


@pytest.fixture(scope="module")
def found(body: np.ndarray) -> graphreg.Result:
    return graphreg.register(transform(inverse(TURNED), body), body)


def test_a_turned_copy_is_laid_back(body: np.ndarray, found: graphreg.Result) -> None:
    size = np.ptp(body, axis=0).max()
    assert found.success
    assert angular_error(found.transformation, TURNED) < 1
    assert rmsd(found.transformation, TURNED, transform(inverse(TURNED), body)) < 0.01 * size
    assert found.overlap > 0.9
    assert found.inlier_rmse < found.settings["voxel"]


def test_the_answer_is_a_rigid_motion(found: graphreg.Result) -> None:
    for motion in (found.transformation, *(step.transformation for step in found.history)):
        rotation = motion[:3, :3]
        assert abs(np.linalg.det(rotation) - 1) < 1e-12
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
        assert np.array_equal(motion[3], [0, 0, 0, 1])


def test_the_same_bits_again_and_for_any_number_of_threads(body: np.ndarray, found: graphreg.Result) -> None:
    for threads in (1, 2, 5):
        again = graphreg.register(transform(inverse(TURNED), body), body, threads=threads)
        assert again.transformation.tobytes() == found.transformation.tobytes()
        assert [step.energy for step in again.history] == [step.energy for step in found.history]
    other = graphreg.register(transform(inverse(TURNED), body), body, seed=1)
    assert other.transformation.tobytes() != found.transformation.tobytes()


@pytest.mark.parametrize("distance", [1.0, 1e6])
def test_moving_both_moves_the_answer_with_them(body: np.ndarray, found: graphreg.Result, distance: float) -> None:
    """Up to the cells of the grid, which do not turn with the clouds: as far as another draw of particles is apart."""
    along = make_motion(5, distance)
    source = transform(inverse(TURNED), body)
    moved = graphreg.register(transform(along, source), transform(along, body))
    back = inverse(along) @ moved.transformation @ along
    assert angular_error(back, TURNED) < 1
    assert rmsd(back, TURNED, source) < 0.01 * np.ptp(body, axis=0).max()


def test_the_history_tells_every_iteration(found: graphreg.Result) -> None:
    assert [step.number for step in found.history] == list(range(1, 101))
    assert np.array_equal(found.history[-1].transformation, found.transformation)
    ratios = [b.temperature / a.temperature for a, b in pairwise(found.history)]
    assert all(min(abs(ratio - 0.9), abs(ratio - 1 / 0.9)) < 1e-12 for ratio in ratios)


def test_a_callback_can_stop_it(body: np.ndarray) -> None:
    seen: list[Iteration] = []

    def watch(now: Iteration) -> bool:
        seen.append(now)
        return now.number == 7

    result = graphreg.register(body, body, callback=watch)
    assert len(seen) == len(result.history) == 7
    assert np.array_equal(result.transformation, seen[-1].transformation)


def test_what_a_callback_raises_goes_through(body: np.ndarray) -> None:
    def stop(_: Iteration) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graphreg.register(body, body, callback=stop)


def test_init_is_where_it_starts(body: np.ndarray) -> None:
    far = pose(rotation_from_vector([0, 0, np.radians(150)]), [0.5, 0.1, 0.0])
    source = transform(inverse(far), body)
    assert angular_error(graphreg.register(source, body, init=far).transformation, far) < 1
    assert not graphreg.register(source, body).success


def test_pipl_cools_until_epsilon(body: np.ndarray) -> None:
    result = graphreg.register(transform(inverse(TURNED), body), body, method="pipl")
    assert len(result.history) == int(np.ceil(np.log(1e-5) / np.log(0.9)))
    assert result.history[-1].temperature < 1e-5
    assert result.success


def test_results_travel(found: graphreg.Result) -> None:
    for again in (pickle.loads(pickle.dumps(found)), graphreg.Result.from_json(found.to_json())):
        assert again.to_json() == found.to_json()
        assert np.array_equal(again.transformation, found.transformation)
        assert np.array_equal(again.history[3].transformation, found.history[3].transformation)


def test_rows_that_are_not_finite_are_counted(body: np.ndarray) -> None:
    dirty = body.copy()
    dirty[:5] = np.nan
    result = graphreg.register(dirty, body)
    assert result.dropped == (5, 0)
    assert result.success


def test_different_bodies_are_not_registered(body: np.ndarray) -> None:
    other = synthetic.scan("casting", points=6000).points
    result = graphreg.register(other, body)
    assert not result.success
    assert result.confidence < 0.5
    assert result.reason.startswith("not registered")


def test_the_verdict_of_clouds_apart(body: np.ndarray) -> None:
    away = pose(np.eye(3), [10.0, 0, 0])
    verdict = judge(body, body, away, 0.001)
    assert (verdict.overlap, verdict.confidence, verdict.success) == (0, 0, False)
    assert np.isnan(verdict.inlier_rmse)
    same = judge(body, body, np.eye(4), 0.001)
    assert (same.overlap, same.inlier_rmse, same.agreement, same.success) == (1, 0, 1, True)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"method": "magic"}, "method: expected one of graphreg-paper, pipl, .*, got 'magic'"),
        ({"init": np.eye(3)}, "init: expected a 4x4"),
        ({"speed": 11}, "speed: no setting of graphreg-paper"),
        ({"beta": 1.5}, "beta: expected"),
        ({"max_iterations": 0}, "max_iterations: expected"),
        ({"annealing": "quick"}, "annealing: expected"),
        ({"threads": 0}, "threads: expected"),
        ({"voxel": -1.0}, "size: expected"),
    ],
)
def test_what_cannot_be_used(body: np.ndarray, settings: dict[str, object], told: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{told}"):
        graphreg.register(body, body, **settings)


def test_clouds_that_cannot_be_used(body: np.ndarray) -> None:
    with pytest.raises(graphreg.InputError, match="^source: holds 5 finite points"):
        graphreg.register(body[:5], body)
    with pytest.raises(graphreg.InputError, match="^target: expected shape"):
        graphreg.register(body, body[:, :2])
    with pytest.raises(graphreg.InputError, match="all points lie in one place"):
        graphreg.register(np.zeros((50, 3)), np.zeros((50, 3)))
    with pytest.raises(graphreg.InputError, match="needs at least 11"):
        graphreg.register(np.outer(np.arange(50.0), [1, 0, 0]), np.zeros((50, 3)))
