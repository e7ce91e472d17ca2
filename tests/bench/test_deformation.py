"""The experiment on deformation."""

from __future__ import annotations

import pytest

from graphreg.bench import deformation


def row(group: str, method: str, error: float | None, right: bool, called: bool) -> dict[str, object]:
    return {
        "group": group,
        "name": "hand closing",
        "seed": 0,
        "method": method,
        "RMS error": error,
        "right": right,
        "reported as deformed": called,
        "features": {"explained": float(right), "overlap": 0.5} if method == "elastic" else {},
        "iterations": 60 if method == "pycpd" else None,
        "seconds": 1.0 if method == "elastic" else 50.0,
    }


def test_the_summary_compares_with_rigid_registration_and_pycpd() -> None:
    rows = [
        row(deformation.WHOLE, "rigid", 0.1, False, False),
        row(deformation.WHOLE, "elastic", 0.02, True, True),
        row(deformation.WHOLE, "pycpd", 0.05, False, False),
        row(deformation.LARGE, "elastic", 0.02, True, True),
        row(deformation.LARGE, "pycpd", 0.05, False, False),
        row("different bodies", "elastic", None, False, True),
    ]
    said = " ".join(deformation.summary(rows))
    assert "0.20 of rigid" in said
    assert "about 600 times as long" in said
    lines = deformation.tables(rows)[""]
    assert [line["wrongly"] for line in lines] == [0, 0, 0, 0, 0, 1]


def test_quick_jobs_are_few_and_whole_ones_have_all_groups() -> None:
    assert len(deformation.jobs(None, quick=True)) < 10
    groups = {job.group for job in deformation.jobs(None)}
    assert {deformation.WHOLE, deformation.PARTIAL, deformation.LARGE, deformation.LARGER, "different bodies"} == groups


@pytest.mark.slow
def test_a_run_of_each_method_of_ours() -> None:
    job = next(job for job in deformation.jobs(None, quick=True, peers=False) if job.method == "elastic")
    (measured,) = deformation.measure(job, None)
    assert measured["RMS error"] < 0.2
    assert measured["features"]
