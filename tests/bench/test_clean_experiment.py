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
    made = clean.tables(rows)
    kept = next(line for line in made["Scans as they are"] if line["filter"] == "none")
    assert (kept["scans"], kept["lost, at worst (%)"], kept["scans that lose over 3 %"]) == (1, 0.0, 0)
    ours = next(line for line in made["Scans with outliers"] if line["filter"] == "volume")
    assert (ours["outliers"], ours["for each point"]) == ("gaussian", 0.5)
    assert ours["found, at worst (%)"] == pytest.approx(100 * rows[2]["found"], abs=0.05)
    assert "none: 0 % of a scan without outliers is lost in the median of 1, 0 % at worst" in clean.summary(rows)


def test_who_knows_a_plane_finds_outliers_off_it_and_none_in_its_sheet() -> None:
    grid = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0), [0.0]), axis=-1).reshape(-1, 3)
    outliers = np.array([[7.5, 7.5, 0.3], [40.0, 7.5, 0.0], [7.5, 7.5, 0.0]])
    assert clean.found_knowing_the_scan(grid, outliers).tolist() == [True, True, False]
