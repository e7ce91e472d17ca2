"""Scans whose density falls off from the middle (the paper's Table VI).

The paper measures on two pairs of a railway that are dense in the middle and sparse at the ends. Here scans of a
synthetic street and facade are thinned the more, the farther points are from the centroid.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_runs import ROTATION_ERROR, Row, Run, methods_of
from graphreg.bench.comparison_statistics import Column, columns_by, side_by_side, tables_of
from graphreg.bench.comparison_wording import ranking, remarks
from graphreg.bench.corruption import Corruption
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of, points_of
from graphreg.reports.pictures import Image

TITLE = "Uneven density"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 3
THINNED = Corruption("2 % kept at the rim", rim=0.02)
SYNTHETIC = ("synthetic_street_5", "synthetic_street_10", "synthetic_facade_60")
QUICK = ("synthetic_street_5", "synthetic_facade_60")
PUBLISHED: tuple[tuple[str, dict[str, dict[str, float]]], ...] = (
    ("Railway 1", {
        ROTATION_ERROR: {
            "icp": 0.6628, "icp-kp": 0.6400, "icp-kn": 3.1715, "gmm": 0.2340, "cpd": 3.7988, "ecm": 0.1641,
            "teaser": 171.1502, "fgr": 3.7534, "fricp": 0.0799, "pipl": 7.5604, "graphreg-paper": 0.1119
        },
        "rmsd": {
            "icp": 34.4934, "icp-kp": 40.4979, "icp-kn": 42.2538, "gmm": 52.0106, "cpd": 47.8289, "ecm": 41.8326,
            "teaser": 179.2847, "fgr": 42.2166, "fricp": 40.4123, "pipl": 37.9666, "graphreg-paper": 22.7206
        },
    }),
    ("Railway 2", {
        ROTATION_ERROR: {
            "icp": 2.0299, "icp-kp": 2.0372, "icp-kn": 4.7293, "gmm": 0.8820, "cpd": 4.5592, "ecm": 0.1989,
            "teaser": 73.0722, "fgr": 163.6932, "fricp": 0.1476, "pipl": 9.7713, "graphreg-paper": 0.1399
        },
        "rmsd": {
            "icp": 54.2542, "icp-kp": 54.3514, "icp-kn": 67.3334, "gmm": 64.7316, "cpd": 54.6875, "ecm": 50.7399,
            "teaser": 213.2731, "fgr": 166.4902, "fricp": 40.6263, "pipl": 33.0830, "graphreg-paper": 30.5180
        },
    }),
)  # fmt: skip

measure, left_out = comparison_runs.measure, comparison_runs.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    """Return the runs, methods interleaved."""
    return [
        Run(pair, method, seed, THINNED, points_of(pair, quick))
        for seed in range(1 if quick else RUNS)
        for pair in (QUICK if quick else SYNTHETIC)
        for method in methods_of(methods, peers)
    ]


def columns(rows: Sequence[Row]) -> dict[str, Column]:
    """Return a column for each pair; the paper's two pairs are beside the first two."""
    found = columns_by(rows, "pair")
    published = dict(zip(found, PUBLISHED, strict=False))
    return {pair: Column(column.contains, *published.get(pair, ())) for pair, column in found.items()}


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by their headings."""
    errors, *others = tables_of(rows, columns(rows)).items()
    return dict([errors, ("Median RMSD (m)", side_by_side(rows, columns(rows), "rmsd")), *others])


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    runs = 1 + max(row["seed"] for row in rows)
    return [
        f"the probability of keeping a point falls with its distance from the centroid, to {THINNED.rim:.0%} at the "
        f"farthest; {runs} runs for each pair and method, each with other scans; initial pose as scanned",
        *ranking(rows, columns(rows)),
        *remarks(rows),
    ]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    """Return rendered scans by the names of their files."""
    return {"density": before_and_after(pair_of(QUICK[0], None, points_of(QUICK[0], quick)), THINNED)}
