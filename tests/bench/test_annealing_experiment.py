"""The annealing experiment, on a cloud so small that it takes a moment."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from graphreg.bench import annealing, pairs

COLUMNS = ["pair", "method", "beta", "seed", "rotation error (deg)", "rmsd / size", "seconds", "iterations"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annealing, "BETAS", (0.8, 0.98))
    monkeypatch.setattr(annealing, "QUICK_BETAS", (0.8, 0.98))
    monkeypatch.setitem(pairs.QUICK_POINTS, "object", 500)
    for name, settings in annealing.METHODS.items():
        monkeypatch.setitem(annealing.METHODS, name, {**settings, "particles": 50})


def test_the_jobs_cover_all_rates_and_seeds(tmp_path: Path) -> None:
    synthetic, all_of_them = annealing.jobs(None), annealing.jobs(tmp_path)
    assert {(job.beta, job.seed) for job in synthetic} == {(b, s) for b in annealing.BETAS for s in annealing.SEEDS}
    assert {job.pair for job in synthetic} == set(annealing.SYNTHETIC)
    assert {job.pair for job in all_of_them} == {*annealing.SYNTHETIC, *annealing.REAL}


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_rows_summary_and_figures() -> None:
    rows = [row for job in annealing.jobs(None, quick=True) for row in annealing.measure(job, None)]
    assert all(list(row) == COLUMNS for row in rows)
    assert [(row["beta"], row["method"]) for row in rows] == [(b, m) for b in (0.8, 0.98) for m in annealing.METHODS]
    iterations = {(row["method"], row["beta"]): row["iterations"] for row in rows}
    assert iterations["ASA", 0.8] == iterations["ASA", 0.98] == 100
    # Plain annealing ends at T < 1e-5.
    assert iterations["SA", 0.98] == np.ceil(np.log(1e-5) / np.log(0.98))
    assert any("the time of ASA" in line for line in annealing.summary(rows))
    for text in annealing.figures(rows).values():
        texts = {each.text for each in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")}
        assert set(annealing.METHODS) <= texts


def test_the_summary_says_whose_time_grows() -> None:
    def rows(slowdown: dict[str, float]) -> list[dict[str, object]]:
        return [
            dict(zip(COLUMNS, ("hand", name, beta, seed, 1.0 + seed, 0.1, factor**k, 100), strict=True))
            for name, factor in slowdown.items()
            for k, beta in enumerate((0.8, 0.98))
            for seed in (0, 1, 2)
        ]

    lines = annealing.summary(rows({"ASA": 1.0, "SA": 11.0}))
    assert (
        "from beta 0.8 to 0.98, the time of ASA does not grow, that of SA grows; "
        "ASA is faster on every pair at beta: 0.98"
    ) in lines
    assert any(line.startswith("SA: at beta 0.98 it takes 11.00 times as long") for line in lines)
    assert any("ASA 0.8 to 0.98 (best 2.00 at 0.8; 2.00 at 0.8, 2.00 at 0.98)" in line for line in lines)
    lines = annealing.summary(rows({"ASA": 3.0, "SA": 1.0}))
    assert any("the time of ASA grows, that of SA does not grow; " in line for line in lines)
    assert any(line.endswith("on every pair at beta: none") for line in lines)


def test_rates_are_listed_as_ranges() -> None:
    betas = [0.5, 0.6, 0.7, 0.8, 0.9]
    assert annealing._ranges([0.5, 0.7, 0.8, 0.9], betas) == "0.5 and 0.7 to 0.9"
    assert annealing._ranges([], betas) == "none"


def test_tables_have_medians_over_the_seeds() -> None:
    rows = [
        dict(zip(COLUMNS, ("hand", name, 0.8, seed, error, error, error, 100), strict=True))
        for name, scale in (("ASA", 1.0), ("SA", 2.0))
        for seed, error in enumerate(scale * np.array([1.0, 2.0, 9.0]))
    ]
    (line,) = annealing.tables(rows)["hand"]
    assert (line["beta"], line["ASA: rotation error (deg)"], line["SA: seconds"]) == (0.8, 2.0, 4.0)
