"""Theorems 1 and 2 for every point of real scans: the bunny's are on a raster, the dragon's and the lidar's are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.strategies import random_transform

import graphreg


@pytest.mark.slow
@pytest.mark.parametrize(
    "scan", ["stanford_bunny/bun000.ply", "stanford_dragon/dragonStandRight_0.ply", "kitti_03/000000.bin"]
)
def test_rigid_transforms_change_no_point(scans: Path, scan: str) -> None:
    points = graphreg.read(scans / scan)
    T = random_transform(5, float(np.ptp(points)))
    moved = points @ T[:3, :3].T + T[:3, 3]
    response, features = graphreg.intensity(points), graphreg.invariants(points)
    np.testing.assert_allclose(graphreg.intensity(moved), response, rtol=0, atol=1e-6 * np.median(response))
    np.testing.assert_allclose(graphreg.invariants(moved), features, rtol=0, atol=1e-6)
    assert np.array_equal(graphreg.inliers(moved), graphreg.inliers(points))
    assert np.array_equal(graphreg.resample(moved, 0.2), graphreg.resample(points, 0.2))
