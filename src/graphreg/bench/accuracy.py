"""How exactly each method registers scans from the pose that they were scanned in (the paper's Table I and its Monkey).

The dragon's scans are those of the paper. The Armadillo's are simulated ones of the same statue, and the Monkey's
place is taken by bodies of our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphreg.bench import comparison
from graphreg.bench.comparison import Column, Run, columns_by, methods_of, remarks, standing, tables_of
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of, points_of
from graphreg.reports.pictures import Image

TITLE = "Accuracy"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 5
SCANNED = ("dragon_24_to_0", "armadillo_SIM_30_to_0", "bunny_045_to_000")
MADE = ("made_hare_30", "made_hand_30", "made_casting_30")
QUICK = ("made_hare_30", "made_casting_30")
# Pair -> what the paper measured, and its figures.
PUBLISHED: dict[str, tuple[str, dict[str, dict[str, float]]]] = {
    "dragon_24_to_0": ("Dragon", {
        "degrees": {"icp": 0.4870, "icp-kp": 0.6818, "icp-kn": 0.3438, "gmm": 13.0921, "cpd": 0.6532, "ecm": 0.3438,
                    "pipl": 0.4412, "graphreg-paper": 0.3323},
        "register s": {"icp": 0.1921, "icp-kp": 1.6527, "icp-kn": 1.7171, "gmm": 34.2532, "cpd": 13.8807,
                       "ecm": 15.6381, "pipl": 1.1700, "graphreg-paper": 0.3070},
    }),
    "armadillo_SIM_30_to_0": ("Armadillo, real scans", {
        "degrees": {"icp": 1.8736, "icp-kp": 1.9022, "icp-kn": 1.6444, "gmm": 24.8091, "cpd": 0.6417, "ecm": 179.0493,
                    "pipl": 0.3380, "graphreg-paper": 0.2521},
        "register s": {"icp": 0.1867, "icp-kp": 0.9715, "icp-kn": 1.0268, "gmm": 23.2408, "cpd": 11.8751,
                       "ecm": 10.8415, "pipl": 1.1419, "graphreg-paper": 0.3091},
    }),
    "made_hare_30": ("Monkey", {
        "degrees": {"icp": 2.2052, "icp-kp": 2.2052, "icp-kn": 60.4347, "gmm": 7.8044, "cpd": 6.3719, "ecm": 2.3550,
                    "pipl": 16.6440, "graphreg-paper": 1.8940},
    }),
}  # fmt: skip

measure = comparison.measure
left_out = comparison.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    pairs = QUICK if quick else (*(SCANNED if data is not None else ()), *MADE)
    return [
        Run(pair, method, seed, points=points_of(pair, quick))
        for seed in range(1 if quick else RUNS)
        for pair in pairs
        for method in methods_of(methods, peers)
    ]


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, Column]:
    return {
        pair: Column(column.of, *PUBLISHED[pair]) if pair in PUBLISHED else column
        for pair, column in columns_by(rows, "pair").items()
    }


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return tables_of(rows, columns(rows))


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    runs = 1 + max(row["seed"] for row in rows)
    return [
        f"{runs} runs a pair and method (the paper: 100), which differ by the seed of methods that draw, and on scans "
        "that we make by the scans; from the pose as scanned",
        *standing(rows, columns(rows)),
        *remarks(rows),
    ]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    name = SCANNED[0] if data is not None else QUICK[0]
    return {"accuracy": before_and_after(pair_of(name, data, points_of(name, quick)))}
