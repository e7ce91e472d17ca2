"""Point-to-plane ICP with rejection of the worst correspondences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import graphreg
from graphreg.baselines.icp_kn import IcpKnSettings
from graphreg.metrics import rmsd
from graphreg.poses import pose, rotation_from_vector


@pytest.mark.slow
def test_the_worst_correspondences_can_be_rejected(body: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    outliers = body.mean(axis=0) + 3 * np.ptp(body, axis=0) * (1 + rng.random((len(body) // 10, 3)))
    source = np.vstack([body, outliers])
    start = pose(rotation_from_vector([0, 0, 0.05]), np.zeros(3))
    robust = graphreg.register(source, body, method="icp-kn", voxel=0, init=start, worst_rejection=0.15)
    assert rmsd(robust.transformation, np.eye(4), body) < 1e-9
    plain = graphreg.register(source, body, method="icp-kn", voxel=0, init=start)
    assert rmsd(plain.transformation, np.eye(4), body) > 1e-2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"worst_rejection": 1.0}, "worst_rejection: expected a number from 0"),
        ({"max_iterations": 0}, "max_iterations: expected a whole number"),
        ({"normal_neighbours": 1}, "normal_neighbours: expected a whole number from 2 on"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(IcpKnSettings(), **settings)
