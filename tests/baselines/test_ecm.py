"""ECM: rotations in a metric, and the whole method against its numpy twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from tests.support import twins
from tests.support.strategies import clouds, seeds

import graphreg
from graphreg.baselines.ecm import CONSTANTS, EcmSettings, fit_in_metric, register_ecm
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector, transform


@pytest.mark.slow
@given(clouds, seeds)
def test_the_fit_in_a_metric_is_a_minimum(points: np.ndarray, seed: int) -> None:
    """An exact copy is found in any metric; for a noisy one, no transform nearby has a lower cost."""
    rng = np.random.default_rng(seed)
    x = points / np.abs(points).max()
    truth = pose(rotation_from_vector(0.5 * rng.normal(size=3)), rng.normal(size=3))
    weights = rng.random(len(x)) + 0.01
    root = np.eye(3) + 0.5 * rng.normal(size=(3, 3))
    metric = root @ root.T + 0.01 * np.eye(3)
    exact = fit_in_metric(x, transform(truth, x), weights, metric, np.eye(3))
    assert rmsd(exact, truth, x) < 1e-5
    y = transform(truth, x) + 0.1 * rng.normal(size=x.shape)

    def cost(candidate: np.ndarray) -> float:
        residual = transform(candidate, x) - y
        return float(weights @ np.einsum("ia,ab,ib->i", residual, metric, residual))

    found = fit_in_metric(x, y, weights, metric, truth[:3, :3])
    for _ in range(5):
        near = pose(rotation_from_vector(0.01 * rng.normal(size=3)), 0.01 * rng.normal(size=3))
        assert cost(found) <= cost(near @ found)


@pytest.mark.slow
def test_ecm_agrees_with_its_twin() -> None:
    """The same start and number of iterations: pose within 0.05 degrees and a tenth of the spacing."""
    pair = synthetic.pair("hare", 20.0, points=2000)
    voxel = float(np.ptp(pair.target, axis=0).max()) / 12
    settings = EcmSettings(voxel=voxel, max_iterations=15, tolerance=0.0)
    found = register_ecm(pair.source, pair.target, settings)
    there = twins.ecm(found.source, found.target, settings.radius * voxel, CONSTANTS.regularisation, 15)
    assert angular_error(found.transformation, there) < 0.05
    assert rmsd(found.transformation, there, found.source) < 0.1 * voxel


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0.0}, "radius: expected a positive"),
        ({"tolerance": 1}, "tolerance: expected a number from 0"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(EcmSettings(), **settings)
