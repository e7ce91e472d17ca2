"""Accuracy with 30 % Gaussian outliers, as wide as the scans (the paper's Table II).

The paper measures on two dinosaurs of the UWA data set, which is not available here; bunny, dragon and synthetic bodies
replace them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_runs import REGISTRATION_TIME, ROTATION_ERROR, Run, methods_of
from graphreg.bench.comparison_statistics import Column, columns_by, tables_of
from graphreg.bench.comparison_wording import ranking, remarks
from graphreg.bench.corruption import Corruption
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of, points_of
from graphreg.reports.pictures import Image

TITLE = "Outliers"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 5
OUTLIERS = Corruption("30 % outliers", outliers=0.3)
REAL = ("bunny_045_to_000", "dragon_24_to_0")
SYNTHETIC = ("synthetic_hare_30",)
QUICK = ("synthetic_hare_30", "synthetic_casting_30")
# The paper's data, and its figures.
PUBLISHED: tuple[tuple[str, dict[str, dict[str, float]]], ...] = (
    ("T-rex", {
        ROTATION_ERROR: {
            "tricp": 1.6420, "gmm": 10.6462, "cpd": 0.2492, "ecm": 0.4965, "teaser": 0.6169, "fgr": 1.3326,
            "fricp": 0.4695, "graphreg-paper": 0.5392
        },
        REGISTRATION_TIME: {
            "tricp": 0.9655, "gmm": 48.5120, "cpd": 41.7030, "ecm": 64.3260, "teaser": 0.1362, "fgr": 0.2255,
            "fricp": 1.2454, "graphreg-paper": 0.6180
        },
    }),
    ("Parasaurolophus", {
        ROTATION_ERROR: {
            "tricp": 1.4566, "gmm": 3.0283, "cpd": 0.3905, "ecm": 0.9547, "teaser": 0.7035, "fgr": 14.2750,
            "fricp": 0.6008, "graphreg-paper": 0.2455
        },
        REGISTRATION_TIME: {
            "tricp": 1.3820, "gmm": 39.3940, "cpd": 52.4800, "ecm": 82.1900, "teaser": 0.1189, "fgr": 0.1973,
            "fricp": 1.2221, "graphreg-paper": 0.5770
        },
    }),
)  # fmt: skip

measure, left_out = comparison_runs.measure, comparison_runs.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    """Return the runs, methods interleaved."""
    pairs = QUICK if quick else (*(REAL if data is not None else ()), *SYNTHETIC)
    return [
        Run(pair, method, seed, OUTLIERS, points_of(pair, quick))
        for seed in range(1 if quick else RUNS)
        for pair in pairs
        for method in methods_of(methods, peers)
    ]


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, Column]:
    """Return a column for each pair; the paper's two data sets are beside the first two."""
    found = columns_by(rows, "pair")
    published = dict(zip(found, PUBLISHED, strict=False))
    return {pair: Column(column.contains, *published.get(pair, ())) for pair, column in found.items()}


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by their headings."""
    return tables_of(rows, columns(rows))


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    runs = 1 + max(row["seed"] for row in rows)
    return [
        "three outliers for every ten points, normally distributed about the centroid with the sides of the bounding "
        f"box as standard deviations; {runs} runs for each pair and method (the paper: 10), each with other outliers; "
        "initial pose as scanned",
        *ranking(rows, columns(rows)),
        *remarks(rows),
    ]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    """Return rendered scans by the names of their files."""
    name = REAL[0] if data is not None else SYNTHETIC[0]
    return {"outliers": before_and_after(pair_of(name, data, points_of(name, quick)), OUTLIERS)}
