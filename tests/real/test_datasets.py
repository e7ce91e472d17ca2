"""The loaders on real scans: the poses that they give must lay the scans on each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from graphreg import voxel_downsample
from graphreg.datasets import kitti
from graphreg.poses import inverse, transform


@pytest.fixture(scope="module")
def truths(scans: Path) -> dict[str, np.ndarray]:
    entries = json.loads((scans / "pairs.json").read_text(encoding="utf-8"))
    return {entry["name"]: np.array(entry["T_target_source"]) for entry in entries}


def distance(motion: np.ndarray, source: np.ndarray, target: np.ndarray) -> float:
    """Median distance of the moved source from the target."""
    return float(np.median(cKDTree(target).query(transform(motion, source))[0]))


@pytest.mark.parametrize("number", [1, 5, 9])
def test_kitti_frames_lie_on_the_first(scans: Path, truths: dict[str, np.ndarray], number: int) -> None:
    frames = kitti.scans(scans / "kitti_03")
    assert len(frames) == 10
    motion = inverse(frames[0].pose) @ frames[number].pose
    np.testing.assert_allclose(motion, truths[f"kitti03_{number}_to_0"], atol=1e-8)
    source, target = (voxel_downsample(frames[k].read(), 0.5) for k in (number, 0))
    for wrong in (np.eye(4), inverse(motion)):
        assert distance(motion, source, target) < 0.5 * distance(wrong, source, target)
