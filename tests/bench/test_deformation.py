"""The experiment on deformation."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg.bench import deformation


def row(
    group: str, method: str, error: float | None, right: bool, called: bool, name: str = "hand closing"
) -> dict[str, object]:
    return {
        "group": group,
        "name": name,
        "bodies": [name],
        "seed": 0,
        "method": method,
        "RMS error": error,
        "right": right,
        "reported as deformed": called,
        "confidence": float(called),
        "features": dict.fromkeys(sorted(deformation.FEATURES), float(right)) if method == "elastic" else {},
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
    compared = {deformation.WHOLE, deformation.PARTIAL, deformation.LARGE, deformation.LARGER}
    assert {*compared, *deformation.FOR_VERDICT} == groups
    assert {job.group for job in deformation.jobs(Path("scans"))} == {*groups, *deformation.REAL}


def test_nothing_is_fitted_to_real_scans() -> None:
    rows = [
        row(deformation.WARPED, method, error, error < 0.05, error < 0.05, "bunny_045_to_000, bend")
        for method, error in (("rigid", 0.1), ("elastic", 0.01))
        for _ in range(2 * deformation.LEAST_RUNS)
    ]
    rows.append(row(deformation.WARPED_FOREIGN, "elastic", None, False, True, "bunny_045_to_000, bend"))
    said = " ".join(deformation.summary(rows))
    assert "rigid 10 %, elastic 1 %" in said
    assert "10 of 10 right, 11 reported as deformed, 1 of them wrong" in said
    assert [*deformation.tables(rows)] == [""]


def test_confidence_is_tried_on_bodies_that_it_was_not_fitted_to() -> None:
    names = ("hand closing", "dragon bending")
    rows = [
        row(deformation.ANY_WHOLE, "elastic", 0.02, right, right, name)
        for name in names
        for right in (True, False) * deformation.LEAST_RUNS
    ]
    assert any(line.startswith("cross-validated") for line in deformation.summary(rows))
    constants = deformation.tables(rows)["Constants of the confidence"]
    assert [line["term"] for line in constants[1:]] == [*deformation.FEATURES]
    # Evidence that says the opposite on another body is not known to the constants that it is tried with.
    for each in rows:
        if each["name"] == names[1]:
            each["right"] = not each["right"]
    tried = deformation.confidence_on_other_bodies(rows)
    right = [each["right"] for each in rows]
    assert tried[right].mean() < 0.5 < tried[[not each for each in right]].mean()


@pytest.mark.slow
def test_a_run_of_each_method_of_ours() -> None:
    job = next(job for job in deformation.jobs(None, quick=True, peers=False) if job.method == "elastic")
    (measured,) = deformation.measure(job, None)
    assert measured["RMS error"] < 0.2
    assert measured["features"]
