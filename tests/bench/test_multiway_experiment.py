"""The experiment on multiway registration: scans in random order and pose, with their true poses."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import cKDTree

from graphreg.bench import multiway
from graphreg.bench.multiway import MAX_ROTATION, MEAN_ROTATION, ScanSet, shuffled
from graphreg.poses import inverse, transform

JOB = ScanSet("hare", 0, 9, 500)


@pytest.mark.slow
def test_true_poses_bring_neighbouring_scans_together() -> None:
    scans, truth, names = shuffled(JOB, None)
    order = np.argsort([int(name.removeprefix("scan ")) for name in names])
    assert sorted(names) == sorted(f"scan {number}" for number in range(9))
    world = [transform(truth[number], scans[number]) for number in order]
    size = np.ptp(np.vstack(world), axis=0).max()
    for one, other in pairwise([*world, world[0]]):
        assert np.median(cKDTree(one).query(other)[0]) < 0.05 * size


def test_the_true_poses_have_no_error_in_any_frame() -> None:
    scans, truth, _ = shuffled(ScanSet("hare", 0, 3, 100), None)
    moved = np.array([inverse(truth[0]) @ pose for pose in truth])
    degrees, percents = multiway._errors(moved, truth, scans, [(0, 1), (1, 2)])
    assert degrees.max() < 1e-6
    assert percents.max() < 1e-6


@pytest.mark.slow
def test_a_set_is_measured_and_summarised() -> None:
    (row,) = multiway.measure(ScanSet("casting", 0, 5, 1500), None)
    assert row["registered"] <= row["of"] == 5
    assert row[MEAN_ROTATION] <= 2 * row[MAX_ROTATION]
    assert f"all scans registered: {int(row['registered'] == 5)} of 1 runs" in multiway.summary([row])
