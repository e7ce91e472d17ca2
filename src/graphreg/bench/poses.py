"""The paper's pose test: two scans of the dragon, one of them turned about each axis (the paper's Fig. rotation).

The paper turns by up to 120 degrees to either side; here it goes on to half a turn. Coarse steps come first, so that a
slow method, which cannot make all runs, still covers the whole range.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import comparison
from graphreg.bench.comparison import OURS, Row, Run, made, median_of, methods_of, remarks
from graphreg.bench.comparison_charts import family_charts
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pairs import points_of
from graphreg.reports.charts import charts_side_by_side

TITLE = "Turned about each axis"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
SCANNED, MADE = "dragon_24_to_0", "made_hare_30"
AXES = ("x", "y", "z")
ANGLES = range(-180, 181, 5)
QUICK_ANGLES = (-120, -60, 0, 60, 120, 180)
STEPS = (60, 30, 15, 5)
# Seconds that the runs of a method may take together.
BUDGET = 35.0
# As far as the paper goes.
PAPERS = 120

measure = comparison.measure
left_out = comparison.left_out


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    pair = MADE if quick or data is None else SCANNED
    angles = sorted(
        QUICK_ANGLES if quick else ANGLES, key=lambda angle: (*(angle % step != 0 for step in STEPS), abs(angle))
    )
    return [
        Run(pair, method, points=points_of(pair, quick), turned=_about(axis, angle))
        for angle in angles
        # Not turned at all is the same about every axis.
        for axis in (AXES if angle else AXES[:1])
        for method in methods_of(methods, peers)
    ]


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = made([row for row in rows if row["method"] == method])
        line: dict[str, Any] = {"method": method}
        for axis in AXES:
            line[f"about {axis}"] = _registered([row for row in mine if axis in _axes_of(row)])
        line[f"within {PAPERS}"] = _registered([row for row in mine if abs(sum(row["turned"])) <= PAPERS])
        line["all"] = _registered(mine)
        line["median degrees"] = median_of(mine, "degrees")
        line["worst degrees"] = max((row["degrees"] for row in mine), default=None)
        line["median rmsd"] = median_of(mine, "rmsd")
        line["worst rmsd"] = max((row["rmsd"] for row in mine), default=None)
        line["register s"] = median_of(mine, "register s")
        line["whole call s"] = median_of(mine, "seconds")
        lines.append(line)
    return {"Registered from so many poses": lines}


def summary(rows: Sequence[Row]) -> list[str]:
    steps = sorted({sum(row["turned"]) for row in rows})
    lines = [
        f"{rows[0]['pair']}, the source turned about its centroid by {steps[0]:g} to {steps[-1]:g} degrees about each "
        f"axis, {len(steps)} angles; turns by 180 and by -180 degrees are the same pose; the paper shows curves only, "
        "and says that its method tolerates about 45 degrees at the worst axis",
    ]
    table = {line["method"]: line for line in tables(rows)["Registered from so many poses"]}
    if OURS in table:
        lines.append(
            f"{OURS}: {table[OURS]['all']} registered, at worst {table[OURS]['worst degrees']:.3g} degrees off; as far "
            f"as the paper goes, {table[OURS][f'within {PAPERS}']}"
        )
    return [*lines, *remarks(rows)]


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """The distance to where the points belong over the angle, a row of charts for each axis."""

    def angle_of(row: Row) -> float:
        return float(sum(row["turned"]))

    charts = [
        family_charts(
            [row for row in rows if axis in _axes_of(row)], angle_of, "rmsd", "turned by (degrees)", "rmsd", f"{axis}: "
        )
        for axis in AXES
    ]
    return {"poses": charts_side_by_side(list(chain(*charts)), len(charts[0]))} if charts[0] else {}


def _about(axis: str, angle: float) -> tuple[float, float, float]:
    x, y, z = (float(angle) * np.eye(3)[AXES.index(axis)]).tolist()
    return x, y, z


def _axes_of(row: Row) -> tuple[str, ...]:
    """A run that is not turned belongs to all of them."""
    turned = tuple(axis for axis, angle in zip(AXES, row["turned"], strict=True) if angle)
    return turned or AXES


def _registered(rows: Sequence[Row]) -> str:
    return f"{sum(row['right'] for row in rows)} of {len(rows)}"
