"""Point-to-point ICP, and what all variants of ICP have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import graphreg
from graphreg.baselines.icp import IcpSettings
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector, transform


def rotation_about_z(degrees: float) -> np.ndarray:
    return pose(rotation_from_vector([0, 0, np.radians(degrees)]), np.zeros(3))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["icp", "icp-kp", "icp-kn", "tricp", "fricp"])
def test_icp_fails_at_a_large_rotation_and_reports_it(body: np.ndarray, method: str) -> None:
    rotated = transform(rotation_about_z(150), body)
    settings = {"overlap": 0.9} if method == "tricp" else {}
    result = graphreg.register(rotated, body, method=method, voxel=0, **settings)
    assert angular_error(result.transformation, rotation_about_z(-150)) > 20
    assert not result.success
    started = graphreg.register(rotated, body, method=method, voxel=0, init=rotation_about_z(-145), **settings)
    assert angular_error(started.transformation, rotation_about_z(-150)) < 1e-6
    assert started.success


@pytest.mark.slow
def test_correspondences_beyond_max_distance_are_rejected(body: np.ndarray) -> None:
    source = np.vstack([body, body.mean(axis=0) + np.array([10.0, 0, 0])])
    start = pose(rotation_from_vector([0, 0, 0.02]), np.zeros(3))
    result = graphreg.register(source, body, method="icp", voxel=0, init=start, max_distance=1.0)
    assert rmsd(result.transformation, np.eye(4), body) < 1e-9
    away = graphreg.register(body, body, method="icp", init=pose(np.eye(3), [100.0, 0, 0]), max_distance=0.1)
    assert away.history == ()
    assert not away.success


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_iterations": 0}, "max_iterations: expected a whole number from 1 on"),
        ({"max_iterations": 2.5}, "max_iterations: expected a whole number"),
        ({"max_distance": -1.0}, "max_distance: expected a positive"),
        ({"tolerance": 1.0}, "tolerance: expected a number from 0"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(IcpSettings(), **settings)
