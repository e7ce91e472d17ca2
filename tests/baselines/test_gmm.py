"""GMM: the gradient of its objective, and its descent."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.support import twins
from tests.support.strategies import random_cloud

import graphreg
from graphreg.baselines.gmm import GmmSettings, L2Distance, transform_from_parameters
from graphreg.poses import pose, rotation_from_vector, transform


def test_the_gradient_of_the_objective() -> None:
    """Against finite differences of the sum, in double precision."""
    x, y = (random_cloud("blob", 200, seed) / 2 for seed in (1, 2))
    at = np.array([1.1, 0.2, -0.3, 0.1, 0.2, -0.1, 0.3])
    value, gradient = L2Distance(x, y, 0.4, 1)(at)

    def expected(at: np.ndarray) -> float:
        squared = twins.squared_distances(transform(transform_from_parameters(at), x), y)
        return -float(np.exp(-squared / (4 * 0.4**2)).mean())

    assert value == pytest.approx(expected(at), rel=1e-5)
    step = 1e-5
    differences = [(expected(at + step * e) - expected(at - step * e)) / (2 * step) for e in np.eye(7)]
    np.testing.assert_allclose(gradient, differences, atol=1e-5 * np.abs(differences).max())


def test_the_objective_falls_for_each_width(coarse_body: np.ndarray) -> None:
    start = pose(rotation_from_vector([0.1, 0.2, 0]), np.zeros(3))
    result = graphreg.register(transform(start, coarse_body), coarse_body, method="gmm", scales=(0.1,), voxel=0)
    energies = [step.energy for step in result.history]
    assert len(energies) > 3
    assert all(after <= before + 2.0**-20 * abs(before) for before, after in pairwise(energies))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scales": 0.1}, "scales: expected one or more positive"),
        ({"scales": ()}, "scales: expected one or more positive"),
        ({"scales": (0.1, -1.0)}, "scales: expected one or more positive"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(GmmSettings(), **settings)
