"""deform(): rigid motions are found as such, bodies bend from any pose, and nonsense is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.deforming_bodies import bent, bumpy_body
from tests.support.strategies import random_transform

import graphreg
from graphreg.poses import transform


def rms(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(((a - b) ** 2).sum(axis=1).mean()))


@pytest.mark.slow
def test_an_exactly_rigid_motion_is_found() -> None:
    """Far from the origin, at any pose: a law."""
    source, T = bumpy_body(500), random_transform(7, 1e4)
    calls: list[tuple[int, int]] = []
    found = graphreg.deform(source, transform(T, source), threads=1, progress=lambda *call: calls.append(call))
    assert calls == [(done, 5) for done in range(1, 6)]
    assert found.success, found.reason
    assert rms(found.points, transform(T, source)) < 1e-4 * 2
    assert found.strain.max() < 1e-3


@pytest.mark.slow
def test_a_bent_body_from_any_pose_with_outliers_and_bad_rows() -> None:
    source, other = bumpy_body(600), bumpy_body(600, 1)
    T = random_transform(3, 10.0)
    outliers = np.random.default_rng(0).uniform(-1, 1, (120, 3))
    target = transform(T, np.vstack([bent(other, 0.8), outliers]))
    rows = np.vstack([source[:5], [[np.nan] * 3], source[5:]])
    found = graphreg.deform(rows, target, threads=1)
    assert found.confidence > 0.5
    assert found.dropped == (1, 0)
    truth = transform(T, bent(source, 0.8))
    rigid = graphreg.register(source, target, threads=1)
    moved = np.delete(found.points, 5, axis=0)
    assert np.isnan(found.points[5]).all()
    assert np.isnan(found.strain[5])
    assert rms(moved, truth) < rms(transform(rigid.transformation, source), truth) / 3
    for stage in found.history:
        assert all(after <= before for before, after in zip(stage.energies, stage.energies[1:], strict=False))
    stages = [seconds for name, seconds in found.timings.items() if name != "total"]
    assert sum(stages) <= found.timings["total"]
    assert graphreg.Deformation.from_json(found.to_json()).to_json() == found.to_json()


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads() -> None:
    source, target = bumpy_body(120), bent(bumpy_body(120, 1), 0.5)
    for method in ("elastic", "cpd"):
        first, second = (graphreg.deform(source, target, method=method, threads=count) for count in (1, 3))  # type: ignore[call-overload,arg-type]
        assert first.points.tobytes() == second.points.tobytes()
        assert first.confidence == second.confidence


@pytest.mark.slow
def test_another_body_is_no_success() -> None:
    rng = np.random.default_rng(0)
    other = rng.normal(size=(400, 3))
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    other *= (1 + 0.3 * np.sin(6 * other[:, :1])) * [1, 0.5, 0.9]
    assert not graphreg.deform(bumpy_body(400), other, threads=1).success


@pytest.mark.slow
def test_a_sequence_follows() -> None:
    frames = [bent(bumpy_body(500, seed), angle) for seed, angle in enumerate((1e-6, 0.2, 0.4))]
    calls: list[tuple[int, int]] = []
    found = list(graphreg.deform_sequence(frames, threads=1, progress=lambda *call: calls.append(call)))
    assert calls == [(1, 2), (2, 2)]
    assert [each.success for each in found] == [True, True]
    assert rms(found[1].points, bent(bumpy_body(500), 0.4)) < 0.05


SCAN = bumpy_body(60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], SCAN), "source"),
        ((SCAN, SCAN[:3]), "target: has 3 points"),
        ((SCAN, np.zeros((50, 3))), "target"),
        ((np.zeros((50, 3)), np.zeros((50, 3))), "coincide"),
        ((SCAN, SCAN[:, :2]), "target: expected shape"),
        ((SCAN, np.full((50, 3), np.nan)), "target: has 0 points"),
        ((SCAN, np.arange(60)[:, None] * [1.0, 2, 3]), "target: all points are on a line"),
    ],
)
def test_clouds_that_cannot_be_used(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=message):
        graphreg.deform(*arguments, threads=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("method", "magic"),
        ("stiffness", 0),
        ("stiffness", "hard"),
        ("seed", -1),
        ("threads", 0),
        ("init", [1, 2]),
        ("progress", 3),
    ],
)
def test_arguments_that_cannot_be_used(name: str, value: Any) -> None:
    with pytest.raises(graphreg.InputError, match=name):
        graphreg.deform(SCAN, SCAN, **{name: value})


def test_sequences_of_fewer_than_two_frames() -> None:
    with pytest.raises(graphreg.InputError, match="frames"):
        graphreg.deform_sequence([])
    with pytest.raises(graphreg.InputError, match="frames"):
        list(graphreg.deform_sequence([SCAN]))
