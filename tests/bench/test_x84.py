"""The X84 experiment and the tables it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphreg.bench import x84
from graphreg.bench.results_files import Results, read_results, write_results
from graphreg.provenance import measured_now


def test_the_jobs_cover_both_kinds_and_all_ratios() -> None:
    jobs = x84.jobs(None)
    clouds = [job for job in jobs if isinstance(job, x84.Job)]
    registered = [job for job in jobs if isinstance(job, x84.Registration)]
    both = {(k, r) for k in ("gaussian", "uniform") for r in x84.RATIOS}
    assert {(job.kind, job.ratio) for job in clouds} == {(job.kind, job.ratio) for job in registered} == both
    assert not any(job.cloud.endswith(".ply") for job in clouds)


def test_the_figures_are_those_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(400, 3)) * [1, 1, 0.01]
    outliers = np.arange(400) % 7 == 0
    monkeypatch.setattr(x84, "_corrupted_cloud", lambda *_: (points, outliers))
    removed = ~x84.x84_inliers(x84.response_intensity(x84.neighbour_graph(points)), 5.2)
    row = next(iter(x84.measure(x84.Job("synthetic", "gaussian", 0.1), None)))
    both = np.count_nonzero(removed & outliers)
    assert row["recall"] == both / outliers.sum()
    assert row["precision"] == both / removed.sum()
    assert row["inliers kept"] == np.count_nonzero(~removed & ~outliers) / np.count_nonzero(~outliers)
    assert row["outliers among kept"] == np.count_nonzero(~removed & outliers) / np.count_nonzero(~removed)


@pytest.mark.slow
def test_a_small_run_can_be_written(tmp_path: Path) -> None:
    jobs = [x84.Job("casting", kind, ratio, 3000) for kind in x84.KINDS for ratio in x84.RATIOS]
    rows = [row for job in jobs for row in x84.measure(job, None)]
    results = Results(x84.TITLE, measured_now("graphreg bench x84", x84.PARTS), x84.summary(rows), rows)
    page = write_results(tmp_path, "x84", results)
    assert page.read_text().count("\n| casting |") == len(rows) == 32
    assert read_results(tmp_path / "x84.json").rows == rows
    assert x84.figures(rows) == {}


@pytest.mark.slow
def test_errors_of_registrations_are_listed_beside_the_papers() -> None:
    (row,) = x84.measure(x84.Registration("synthetic_casting_30", "uniform", 0.1, 5.2, 1, 1500), None)
    assert row["recall"] is None
    assert row["rmsd"] > 0
    first, last = x84._registration_errors([row])
    assert first.startswith("synthetic_casting_30 registered as published, uniform, alpha 5.2: rmsd ")
    assert last.endswith("0.0035 at 50% gaussian, 0.0032 at 80% uniform")
    assert list(x84.figures([row])) == ["x84"]
