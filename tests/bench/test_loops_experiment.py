"""The experiment on loops: what is a wrong loop, known places, and its words about them."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench import loops
from graphreg.bench.loops import AFTER, BEFORE, LongSequence, Trip
from graphreg.multiscan.trajectory import Loop
from graphreg.poses import pose

TRIP = Trip("round", 0, (40.0, 40.0), 6.0, 2.0, 300, True)


@pytest.mark.slow
def test_a_trip_is_measured_and_summarised() -> None:
    (row,) = loops.measure(TRIP, None)
    assert row["frames"] == 4
    assert 5.0 < row["length (m)"] < 7.0
    assert row["loops"] == row["wrong loops"] == row["keyframes at known places"] == 0
    # Without a loop nothing changes.
    assert row[f"ATE {BEFORE} (m)"] == pytest.approx(row[f"ATE {AFTER} (m)"], abs=1e-9)
    assert any(
        "1 trips in cities whose blocks are all alike: 0 loops, 0 of them wrong" in line
        for line in loops.summary([row])
    )
    assert set(loops.figures([row])) == {"loops"}
    assert "positions" not in loops.tables([row])["Trips"][0]


@pytest.mark.slow
def test_memory_is_measured_and_summarised() -> None:
    (row,) = loops.measure(LongSequence(4, 300), None)
    assert row["frames"] == 4
    assert np.isfinite(row["growth (MB)"])
    assert any("memory over 4 frames" in line for line in loops.summary([row]))


def test_errors_of_a_loop_are_those_of_its_transform() -> None:
    truth = [np.eye(4), pose(np.eye(3), [3.0, 0, 0])]
    for off in (0.0, 2.5):
        metres, degrees = loops._loop_errors(Loop(1, 0, pose(np.eye(3), [3.0, off, 0]), 0.9, 0.5), truth)
        assert metres == pytest.approx(off)
        assert degrees == pytest.approx(0.0, abs=1e-6)


def test_known_places_were_passed_a_while_ago() -> None:
    there = np.column_stack([np.arange(0.0, 80.0, 2.0), np.zeros(40), np.zeros(40)])
    positions = np.concatenate([there, there[::-1]])
    keyframe = [number % 5 == 0 for number in range(80)]
    back = positions[40:, 0][keyframe[40:]]
    # 100 m or more since the first pass are 50 m from where the sensor turned; places may be 5 m apart.
    assert (back <= 28.0).sum() <= loops._known_places(positions, keyframe) <= (back <= 33.0).sum()
    assert loops._known_places(there, keyframe[:40]) == 0
