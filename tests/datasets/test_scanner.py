"""Simulated scanners: lost returns and the maximal angle of incidence."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.datasets.scanner import ReturnLoss, Sensor, cast_rays

# Sensor and maximal range.
SENSORS = {
    "casting": (Sensor("pinhole", (-0.2, 0.2), (-0.2, 0.2), max_incidence=80), 2.0),
    "facade": (Sensor("spherical", (-1.0, 1.0), (-0.3, 0.8), max_incidence=86), 60.0),
}


def pose_of(name: str) -> Floats:
    return synthetic.scan(name, points=3000, noise=0.0).pose


@pytest.mark.parametrize("name", SENSORS)
def test_rays_are_unit_vectors_within_the_field_of_view(name: str) -> None:
    sensor, _ = SENSORS[name]
    rays = sensor.rays(6000)
    assert len(rays) == pytest.approx(6000, rel=0.05)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 1)
    # Rounding may put the outermost rays just outside.
    assert sensor.covers(rays).mean() > 0.95
    assert not sensor.covers(-rays[:, [1, 2, 0]]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", SENSORS)
def test_losses_are_the_requested_share_of_the_returns(name: str) -> None:
    pose, surface = pose_of(name), synthetic.surface(name)
    sensor, max_range = SENSORS[name]
    rays = sensor.rays(6000)

    def ranges(dropout: float, range_dropout: float) -> Floats:
        loss = ReturnLoss(dropout, range_dropout, max_range)
        return cast_rays(surface, sensor, rays, pose, loss, np.random.default_rng(1))

    without_loss = ranges(0.0, 0.0)
    hit = np.isfinite(without_loss)
    assert np.isfinite(ranges(0.4, 0.0))[hit].mean() == pytest.approx(0.6, abs=4 * 0.5 / np.sqrt(hit.sum()))
    expected = 1 - 0.9 * (without_loss[hit] / max_range) ** 2
    kept = np.isfinite(ranges(0.0, 0.9))
    assert not kept[~hit].any()
    assert kept[hit].mean() == pytest.approx(expected.mean(), abs=4 * 0.5 / np.sqrt(hit.sum()))


@pytest.mark.slow
def test_there_is_no_return_beyond_the_maximal_incidence() -> None:
    pose, surface = pose_of("casting"), synthetic.surface("casting")
    sensor, max_range = SENSORS["casting"]
    rays = sensor.rays(6000)
    ranges = cast_rays(surface, sensor, rays, pose, ReturnLoss(0.0, 0.0, max_range), np.random.default_rng(0))
    directions = rays @ pose[:3, :3].T
    exact, normals = surface.cast(pose[:3, 3], directions, max_range)
    angle = np.degrees(np.arccos(np.clip(-(directions * normals).sum(axis=1), -1, 1)))
    hit = np.isfinite(exact)
    assert np.array_equal(np.isfinite(ranges)[hit], angle[hit] <= sensor.max_incidence)
