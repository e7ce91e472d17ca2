"""The annealing experiment, on a cloud so small that it takes a moment."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from graphreg.bench import annealing, pairs

COLUMNS = ["cloud", "method", "beta", "seed", "degrees", "rmsd of size", "seconds", "iterations"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annealing, "BETAS", (0.8, 0.98))
    monkeypatch.setattr(annealing, "QUICK_BETAS", (0.8, 0.98))
    monkeypatch.setitem(pairs.QUICK_POINTS, "object", 1500)
    for name, settings in annealing.METHODS.items():
        monkeypatch.setitem(annealing.METHODS, name, {**settings, "particles": 100})


def test_the_jobs_cover_all_rates_and_seeds(tmp_path: Path) -> None:
    made, all_of_them = annealing.jobs(None), annealing.jobs(tmp_path)
    assert {(job.beta, job.seed) for job in made} == {(b, s) for b in annealing.BETAS for s in annealing.SEEDS}
    assert {job.pair for job in made} == set(annealing.MADE)
    assert {job.pair for job in all_of_them} == {*annealing.MADE, *annealing.SCANNED}


@pytest.mark.usefixtures("small")
def test_rows_summary_and_figures() -> None:
    rows = [row for job in annealing.jobs(None, quick=True) for row in annealing.measure(job, None)]
    assert all(list(row) == COLUMNS for row in rows)
    assert [(row["beta"], row["method"]) for row in rows] == [(b, m) for b in (0.8, 0.98) for m in annealing.METHODS]
    iterations = {(row["method"], row["beta"]): row["iterations"] for row in rows}
    assert iterations["ASA", 0.8] == iterations["ASA", 0.98] == 100
    # Plain annealing ends at T < 1e-5.
    assert iterations["SA", 0.98] == np.ceil(np.log(1e-5) / np.log(0.98))
    assert any("ASA's time" in line for line in annealing.summary(rows))
    for text in annealing.figures(rows).values():
        lines = list(ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}polyline"))
        assert [len((line.get("points") or "").split()) for line in lines] == [2, 2]


def test_the_summary_tells_flat_from_growing() -> None:
    def rows(slowdown: dict[str, float]) -> list[dict[str, object]]:
        return [
            dict(zip(COLUMNS, ("hand", name, beta, seed, 1.0 + seed, 0.1, factor**k, 100), strict=True))
            for name, factor in slowdown.items()
            for k, beta in enumerate((0.8, 0.98))
            for seed in (0, 1, 2)
        ]

    told = annealing.summary(rows({"ASA": 1.0, "SA": 11.0}))
    assert (
        "from beta 0.8 to 0.98, ASA's time stays flat, SA's grows; "
        "ASA is the faster of the two on every cloud at beta: 0.98"
    ) in told
    assert any(line.startswith("SA: at beta 0.98 it takes 11.00 times as long") for line in told)
    assert any("ASA 0.8 to 0.98 (best 2.00 at 0.8; 2.00 at 0.8, 2.00 at 0.98)" in line for line in told)
    told = annealing.summary(rows({"ASA": 3.0, "SA": 1.0}))
    assert any("ASA's time does not stay flat, SA's does not grow; " in line for line in told)
    assert any(line.endswith("on every cloud at beta: none") for line in told)


def test_rates_are_listed_as_runs() -> None:
    betas = [0.5, 0.6, 0.7, 0.8, 0.9]
    assert annealing._listed([0.5, 0.7, 0.8, 0.9], betas) == "0.5 and 0.7 to 0.9"
    assert annealing._listed([], betas) == "none"
