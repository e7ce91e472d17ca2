"""Drives: every way gets the same frames, and what is asked for is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg.bench import sequences
from graphreg.bench.sequences import MADE, OURS, SCANNED, SPARSE, Drive
from graphreg.clouds import Floats
from graphreg.poses import pose

STRAIGHT = [pose(np.eye(3), [1.0 * k, 0, 0]) for k in range(9)]


def followed(scale: float, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Rows of a drive along x of which every way finds the first pose, but the scale is off."""
    monkeypatch.setattr(sequences, "_frames", lambda drive, data: ((np.zeros((1, 3)), at) for at in STRAIGHT))

    def follow(mode: str) -> sequences.Follow:
        coming = iter(STRAIGHT)

        def next_pose(points: Floats) -> tuple[Floats, bool]:
            at = next(coming).copy()
            at[:3, 3] *= scale
            return at, at[0, 3] < 7

        return next_pose

    monkeypatch.setattr(sequences, "OURS", {name: lambda: follow("map") for name in OURS})
    return list(sequences.measure(Drive(MADE, tuple(OURS)), None))


def test_errors_drift_and_lost_frames_of_a_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in followed(1.01, monkeypatch):
        assert (row["frames"], row["way m"]) == (9, pytest.approx(8))
        assert row["lost"] == 2
        assert row["rel. m"] == pytest.approx(0.01)
        assert row["last m"] == pytest.approx(0.08)
        assert [row["drift %"], row["segments %"]] == pytest.approx([1, 1])


def test_it_is_said_whether_what_is_asked_for_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    told = sequences.summary(followed(1.01, monkeypatch))[-2:]
    assert all("within errors of the paper; NOT within drift 0.5 %; within 10 frames a second" in line for line in told)
    rows = followed(1.001, monkeypatch)
    assert all("; within drift 0.5 %" in line for line in sequences.summary(rows)[-2:])
    better = {**rows[0], "method": "kiss-icp", "rel. degrees": -1.0, "rel. m": 0.0, "version": "kiss-icp 1"}
    assert sequences.summary([*rows, better])[-1].endswith("both in degrees and in metres: kiss-icp")


def test_recorded_drives_need_the_recording() -> None:
    made = [MADE, SPARSE]
    assert [drive.name for drive in sequences.jobs(None, peers=False)] == made
    assert [drive.name for drive in sequences.jobs(Path("somewhere"), peers=False)] == [*SCANNED, *made]


def test_one_ring_in_four_is_kept() -> None:
    ring = np.radians(np.linspace(*sequences.SPREAD, sequences.RINGS))
    points = np.column_stack([np.cos(ring), np.zeros(len(ring)), np.sin(ring)]) * np.linspace(5, 50, len(ring))[:, None]
    assert np.array_equal(sequences._every_fourth_ring(points), points[::4])


def test_a_quick_drive_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "QUICK_FRAMES", 3)
    monkeypatch.setattr(sequences, "QUICK_POINTS", 8_000)
    (drive,) = sequences.jobs(None, quick=True, peers=False)
    rows = list(sequences.measure(drive, None))
    assert [row["method"] for row in rows] == list(OURS)
    # The sensor's noise is 2 cm, over thousands of points.
    assert all(row["lost"] == 0 and row["rel. m"] < 0.02 for row in rows)
    assert set(sequences.figures(rows)) == {"sequences_way"}


def test_a_peer_that_ends_in_no_pose_still_gets_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    followed(1.0, monkeypatch)
    coming = iter([np.eye(4), *[np.full((4, 4), np.nan)] * 8])
    lost = ("json", "numpy", lambda: lambda points: (next(coming), True), "")
    monkeypatch.setattr(sequences, "PEERS", {"lost": lost})
    (row,) = sequences.measure(Drive(MADE, ("lost",)), None)
    assert row["last m"] == pytest.approx(8)
    json.dumps(row, allow_nan=False)
