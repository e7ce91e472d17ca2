"""Odometry on a real drive: ten frames of KITTI's sequence 03."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg.datasets import kitti
from graphreg.metrics import sequence_errors
from graphreg.multiscan.odometry import relative_transforms, sequence

# The paper's, of each step: degrees and metres.
PAPER = 0.1017, 0.0422


@pytest.mark.parametrize("mode", ["map", "pairs"])
def test_every_other_frame_is_found_better_than_in_the_paper(scans: Path, mode: str) -> None:
    frames = kitti.scans(scans / "kitti_03")[::2]
    found = sequence(scans / "kitti_03", every=2, mode=mode)
    assert found.success
    assert [step.name for step in found.steps] == [frame.path.name for frame in frames]
    errors = sequence_errors(relative_transforms(found.poses), [frame.pose for frame in frames])
    assert errors.rpe_rotation < PAPER[0]
    assert errors.rpe_translation < PAPER[1]
