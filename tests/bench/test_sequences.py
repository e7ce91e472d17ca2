"""Odometry on whole sequences: all methods get the same frames, and targets are checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg.bench import sequences
from graphreg.bench.odometry_peers import Follow, OdometryPeer
from graphreg.bench.sequences import DISTORTED, OURS, REAL, SPARSE, SYNTHETIC, UNDISTORTED, SequenceRun
from graphreg.clouds import Floats
from graphreg.poses import pose

STRAIGHT = [pose(np.eye(3), [1.0 * k, 0, 0]) for k in range(9)]


def followed(scale: float, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Rows of a sequence along x, of which every method finds the poses up to a scale."""
    monkeypatch.setattr(sequences, "_frames", lambda run, data: ((np.zeros((1, 3)), None, pose) for pose in STRAIGHT))

    def follow(mode: str) -> Follow:
        poses = iter(STRAIGHT)

        def next_pose(points: Floats, times: Floats | None) -> tuple[Floats, bool]:
            T_first_frame = next(poses).copy()
            T_first_frame[:3, 3] *= scale
            return T_first_frame, T_first_frame[0, 3] < 7

        return next_pose

    monkeypatch.setattr(sequences, "OURS", {name: lambda: follow("map") for name in OURS})
    return list(sequences.measure(SequenceRun(SYNTHETIC, tuple(OURS)), None))


def test_rpe_drift_and_frames_that_are_not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in followed(1.01, monkeypatch):
        assert (row["frames"], row["length (m)"]) == (9, pytest.approx(8))
        assert row["not registered"] == 2
        assert row["RPE (m)"] == pytest.approx(0.01)
        assert row["last frame (m)"] == pytest.approx(0.08)
        assert [row["drift (%)"], row["KITTI translation (%)"]] == pytest.approx([1, 1])


def test_the_summary_says_which_targets_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = sequences.summary(followed(1.01, monkeypatch))[-2:]
    expected = "; RPE below the paper's; NOT drift below 0.5 %; more than 10 frames/s"
    assert all(expected in line for line in lines)
    rows = followed(1.001, monkeypatch)
    assert all("; drift below 0.5 %" in line for line in sequences.summary(rows)[-2:])
    better = {**rows[0], "method": "kiss-icp", "RPE (deg)": -1.0, "RPE (m)": 0.0}
    assert sequences.summary([*rows, better])[-1].endswith("smaller RPE in both rotation and translation: kiss-icp")
    for milliseconds, target in ((1e9, "; at most the"), (-1.0, "; NOT at most the")):
        lines = sequences.summary([*rows, {**better, sequences.CPU: milliseconds}])[-2:]
        assert [target in line for line in lines] == [name == sequences.TRACKED for name in OURS]


def test_distorted_frames_are_compared_with_the_same_frames_without(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [{**row, "sequence": UNDISTORTED} for row in followed(1.001, monkeypatch)]
    for scale, target in ((1.001, "; RPE at most 1.5 times"), (1.01, "; NOT RPE at most 1.5 times")):
        distorted = [{**row, "sequence": DISTORTED} for row in followed(scale, monkeypatch)]
        lines = [line for line in sequences.summary([*distorted, *plain]) if line.startswith(DISTORTED)]
        assert len(lines) == len(OURS)
        assert all(target in line for line in lines)


def test_real_sequences_need_data() -> None:
    synthetic = [SYNTHETIC, SPARSE, DISTORTED, UNDISTORTED]
    assert [run.sequence for run in sequences.jobs(None, peers=False)] == synthetic
    assert [run.sequence for run in sequences.jobs(Path("somewhere"), peers=False)] == [*REAL, *synthetic]


def test_one_ring_in_four_is_kept() -> None:
    ring = np.radians(np.linspace(*sequences.ELEVATIONS, sequences.RINGS))
    points = np.column_stack([np.cos(ring), np.zeros(len(ring)), np.sin(ring)]) * np.linspace(5, 50, len(ring))[:, None]
    assert np.array_equal(sequences.every_fourth_ring(points), points[::4])


@pytest.mark.slow
def test_a_quick_sequence_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "QUICK_FRAMES", 3)
    monkeypatch.setattr(sequences, "QUICK_POINTS", 8_000)
    (run,) = sequences.jobs(None, quick=True, peers=False)
    rows = list(sequences.measure(run, None))
    assert [row["method"] for row in rows] == list(OURS)
    # The sensor's noise is 2 cm, over thousands of points.
    assert all(row["not registered"] == 0 and row["RPE (m)"] < 0.02 for row in rows)
    assert set(sequences.figures(rows)) == {"sequences_trajectory"}


def test_a_peer_without_a_finite_pose_still_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    followed(1.0, monkeypatch)
    poses = iter([np.eye(4), *[np.full((4, 4), np.nan)] * 8])
    diverging = OdometryPeer("numpy", lambda: lambda points, times: (next(poses), True), "")
    monkeypatch.setattr(sequences, "ODOMETRY_PEERS", {"diverging": diverging})
    (row,) = sequences.measure(SequenceRun(SYNTHETIC, ("diverging",)), None)
    assert row["last frame (m)"] == pytest.approx(8)
    json.dumps(row, allow_nan=False)
