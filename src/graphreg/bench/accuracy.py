"""Accuracy of each method from the pose as scanned (the paper's Table I and its Monkey).

The dragon's scans are those of the paper. The Armadillo's are simulated from the same statue, and synthetic bodies
replace the Monkey.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_runs import REGISTRATION_TIME, ROTATION_ERROR, Run, methods_of
from graphreg.bench.comparison_statistics import Column, columns_by, tables_of
from graphreg.bench.comparison_wording import ranking, remarks
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of, points_of
from graphreg.reports.pictures import Image

TITLE = "Accuracy"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 5
REAL = ("dragon_24_to_0", "armadillo_SIM_30_to_0", "bunny_045_to_000")
SYNTHETIC = ("synthetic_hare_30", "synthetic_hand_30", "synthetic_casting_30")
QUICK = ("synthetic_hare_30", "synthetic_casting_30")
# Pair -> the paper's data, and its figures.
PUBLISHED: dict[str, tuple[str, dict[str, dict[str, float]]]] = {
    "dragon_24_to_0": ("Dragon", {
        ROTATION_ERROR: {
            "icp": 0.4870, "icp-kp": 0.6818, "icp-kn": 0.3438, "gmm": 13.0921, "cpd": 0.6532, "ecm": 0.3438,
            "pipl": 0.4412, "graphreg-paper": 0.3323
        },
        REGISTRATION_TIME: {
            "icp": 0.1921, "icp-kp": 1.6527, "icp-kn": 1.7171, "gmm": 34.2532, "cpd": 13.8807, "ecm": 15.6381,
            "pipl": 1.1700, "graphreg-paper": 0.3070
        },
    }),
    "armadillo_SIM_30_to_0": ("Armadillo, real scans", {
        ROTATION_ERROR: {
            "icp": 1.8736, "icp-kp": 1.9022, "icp-kn": 1.6444, "gmm": 24.8091, "cpd": 0.6417, "ecm": 179.0493,
            "pipl": 0.3380, "graphreg-paper": 0.2521
        },
        REGISTRATION_TIME: {
            "icp": 0.1867, "icp-kp": 0.9715, "icp-kn": 1.0268, "gmm": 23.2408, "cpd": 11.8751, "ecm": 10.8415,
            "pipl": 1.1419, "graphreg-paper": 0.3091
        },
    }),
    "synthetic_hare_30": ("Monkey", {
        ROTATION_ERROR: {
            "icp": 2.2052, "icp-kp": 2.2052, "icp-kn": 60.4347, "gmm": 7.8044, "cpd": 6.3719, "ecm": 2.3550,
            "pipl": 16.6440, "graphreg-paper": 1.8940
        },
    }),
}  # fmt: skip

measure, left_out = comparison_runs.measure, comparison_runs.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    """Return the runs, methods interleaved."""
    pairs = QUICK if quick else (*(REAL if data is not None else ()), *SYNTHETIC)
    return [
        Run(pair, method, seed, points=points_of(pair, quick))
        for seed in range(1 if quick else RUNS)
        for pair in pairs
        for method in methods_of(methods, peers)
    ]


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, Column]:
    """Return the groups of runs that the tables compare, by their titles."""
    return {
        pair: Column(column.contains, *PUBLISHED[pair]) if pair in PUBLISHED else column
        for pair, column in columns_by(rows, "pair").items()
    }


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by their headings."""
    return tables_of(rows, columns(rows))


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    runs = 1 + max(row["seed"] for row in rows)
    return [
        f"{runs} runs for each pair and method (the paper: 100), with other seeds of randomised methods and other "
        "synthetic scans; initial pose as scanned",
        *ranking(rows, columns(rows)),
        *remarks(rows),
    ]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    """Return rendered scans by the names of their files."""
    name = REAL[0] if data is not None else QUICK[0]
    return {"accuracy": before_and_after(pair_of(name, data, points_of(name, quick)))}
