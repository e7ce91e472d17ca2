"""The experiment on the parts of the published method."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench import parts
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector


def test_without_real_scans_the_made_ones_are_measured() -> None:
    assert [job.pair for job in parts.jobs(None)] == list(parts.MADE)


def test_rows_and_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SEEDS", 2)
    rows = list(parts.measure(parts.Job("hare", None)))
    assert [row["variant"] for row in rows] == list(parts.VARIANTS)
    for row in rows:
        assert row["under 1 degree"] == sum(angle < 1 for angle in row["degrees"])
    assert len(parts.summary(rows)) == len(parts.VARIANTS)


def test_the_interval_holds_the_mean_and_shrinks_with_the_spread() -> None:
    wide, narrow = parts._interval(np.array([-1.0, 0.0, 1.0, 2.0])), parts._interval(np.array([0.4, 0.5, 0.5, 0.6]))
    for mean, low, high in (wide, narrow):
        assert low <= mean <= high
        assert mean == pytest.approx(0.5)
    assert narrow[2] - narrow[1] < wide[2] - wide[1]


def test_turns_about_the_axis_of_a_body_of_revolution_are_all_true() -> None:
    rng = np.random.default_rng(0)
    points, truth = rng.normal(size=(50, 3)), pose(rotation_from_vector([0.3, -0.2, 0.9]), [1.0, 2.0, 3.0])
    direction = np.array([2.0, -1.0, 2.0]) / 3
    point = np.array([0.5, 0.0, -1.0])
    scans = parts.Scans(points, points, truth, axis=parts.Axis(point, direction))
    across = np.cross(direction, [1.0, 0.0, 0.0])
    for angle in np.radians([0.0, 1.0, 90.0, -179.0]):
        turn = rotation_from_vector(angle * direction)
        found = pose(turn, point - turn @ point) @ truth
        assert rmsd(scans.truth_for(found), found, points) < 1e-12
        tilt = rotation_from_vector(np.radians(5) * across / np.linalg.norm(across))
        tilted = pose(tilt, np.zeros(3)) @ found
        assert angular_error(tilted, scans.truth_for(tilted)) == pytest.approx(5, abs=1e-9)
    assert parts.Scans(points, points, truth).truth_for(tilted) is truth
