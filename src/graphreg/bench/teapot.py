"""A lid to its pot, most of which is no part of it: what the invariants are good for (the paper's Table III).

The lid is a body of revolution: turned about its axis it lies on the pot as well as before. Errors are therefore told
up to such turns, and once more as the paper counts, against the one pose that the lid was moved from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import comparison
from graphreg.bench.comparison import (
    Column,
    Row,
    Run,
    methods_of,
    outcome_of,
    remarks,
    row_of,
    side_by_side,
    standing,
    tables_of,
)
from graphreg.bench.measured_parts import ALL_METHODS
from graphreg.bench.pair_pictures import before_and_after
from graphreg.bench.pairs import pair_of
from graphreg.metrics import angular_error
from graphreg.reports.pictures import Image

TITLE = "A lid to its pot"
PARTS = ALL_METHODS
RUNS, QUICK_RUNS = 10, 1
SCANNED, MADE = "teapot_lid_to_teapot", "made_lid"
# The paper's two settings; methods that have neither run once, as they are.
SETTINGS: dict[str, tuple[tuple[str, float], tuple[str, float]]] = {
    "graphreg-paper": (("beta", 0.9), ("beta", 0.95)),
    "pipl": (("beta", 0.9), ("beta", 0.95)),
    "super4pcs": (("overlap", 0.2), ("overlap", 0.5)),
}
PUBLISHED = (
    {
        "degrees": {"super4pcs": 40.4707, "pipl": 50.8282, "graphreg-paper": 0.0004},
        "register s": {"super4pcs": 0.6690, "pipl": 0.4460, "graphreg-paper": 0.3210},
    },
    {
        "degrees": {"super4pcs": 40.4646, "pipl": 49.9012, "graphreg-paper": 0.0003},
        "register s": {"super4pcs": 1.3258, "pipl": 0.6085, "graphreg-paper": 0.2960},
    },
)
COUNTED = "degrees as the paper counts"


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Run]:
    pair = MADE if quick or data is None else SCANNED
    return [
        Run(pair, method, seed, settings=settings)
        for seed in range(QUICK_RUNS if quick else RUNS)
        for method in methods_of(methods, peers)
        for settings in ([(one,) for one in SETTINGS[method]] if method in SETTINGS else [()])
    ]


def measure(run: Run, data: Path | None) -> Iterator[dict[str, Any]]:
    pair, tried, found = outcome_of(run, data)
    yield {**row_of(run, pair, tried, found), COUNTED: angular_error(found, pair.truth)}


def left_out(run: Run, why: str) -> dict[str, Any]:
    return {**comparison.left_out(run, why), COUNTED: None}


def columns(rows: Sequence[Row]) -> dict[str, Column]:
    second = {f"{name} {value}" for _, (name, value) in SETTINGS.values()}
    return {
        "beta 0.90, O 0.20, or neither": Column(lambda row: row["settings"] not in second, "0.90, 0.20", PUBLISHED[0]),
        "beta 0.95, O 0.50": Column(lambda row: row["settings"] in second, "0.95, 0.50", PUBLISHED[1]),
    }


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    plain = {title: Column(column.of) for title, column in columns(rows).items()}
    return {
        **tables_of(rows, columns(rows)),
        "Degrees as the paper counts, medians": side_by_side(rows, plain, COUNTED),
    }


def summary(rows: Sequence[Row]) -> list[str]:
    runs = 1 + max(row["seed"] for row in rows)
    turned = [row[COUNTED] for row in comparison.made(rows) if row["right"]]
    lines = [
        f"{rows[0]['pair']}, {runs} trials (the paper: 100); degrees up to turns of the lid about its axis",
        *standing(rows, columns(rows)),
    ]
    if turned:
        lines.append(
            f"as the paper counts, turns about the axis included, the same {len(turned)} runs that are right are "
            f"{np.median(turned):.3g} degrees off in the median: nothing in the points tells these turns apart"
        )
    return [*lines, *remarks(rows)]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    return {"teapot": before_and_after(pair_of(SCANNED if data is not None else MADE, data))}
