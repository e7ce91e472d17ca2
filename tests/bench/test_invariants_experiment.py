"""The experiment on invariants in other methods: pairs of runs, and what its summary concludes from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphreg.bench import invariants


def rows_of(method: str, without: list[bool], with_them: list[bool], ratio: float) -> list[dict[str, Any]]:
    """Runs of a method without and with features, whose times have a ratio."""
    return [
        {
            "pair": f"pair {number}",
            "condition": "clean",
            "initial rotation (deg)": 20.0,
            "method": method,
            "features": features,
            "correct": correct,
            "rotation error (deg)": 0.5,
            "rmsd / tolerance": 0.5,
            "cpu (s)": 0.1 * (1 + 0.01 * number) * (ratio if features else 1.0),
        }
        for features, outcomes in ((False, without), (True, with_them))
        for number, correct in enumerate(outcomes)
    ]


def test_jobs_are_of_every_condition_and_rotation() -> None:
    jobs = invariants.jobs(None)
    assert {job.condition for job in jobs} == set(invariants.CONDITIONS)
    assert {job.degrees for job in jobs} == set(invariants.ANGLES)
    assert len(jobs) == len(set(jobs))


def test_conclusions_need_an_interval_without_zero() -> None:
    half = [number % 2 == 0 for number in range(20)]
    rows = [
        *rows_of("icp", [False] * 20, [True] * 20, 0.5),
        *rows_of("cpd", half, half[::-1], 1.0),
        *rows_of("gmm", [True] * 20, [False] * 20, 2.0),
    ]
    *_, confidence, cost = invariants.summary(rows)
    assert "holds for icp: more starts" in confidence
    assert "fewer do for gmm;" in confidence
    assert "cpd" not in confidence
    assert "holds for icp; gmm take longer" in cost
    first = invariants.tables(rows)[""][0]
    assert first["correct with"] == "20 of 20"
    assert first["gain (points of %)"] == "+100 (+100 to +100)"
    assert first["time ratio"] == "0.50 (0.50 to 0.50)"


def test_few_starts_allow_no_conclusion() -> None:
    assert len(invariants.summary(rows_of("icp", [False], [True], 0.5))) == 2


@pytest.mark.slow
def test_a_job_measures_every_method_twice() -> None:
    job = invariants.InvariantsJob("synthetic_hare_30", "clean", invariants.ANGLES[0], 200)
    *rows, matching = invariants.measure(job, None)
    assert [row["features"] for row in rows] == [False, True] * (len(invariants.LOCAL) + len(invariants.GLOBAL))
    assert all(np.isfinite(row["rotation error (deg)"]) and row["cpu (s)"] > 0 for row in rows)
    assert all(0 <= matching[name] <= 1 for name in invariants.NAMES)
