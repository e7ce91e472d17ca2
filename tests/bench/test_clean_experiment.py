"""The experiment on outlier removal: its jobs, its rows and what it says about them."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench import clean


def test_every_scan_is_cleaned_as_it_is_and_corrupted() -> None:
    jobs = clean.jobs(None)
    assert {job.cloud for job in jobs if job.kind is None} == set(clean.SYNTHETIC)
    assert {(job.kind, job.ratio) for job in jobs if job.kind} == {(k, r) for k in clean.KINDS for r in clean.RATIOS}


def test_the_figures_are_those_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean, "FILTERS", {"volume": clean.FILTERS["volume"], "none": lambda p: np.ones(len(p), bool)})
    jobs = [clean.Job("hare", points=1500), clean.Job("hare", "gaussian", 0.5, 1500)]
    rows = [row for job in jobs for row in clean.measure(job, None)]
    assert [row["found"] for row in rows if row["filter"] == "none"] == [None, 0.0]
    assert all(row["lost"] == 0 for row in rows if row["filter"] == "none")
    assert rows[2]["found"] > 0.9
    text = "\n".join(clean.summary(rows))
    assert "none: of 1 scans as they are 0.0% of the points is lost" in text
