"""Low overlap: a lid to its teapot, most of which is no part of the lid (the paper's Table III).

The lid is a body of revolution: rotated about its axis it fits the pot as well as before. Errors are therefore measured
up to such rotations, and once more as in the paper, against the one pose that the lid was moved from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_runs import (
    REGISTRATION_TIME,
    ROTATION_ERROR,
    Row,
    Run,
    completed,
    methods_of,
    outcome_of,
    row_of,
)
from graphreg.bench.comparison_statistics import Column, side_by_side, tables_of
from graphreg.bench.comparison_wording import ranking, remarks
from graphreg.bench.measured_parts import ALL_METHODS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import SYNTHETIC_LID, pair_of
from graphreg.metrics import angular_error
from graphreg.reports.pictures import Image

TITLE = "Low overlap: a lid to its teapot"
PARTS = ALL_METHODS
RUNS, QUICK_RUNS = 10, 1
REAL, SYNTHETIC = "teapot_lid_to_teapot", SYNTHETIC_LID
# The paper's two settings; methods that have neither run once, as they are.
SETTINGS: dict[str, tuple[tuple[str, float], tuple[str, float]]] = {
    "graphreg-paper": (("beta", 0.9), ("beta", 0.95)),
    "pipl": (("beta", 0.9), ("beta", 0.95)),
    "super4pcs": (("overlap", 0.2), ("overlap", 0.5)),
}
PUBLISHED = (
    {
        ROTATION_ERROR: {"super4pcs": 40.4707, "pipl": 50.8282, "graphreg-paper": 0.0004},
        REGISTRATION_TIME: {"super4pcs": 0.6690, "pipl": 0.4460, "graphreg-paper": 0.3210},
    },
    {
        ROTATION_ERROR: {"super4pcs": 40.4646, "pipl": 49.9012, "graphreg-paper": 0.0003},
        REGISTRATION_TIME: {"super4pcs": 1.3258, "pipl": 0.6085, "graphreg-paper": 0.2960},
    },
)
ONE_POSE = "rotation error to the one pose (deg)"


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    """Return the runs, methods interleaved."""
    pair = SYNTHETIC if quick or data is None else REAL
    return [
        Run(pair, method, seed, settings=settings)
        for seed in range(QUICK_RUNS if quick else RUNS)
        for method in methods_of(methods, peers)
        for settings in ([(one,) for one in SETTINGS[method]] if method in SETTINGS else [()])
    ]


def measure(run: Run, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the row of a run, with the error as the paper measures it."""
    pair, attempted, found = outcome_of(run, data)
    yield {**row_of(run, pair, attempted, found), ONE_POSE: angular_error(found, pair.truth)}


def left_out(run: Run, why: str) -> dict[str, Any]:
    """Return the row of a run that was not made."""
    return {**comparison_runs.left_out(run, why), ONE_POSE: None}


def columns(rows: Sequence[Row]) -> dict[str, Column]:
    """Return the groups of runs that the tables compare, by their titles."""
    second = {f"{name} {value}" for _, (name, value) in SETTINGS.values()}
    return {
        "beta 0.90, O 0.20, or neither": Column(lambda row: row["settings"] not in second, "0.90, 0.20", PUBLISHED[0]),
        "beta 0.95, O 0.50": Column(lambda row: row["settings"] in second, "0.95, 0.50", PUBLISHED[1]),
    }


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return the tables by their headings."""
    plain = {title: Column(column.contains) for title, column in columns(rows).items()}
    return {
        **tables_of(rows, columns(rows)),
        "Median rotation error to the one pose, as in the paper (degrees)": side_by_side(rows, plain, ONE_POSE),
    }


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    runs = 1 + max(row["seed"] for row in rows)
    one_pose = [row[ONE_POSE] for row in completed(rows) if row["correct"]]
    lines = [
        f"{rows[0]['pair']}, {runs} trials (the paper: 100); rotation errors up to rotations of the lid about its axis",
        *ranking(rows, columns(rows)),
    ]
    if one_pose:
        lines.append(
            f"to the one pose that the lid was moved from, as in the paper, the {len(one_pose)} correct runs have a "
            f"median rotation error of {np.median(one_pose):.3g} degrees: the points do not determine rotations about "
            "the axis"
        )
    return [*lines, *remarks(rows)]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    """Return rendered scans by the names of their files."""
    return {"teapot": before_and_after(pair_of(REAL if data is not None else SYNTHETIC, data))}
