"""Deviations: distances and figures of them, from meshes and from clouds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.support.meshes import box

import graphreg
from graphreg import InputError, Mesh, Result, deviation, register
from graphreg.clouds import Floats, as_cloud
from graphreg.poses import pose, rotation_from_vector, transform

T = pose(rotation_from_vector([0.3, -1.1, 2]), [5, -2, 9])
SQUARE = Mesh([[0, 0, 0], [9, 0, 0], [9, 9, 0], [0, 9, 0]], [[0, 1, 2], [0, 2, 3]])


def sheet(seed: int, height: float = 0.0, count: int = 4000, noise: float = 0.01) -> Floats:
    rng = np.random.default_rng(seed)
    return np.c_[rng.uniform(0, 10, (count, 2)), height + rng.normal(0, noise, count)]


def test_figures_follow_from_the_distances() -> None:
    heights = np.linspace(-1, 3, 401)
    found = deviation(np.c_[np.full((401, 2), 4.0), heights], SQUARE, tolerance=1.0)
    np.testing.assert_allclose(found.distances, heights, atol=1e-12)
    assert np.array_equal(np.asarray(found), found.distances)
    assert len(found) == 401
    assert np.isclose(found.rms, np.sqrt((heights**2).mean()))
    assert np.isclose(found.percentiles[50], 1)
    assert np.isclose(found.within(1.0), 201 / 401, atol=1e-9)
    figures = json.loads(found.to_json())
    assert figures["within_tolerance"] == found.within(1.0)
    assert figures["largest"] == pytest.approx(3)
    assert found.significant is None


def test_rows_that_are_not_finite_have_no_distance() -> None:
    found = deviation([[1, 1, 1], [np.nan, 0, 0], [1, 1, 2]], SQUARE)
    np.testing.assert_allclose(found.distances, [1, np.nan, 2])
    assert found.summary()["not_finite"] == 1
    assert found.rms == pytest.approx(np.sqrt(2.5))


def test_the_transform_is_applied_to_the_cloud() -> None:
    points = box().sample(300)[0] + [0, 0, 0.2]
    plain = deviation(points, box())
    moved = deviation(transform(np.linalg.inv(T), points), box(), transformation=T)
    np.testing.assert_allclose(moved.distances, plain.distances, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cloud": []}, "cloud: "),
        ({"cloud": np.zeros((0, 3))}, "cloud: has 0 points"),
        ({"reference": np.zeros((0, 3))}, "reference: has 0 points"),
        ({"reference": np.eye(3)}, "reference: has 3 points, but at least 4"),
        ({"cloud": np.eye(3), "reference": np.eye(3).repeat(3, axis=0)}, "cloud: has 3 points, but at least 4"),
        ({"tolerance": 0}, "tolerance: expected a positive number"),
        ({"transformation": np.eye(3)}, "transformation: expected a 4x4 matrix"),
        ({"threads": 0}, "threads"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        deviation(**{"cloud": np.ones((9, 3)), "reference": SQUARE, **arguments})


def test_without_a_change_one_point_in_twenty_is_significant() -> None:
    """The level of detection has 95 % confidence; with so few points its estimate is a little optimistic."""
    found = deviation(sheet(0), sheet(1))
    assert found.significant is not None
    assert 0.02 < found.significant.mean() < 0.1
    assert not found.signed


def test_a_change_above_the_level_of_detection_is_found() -> None:
    reference = sheet(1)
    up = np.tile([0.0, 0, 1], (len(reference), 1))
    normals = {axis: up[:, i].copy() for i, axis in enumerate(("nx", "ny", "nz"))}
    found = deviation(sheet(0, height=-0.05), as_cloud(reference, attributes=normals))
    assert found.signed
    assert found.significant is not None
    assert found.significant.mean() > 0.99
    # The mean of 20 of each: sigma sqrt(2 / 20).
    assert abs(found.percentiles[50] + 0.05) < 0.01 * np.sqrt(2 / 20)
    assert np.isclose(found.distances.std(), 0.01 * np.sqrt(2 / 20), rtol=0.2)


@pytest.mark.slow
def test_the_uncertainty_of_the_registration_raises_the_level() -> None:
    source, target = sheet(0), sheet(1)
    result = register(source, target, method="icp")
    fields = {name: getattr(result, name) for name in Result.__dataclass_fields__}
    sigma = 0.3
    covariance = np.diag([0, 0, 0, 0, 0, sigma**2]).astype(float)
    certain = Result(**{**fields, "transformation": np.eye(4), "covariance": None})
    uncertain = Result(**{**fields, "transformation": np.eye(4), "covariance": covariance, "centre": np.zeros(3)})
    low = deviation(source, target, transformation=certain).level_of_detection
    high = deviation(source, target, transformation=uncertain).level_of_detection
    assert low is not None
    assert high is not None
    np.testing.assert_allclose(high - low, 1.96 * sigma, rtol=0.01)


def test_rigid_motion_of_both_clouds_changes_nothing() -> None:
    plain = deviation(sheet(0), sheet(1))
    moved = deviation(transform(T, sheet(0)), transform(T, sheet(1)))
    np.testing.assert_allclose(moved.distances, plain.distances, atol=1e-9)
    assert moved.level_of_detection is not None
    np.testing.assert_allclose(moved.level_of_detection, plain.level_of_detection, atol=1e-9)


def test_threads_do_not_change_a_bit() -> None:
    one, three = (deviation(sheet(0), sheet(1), threads=threads) for threads in (1, 3))
    assert np.array_equal(one.distances, three.distances)


@pytest.mark.slow
def test_open3d_finds_the_same_distances() -> None:
    open3d = pytest.importorskip("open3d", exc_type=ImportError)
    mesh = open3d.geometry.TriangleMesh.create_torus(1.0, 0.4, 60, 40)
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (2000, 3))
    scene = open3d.t.geometry.RaycastingScene()
    scene.add_triangles(open3d.t.geometry.TriangleMesh.from_legacy(mesh))
    theirs = scene.compute_signed_distance(open3d.core.Tensor(points.astype(np.float32))).numpy()
    np.testing.assert_allclose(graphreg.deviation(points, mesh).distances, theirs, rtol=0, atol=1e-6)
