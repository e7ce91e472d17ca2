"""Scans of modelled parts, from any pose: registered right, or refused; deviations within the noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.support.meshes import parts

from graphreg import deviation, register
from graphreg.poses import inverse, pose, transform

NOISE = 0.03
PARTS = parts()


@pytest.mark.slow
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", PARTS)
def test_a_scan_is_registered_with_its_model_or_refused(name: str, partial: bool) -> None:
    part = PARTS[name]
    rng = np.random.default_rng(2)
    points, normals = part.sample(4_000, seed=5)
    if partial:  # what a direction sees of a convex body
        view = rng.normal(size=3)
        points = points[normals @ (view / np.linalg.norm(view)) > -0.3]
    points = points + rng.normal(0, NOISE, points.shape)
    T = pose(Rotation.random(random_state=int(partial)).as_matrix(), 50 * rng.normal(size=3))
    scan = transform(inverse(T), points)
    result = register(scan, part)
    if name == "cube":
        assert not result.success
    if name in ("prismatic", "fillet") or not partial:
        assert result.success == (name != "cube")
    if result.success:
        found = deviation(scan, part, transformation=result)
        assert found.rms < 1.1 * NOISE
        assert np.linalg.norm(transform(result.transformation, scan) - points, axis=1).max() < 4 * NOISE
