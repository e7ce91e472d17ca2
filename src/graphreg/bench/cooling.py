"""The cool-down rate of annealing: the published method and its baseline over beta (the paper's Fig. hand).

A scan of 300,000 points and a copy of it in another pose. The paper's claims: accuracy grows with beta; the published
method converges for beta from 0.7 to 0.9, PIPL only from 0.85 on. Methods without a cool-down rate are measured as
well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_charts import SMALLEST_DRAWN
from graphreg.bench.comparison_runs import ROTATION_ERROR, Row, Run, completed, methods_of
from graphreg.bench.comparison_statistics import Column, columns_by, tables_of
from graphreg.bench.comparison_wording import remarks
from graphreg.bench.initial_poses import rotation_about_centroid, thirty_about_each_axis
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of
from graphreg.reports.pictures import Image
from graphreg.reports.plots import Panel, plot_grid

TITLE = "The cool-down rate"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
RUNS = 2
# Seconds that the runs of a method may take together.
BUDGET = 60.0
PAIR = "synthetic_hand_copy"
POINTS, QUICK_POINTS = 300_000, 6_000
ANNEALED = ("graphreg-paper", "pipl")
BETAS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
QUICK_BETAS = (0.6, 0.75, 0.9)
# Largest rotation error of a converged registration, in degrees.
CONVERGED = 2.0

measure, left_out = comparison_runs.measure, comparison_runs.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    """Return the runs, methods interleaved."""
    betas = QUICK_BETAS if quick else BETAS
    return [
        Run(PAIR, method, seed, points=QUICK_POINTS if quick else POINTS, initial_rotation=thirty_about_each_axis(seed),
            settings=settings)
        for seed in range(1 if quick else RUNS)
        for method in methods_of(methods, peers)
        for settings in ([(("beta", beta),) for beta in betas] if method in ANNEALED else [()])
    ]  # fmt: skip


def columns(rows: Sequence[Row]) -> dict[str, Column]:
    """Return the groups of runs that the tables compare, by their titles."""
    found = columns_by(rows, "settings")
    betas = {title: column for title, column in found.items() if title}
    return {**betas, **({"no beta": found[""]} if "" in found else {})}


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by their headings."""
    return tables_of(rows, columns(rows))


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    runs = 1 + max(row["seed"] for row in rows)
    lines = [
        f"{PAIR}: a scan and a copy of it, rotated by 30 degrees about each axis; {runs} runs; both clouds are the "
        "same points, so that errors are those of the methods alone",
    ]
    for method, (betas, errors) in _over_beta(rows).items():
        good = [f"{beta:g}" for beta, error in zip(betas, errors, strict=True) if error <= CONVERGED]
        lines.append(
            f"{method}: within {CONVERGED:g} degrees at beta {', '.join(good) or 'none'}; {errors[0]:.3g} degrees at "
            f"{betas[0]:g}, {errors[-1]:.3g} at {betas[-1]:g}"
        )
    return [*lines, *remarks(rows)]


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Return charts (SVG) by the names of their files."""
    series = _over_beta(rows)
    if not series:
        return {}
    title, labels = "Error over the cool-down rate", ("beta", "rotation error (degrees)")
    return {"cooling_error": plot_grid([Panel(series, title, *labels, log_y=True, floor=SMALLEST_DRAWN)], "cooling")}


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    """Return rendered scans by the names of their files."""
    pair = pair_of(PAIR, None, QUICK_POINTS if quick else POINTS)
    start = rotation_about_centroid(pair.source, thirty_about_each_axis(0))
    return {"cooling": before_and_after(pair, start=start)}


def _over_beta(rows: Sequence[Row]) -> dict[str, tuple[list[float], list[float]]]:
    """{method: (cool-down rates, median rotation errors)}."""
    found = {}
    for method in ANNEALED:
        mine = [row for row in completed(rows) if row["method"] == method]
        betas = sorted({float(row["settings"].removeprefix("beta ")) for row in mine})
        errors = [
            float(np.median([row[ROTATION_ERROR] for row in mine if row["settings"] == f"beta {beta:g}"]))
            for beta in betas
        ]
        if betas:
            found[method] = betas, errors
    return found
