"""Accuracy under noise: a scan and a copy of it, rotated by 30 degrees about each axis (the paper's Fig. bunny).

Both have independent noise, with a standard deviation of up to 1.4 % of the sides of the bounding box. The ground truth
is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_charts import family_charts
from graphreg.bench.comparison_runs import ROTATION_ERROR, Row, Run, methods_of
from graphreg.bench.comparison_statistics import Column, columns_by, tables_of
from graphreg.bench.comparison_wording import ranking, remarks
from graphreg.bench.corruption import Corruption
from graphreg.bench.initial_poses import rotation_about_centroid, thirty_about_each_axis
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of, points_of
from graphreg.reports.pictures import Image
from graphreg.reports.plots import plot_grid

TITLE = "Noise"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 5
LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
QUICK_LEVELS = (0.0, 0.8)
REAL, SYNTHETIC = "bunny_copy", "synthetic_hare_copy"
# Level in per cent, and what the paper reports at it.
PUBLISHED = 0.8, {"pipl": 6.2240, "graphreg-paper": 1.4161}

measure, left_out = comparison_runs.measure, comparison_runs.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    """Return the runs, methods interleaved."""
    pair = SYNTHETIC if quick or data is None else REAL
    return [
        Run(pair, method, seed, noise_of(level), points_of(pair, quick), initial_rotation=thirty_about_each_axis(seed))
        for seed in range(1 if quick else RUNS)
        for level in (QUICK_LEVELS if quick else LEVELS)
        for method in methods_of(methods, peers)
    ]


def noise_of(level: float) -> Corruption:
    """Return noise of a level in per cent of the sides of the bounding box."""
    return Corruption(f"noise {level:g} %", noise=level / 100)


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, Column]:
    """Return the groups of runs that the tables compare, by their titles."""
    level, figures = PUBLISHED
    found = columns_by(rows, "corruption")
    return {
        name: Column(column.contains, f"{level:g} %", {ROTATION_ERROR: figures})
        if name == noise_of(level).name
        else column
        for name, column in found.items()
    }


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by their headings."""
    return tables_of(rows, columns(rows))


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    runs = 1 + max(row["seed"] for row in rows)
    return [
        f"{rows[0]['pair']}: a scan and a copy of it, rotated by 30 degrees about each axis, with signs by the seed; "
        "independent noise in both, its standard deviation relative to the sides of the bounding box; "
        f"{runs} runs (the paper: 10)",
        "without noise both clouds are the same points, which methods that match nearest points align exactly",
        *ranking(rows, columns(rows)),
        *remarks(rows),
    ]


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return charts (SVG) by the names of their files."""
    levels = {noise_of(level).name: level for level in LEVELS}

    def level_of(row: Row) -> float:
        return levels[row["corruption"]]

    errors = family_charts(
        rows, level_of, ROTATION_ERROR, "noise (% of the sides)", "rotation error (degrees)", "Error: "
    )
    times = family_charts(rows, level_of, "seconds", "noise (% of the sides)", "whole call (s)", "Time: ")
    if not errors:
        return {}
    return {"noise_error": plot_grid(errors, "noise_error", 2), "noise_time": plot_grid(times, "noise_time", 2)}


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    """Return rendered scans by the names of their files."""
    name = REAL if data is not None else SYNTHETIC
    pair = pair_of(name, data, points_of(name, quick))
    start = rotation_about_centroid(pair.source, thirty_about_each_axis(0))
    return {"noise": before_and_after(pair, noise_of(0.8), start)}
