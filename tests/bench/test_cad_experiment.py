"""The experiment on scans of modelled parts: its jobs, its rows and what it says about them."""

from __future__ import annotations

import pytest

from graphreg.bench import cad


def test_every_part_is_scanned_whole_and_from_one_side() -> None:
    jobs = cad.jobs(None)
    assert {(job.part, job.partial) for job in jobs} == {
        (part, each) for part in cad.modelled_parts() for each in (0, 1)
    }
    assert {job.noise for job in jobs} == set(cad.NOISES)
    assert len(cad.jobs(None, quick=True)) < len(jobs)


@pytest.mark.slow
def test_a_scan_is_registered_and_a_symmetric_part_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cad, "POINTS", 4000)
    rows = [row for part in ("prismatic", "cube") for row in cad.measure(cad.Job(part, 0.03, False, 0), None)]
    assert [row["success"] for row in rows] == [True, False]
    assert rows[0]["right"]
    assert rows[0]["deviation / noise"] < 1.1
    assert "1 of 2 scans called registered, 0 of them wrongly" in cad.summary(rows)[1]
