"""LiDAR odometry on real frames: ten of KITTI's sequence 03."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg.datasets import kitti
from graphreg.metrics import sequence_errors
from graphreg.multiscan.odometry import sequence
from graphreg.multiscan.trajectory import relative_transforms

# RPE of the paper: degrees and metres.
PAPER = 0.1017, 0.0422


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["map", "pairs"])
def test_the_rpe_on_every_other_frame_is_below_that_of_the_paper(scans: Path, mode: str) -> None:
    frames = kitti.scans(scans / "kitti_03")[::2]
    trajectory = sequence(scans / "kitti_03", every=2, mode=mode)
    assert trajectory.success
    assert [step.name for step in trajectory.steps] == [frame.path.name for frame in frames]
    errors = sequence_errors(relative_transforms(trajectory.poses), [frame.pose for frame in frames])
    assert errors.rpe_rotation < PAPER[0]
    assert errors.rpe_translation < PAPER[1]
