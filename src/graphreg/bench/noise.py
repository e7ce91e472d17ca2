"""How methods take noise: a scan and a copy of it, turned by 30 degrees about each axis (the paper's Fig. bunny).

Both have noise of their own, its standard deviation up to 1.4 % of the bounding box's sides. The truth is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphreg.bench import comparison
from graphreg.bench.comparison import (
    Column,
    Run,
    methods_of,
    remarks,
    standing,
    tables_of,
    thirty_about_each_axis,
    turned_about_centroid,
)
from graphreg.bench.comparison_charts import family_charts
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import Spoiling, pair_of, points_of
from graphreg.reports.charts import charts_side_by_side
from graphreg.reports.pictures import Image

TITLE = "Noise"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 5
LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
QUICK_LEVELS = (0.0, 0.8)
SCANNED, MADE = "bunny_itself", "made_hare_itself"
# Per cent, and what the paper reports there.
PUBLISHED = 0.8, {"pipl": 6.2240, "graphreg-paper": 1.4161}

measure = comparison.measure
left_out = comparison.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    pair = MADE if quick or data is None else SCANNED
    return [
        Run(pair, method, seed, noise_of(level), points_of(pair, quick), turned=thirty_about_each_axis(seed))
        for seed in range(1 if quick else RUNS)
        for level in (QUICK_LEVELS if quick else LEVELS)
        for method in methods_of(methods, peers)
    ]


def noise_of(level: float) -> Spoiling:
    """level: per cent of the bounding box's sides"""
    return Spoiling(f"noise {level:g} %", noise=level / 100)


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, Column]:
    level, figures = PUBLISHED
    found = comparison.columns_by(rows, "spoilt")
    return {
        spoilt: Column(column.of, f"{level:g} %", {"degrees": figures}) if spoilt == noise_of(level).name else column
        for spoilt, column in found.items()
    }


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return tables_of(rows, columns(rows))


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    runs = 1 + max(row["seed"] for row in rows)
    return [
        f"{rows[0]['pair']}: a scan and a copy of it, turned by 30 degrees about each axis, to sides that the "
        f"seed says; both with noise of their own, relative to the sides of the bounding box; {runs} runs (the paper: "
        "10)",
        "without noise the clouds are the same points, which methods that pair nearest points can find to the last bit",
        *standing(rows, columns(rows)),
        *remarks(rows),
    ]


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    levels = {noise_of(level).name: level for level in LEVELS}

    def level_of(row: comparison.Row) -> float:
        return levels[row["spoilt"]]

    errors = family_charts(rows, level_of, "degrees", "noise (% of the sides)", "error (degrees)")
    times = family_charts(rows, level_of, "seconds", "noise (% of the sides)", "whole call (s)")
    if not errors:
        return {}
    return {"noise_error": charts_side_by_side(errors, 3), "noise_time": charts_side_by_side(times, 3)}


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    name = SCANNED if data is not None else MADE
    pair = pair_of(name, data, points_of(name, quick))
    start = turned_about_centroid(pair.source, thirty_about_each_axis(0))
    return {"noise": before_and_after(pair, noise_of(0.8), start)}
