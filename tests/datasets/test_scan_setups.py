"""The setups of synthetic scans: usual values, and sensors that face what they scan."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.datasets.scan_setups import SETUPS
from graphreg.datasets.scanner import ReturnLoss, cast_rays


@pytest.mark.parametrize("name", SETUPS)
def test_noise_is_small_against_the_range(name: str) -> None:
    setup = SETUPS[name]
    assert setup.points > 0
    assert setup.step > 0
    assert 0 < setup.noise < 1e-3 * setup.max_range


@pytest.mark.slow
@pytest.mark.parametrize("name", SETUPS)
def test_the_sensor_faces_what_it_scans_from_every_viewpoint(name: str) -> None:
    setup = SETUPS[name]
    rays, loss = setup.sensor.rays(1000), ReturnLoss(0.0, 0.0, setup.max_range)
    for k in range(3):
        viewpoint, rng = k * setup.step, np.random.default_rng(k)
        surface, pose = setup.surface(0, viewpoint), setup.sensor_pose(viewpoint, rng)
        ranges = cast_rays(surface, setup.sensor, rays, pose, loss, rng)
        assert np.isfinite(ranges).mean() > 0.02  # a body is small within the field of view of its camera


@pytest.mark.parametrize("name", SETUPS)
def test_another_viewpoint_is_another_position(name: str) -> None:
    setup = SETUPS[name]
    positions = [setup.sensor_pose(k * setup.step, np.random.default_rng(0))[:3, 3] for k in range(3)]
    assert min(np.linalg.norm(positions[a] - positions[b]) for a, b in ((0, 1), (0, 2), (1, 2))) > 0.1
