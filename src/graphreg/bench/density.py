"""Scans whose density falls off from the middle (the paper's Table VI).

The paper measures on two pairs of a railway that are dense in the middle and thin at the ends. Here are a street and a
facade of our own, of which fewer and fewer points are left the farther out they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphreg.bench import comparison
from graphreg.bench.comparison import (
    Column,
    Row,
    Run,
    columns_by,
    methods_of,
    remarks,
    side_by_side,
    standing,
    tables_of,
)
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import Spoiling, pair_of, points_of
from graphreg.reports.pictures import Image

TITLE = "Uneven density"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 3
SPOILT = Spoiling("2 % left at the rim", rim=0.02)
MADE = ("made_street_5", "made_street_10", "made_facade_60")
QUICK = ("made_street_5", "made_facade_60")
PUBLISHED: tuple[tuple[str, dict[str, dict[str, float]]], ...] = (
    ("Railway 1", {
        "degrees": {"icp": 0.6628, "icp-kp": 0.6400, "icp-kn": 3.1715, "gmm": 0.2340, "cpd": 3.7988, "ecm": 0.1641,
                    "teaser": 171.1502, "fgr": 3.7534, "fricp": 0.0799, "pipl": 7.5604, "graphreg-paper": 0.1119},
        "rmsd": {"icp": 34.4934, "icp-kp": 40.4979, "icp-kn": 42.2538, "gmm": 52.0106, "cpd": 47.8289, "ecm": 41.8326,
                 "teaser": 179.2847, "fgr": 42.2166, "fricp": 40.4123, "pipl": 37.9666, "graphreg-paper": 22.7206},
    }),
    ("Railway 2", {
        "degrees": {"icp": 2.0299, "icp-kp": 2.0372, "icp-kn": 4.7293, "gmm": 0.8820, "cpd": 4.5592, "ecm": 0.1989,
                    "teaser": 73.0722, "fgr": 163.6932, "fricp": 0.1476, "pipl": 9.7713, "graphreg-paper": 0.1399},
        "rmsd": {"icp": 54.2542, "icp-kp": 54.3514, "icp-kn": 67.3334, "gmm": 64.7316, "cpd": 54.6875, "ecm": 50.7399,
                 "teaser": 213.2731, "fgr": 166.4902, "fricp": 40.6263, "pipl": 33.0830, "graphreg-paper": 30.5180},
    }),
)  # fmt: skip

measure = comparison.measure
left_out = comparison.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    return [
        Run(pair, method, seed, SPOILT, points_of(pair, quick))
        for seed in range(1 if quick else RUNS)
        for pair in (QUICK if quick else MADE)
        for method in methods_of(methods, peers)
    ]


def columns(rows: Sequence[Row]) -> dict[str, Column]:
    """The paper's two pairs stand beside the first two of ours."""
    found = columns_by(rows, "pair")
    published = dict(zip(found, PUBLISHED, strict=False))
    return {pair: Column(column.of, *published.get(pair, ())) for pair, column in found.items()}


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    errors, *others = tables_of(rows, columns(rows)).items()
    return dict([errors, ("RMSD in metres, medians", side_by_side(rows, columns(rows), "rmsd")), *others])


def summary(rows: Sequence[Row]) -> list[str]:
    runs = 1 + max(row["seed"] for row in rows)
    return [
        f"the chance of a point to be there falls with its distance from the centroid, to {SPOILT.rim:.0%} at the "
        f"farthest; {runs} runs a pair and method, each with scans of its own; from the pose as scanned",
        *standing(rows, columns(rows)),
        *remarks(rows),
    ]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    return {"density": before_and_after(pair_of(QUICK[0], None, points_of(QUICK[0], quick)), SPOILT)}
