"""Initial rotations: two scans of the dragon, one of them rotated about each axis (the paper's Fig. rotation).

The paper rotates by up to 120 degrees to either side; here it is up to 180. Coarse steps come first, so that a slow
method, which cannot make all runs, still covers the whole range.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_charts import family_charts
from graphreg.bench.comparison_runs import OURS, REGISTRATION_TIME, ROTATION_ERROR, Row, Run, completed, methods_of
from graphreg.bench.comparison_statistics import median_of
from graphreg.bench.comparison_wording import remarks
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pairs import points_of
from graphreg.reports.plots import plot_grid

TITLE = "Initial rotation about each axis"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
REAL, SYNTHETIC = "dragon_24_to_0", "synthetic_hare_30"
AXES = ("x", "y", "z")
ANGLES = range(-180, 181, 5)
QUICK_ANGLES = (-120, -60, 0, 60, 120, 180)
STEPS = (60, 30, 15, 5)
# Seconds that the runs of a method may take together.
BUDGET = 35.0
# The paper's largest angle.
PAPER_ANGLE = 120
TABLE = "Correct registrations over initial rotations"

measure, left_out = comparison_runs.measure, comparison_runs.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    """Return the runs, methods interleaved."""
    pair = SYNTHETIC if quick or data is None else REAL
    angles = sorted(
        QUICK_ANGLES if quick else ANGLES, key=lambda angle: (*(angle % step != 0 for step in STEPS), abs(angle))
    )
    return [
        Run(pair, method, points=points_of(pair, quick), initial_rotation=_rotation(axis, angle))
        for angle in angles
        # No rotation is the same about every axis.
        for axis in (AXES if angle else AXES[:1])
        for method in methods_of(methods, peers)
    ]


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by their headings."""
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = completed([row for row in rows if row["method"] == method])
        line: dict[str, Any] = {"method": method}
        for axis in AXES:
            line[f"about {axis}"] = _count([row for row in mine if axis in _axes_of(row)])
        line[f"within {PAPER_ANGLE}"] = _count(
            [row for row in mine if abs(sum(row["initial rotation (deg)"])) <= PAPER_ANGLE]
        )
        line["all"] = _count(mine)
        line[f"median {ROTATION_ERROR}"] = median_of(mine, ROTATION_ERROR)
        line["max (deg)"] = max((row[ROTATION_ERROR] for row in mine), default=None)
        line["median rmsd"] = median_of(mine, "rmsd")
        line["max rmsd"] = max((row["rmsd"] for row in mine), default=None)
        line[REGISTRATION_TIME] = median_of(mine, REGISTRATION_TIME)
        line["whole call (s)"] = median_of(mine, "seconds")
        lines.append(line)
    return {TABLE: lines}


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    steps = sorted({sum(row["initial rotation (deg)"]) for row in rows})
    lines = [
        f"{rows[0]['pair']}, the source rotated about its centroid by {steps[0]:g} to {steps[-1]:g} degrees about each "
        f"axis, {len(steps)} angles; 180 and -180 degrees are the same pose; the paper shows curves only, and reports "
        "that its method tolerates about 45 degrees about the worst axis",
    ]
    table = {line["method"]: line for line in tables(rows)[TABLE]}
    if OURS in table:
        lines.append(
            f"{OURS}: {table[OURS]['all']} correct, largest rotation error {table[OURS]['max (deg)']:.3g} degrees; up "
            f"to the paper's {PAPER_ANGLE} degrees, {table[OURS][f'within {PAPER_ANGLE}']}"
        )
    return [*lines, *remarks(rows)]


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Return a chart (SVG) of the RMSD over the angle, a row for each axis."""

    def angle_of(row: Row) -> float:
        return float(sum(row["initial rotation (deg)"]))

    charts = [
        family_charts(
            [row for row in rows if axis in _axes_of(row)],
            angle_of,
            "rmsd",
            "initial rotation (degrees)",
            "rmsd",
            f"About {axis}: ",
        )
        for axis in AXES
    ]
    return {"poses": plot_grid(list(chain(*charts)), "poses", len(charts[0]))} if charts[0] else {}


def _rotation(axis: str, angle: float) -> tuple[float, float, float]:
    x, y, z = (float(angle) * np.eye(3)[AXES.index(axis)]).tolist()
    return x, y, z


def _axes_of(row: Row) -> tuple[str, ...]:
    """Axes of the initial rotation; all of them if there is none."""
    rotated = tuple(axis for axis, angle in zip(AXES, row["initial rotation (deg)"], strict=True) if angle)
    return rotated or AXES


def _count(rows: Sequence[Row]) -> str:
    return f"{sum(row['correct'] for row in rows)} of {len(rows)}"
