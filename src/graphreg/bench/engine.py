"""Our method from any initial pose: recall, accuracy and time, beside other libraries.

Each pair is registered from several initial poses: as scanned, then random ones; objects also with outliers and with
noise. Methods alternate on the same points. Other libraries get a voxel size that suits the pair; ours gets nothing but
the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import comparison_runs
from graphreg.bench.comparison_runs import OURS, ROTATION_ERROR, Row, Run, completed, methods_of
from graphreg.bench.corruption import CLEAN, CORRUPTIONS
from graphreg.bench.measured_parts import ENGINE, SYNTHETIC_SCANS
from graphreg.bench.pairs import kinds_of, points_of, select
from graphreg.bench.peers import PEERS, describe_peers
from graphreg.reports.plots import Panel, plot_grid

TITLE = "Registration from any initial pose"
PARTS = (*ENGINE, *SYNTHETIC_SCANS)
STARTS, QUICK_STARTS = 8, 2
# Seconds that the runs of a method may take together.
BUDGET = 400.0
QUICK_PAIRS = "synthetic_hare_30,synthetic_room_40"

measure, left_out = comparison_runs.measure, comparison_runs.left_out


def jobs(
    data: Path | None,
    quick: bool = False,
    starts: int | None = None,
    pairs: str | None = None,
    methods: str | None = None,
    peers: bool = True,
) -> list[Run]:
    """Return the runs, methods interleaved."""
    names = [name for name in methods_of(methods, peers) if methods or name in (OURS, *PEERS)]
    kinds = select(kinds_of(data), pairs or (QUICK_PAIRS if quick else "*"))
    return [
        Run(pair, name, corruption=corruption, points=points_of(pair, quick), initial_pose=start)
        for start in range(starts or (QUICK_STARTS if quick else STARTS))
        for pair, kind in kinds.items()
        for corruption in (CLEAN, *(CORRUPTIONS if kind == "object" else ()))
        for name in names
    ]


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a table with a line for each corruption, kind of pair and method."""
    lines = []
    ran = completed(rows)
    for corruption in dict.fromkeys(row["corruption"] for row in ran):
        corrupted = [row for row in ran if row["corruption"] == corruption]
        kinds = list(dict.fromkeys(row["kind"] for row in corrupted))
        for kind in (*kinds, "all") if len(kinds) > 1 else kinds:
            for method in dict.fromkeys(row["method"] for row in corrupted):
                mine = [row for row in corrupted if row["method"] == method and kind in (row["kind"], "all")]
                if mine:
                    lines.append({"corruption": corruption, "kind": kind, "method": method, **_statistics(mine)})
    return {"": lines}


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    pairs = len({row["pair"] for row in rows})
    starts = 1 + max(row["initial pose"] for row in rows)
    lines = [
        f"{pairs} pairs, {starts} initial poses each: as scanned, then any rotation (outdoors any heading and up to 10 "
        "degrees of tilt) and a translation of up to a diameter (outdoors a tenth)",
        "correct: within the tolerance of the pair, 2 degrees and an RMSD of 1 % of the target's diagonal for objects; "
        "medians of rotation error and RMSD are over the correct runs; times: the whole call, all cores",
        "pairs: correct from every initial pose; runs on a pair share its points, and are not independent",
        *describe_peers(PEERS, {row["method"] for row in rows}),
    ]
    for line in tables(rows)[""]:
        if line["method"] == OURS and (line["kind"] == "all" or line["corruption"] != CLEAN.name):
            lines.append(
                f"{line['corruption']}: {line['correct']} correct, {line['pairs']} pairs from every initial pose, "
                f"median {line[f'median {ROTATION_ERROR}']:.3f} degrees and {line['median (s)']:.2f} s, at most "
                f"{line['max (s)']:.2f} s"
            )
    missed: dict[str, int] = {}
    for row in completed(rows):
        if row["method"] == OURS and not row["correct"]:
            name = f"{row['pair']} ({row['corruption']})"
            missed[name] = missed.get(name, 0) + 1
    lines.append(f"{OURS} is not correct on: " + (", ".join(f"{name} {n}x" for name, n in missed.items()) or "none"))
    return lines


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return a chart (SVG): what is correct under each corruption, and errors and times on the scans as they are."""
    ran = completed(rows)
    methods = list(dict.fromkeys(row["method"] for row in ran))
    panels = []
    for corruption in dict.fromkeys(row["corruption"] for row in ran):
        shares = {}
        for method in methods:
            mine = [row["correct"] for row in ran if (row["corruption"], row["method"]) == (corruption, method)]
            if mine:
                shares[method] = [0], [100 * float(np.mean(mine))]
        title = "as scanned" if corruption == CLEAN.name else corruption
        panels.append(Panel(shares, f"Correct: {title}", "% of the runs", "", bars=True))
    medians = {line["method"]: line for line in tables(rows)[""] if line["corruption"] == CLEAN.name}
    for column, title, label in (
        (f"median {ROTATION_ERROR}", "Error of the correct, as scanned", "median rotation error (degrees)"),
        ("median (s)", "Time, as scanned", "median of the whole call (s)"),
    ):
        bars = {method: ([0], [figure[column]]) for method, figure in medians.items() if figure[column] > 0}
        panels.append(Panel(bars, title, label, "", bars=True))
    return {"engine": plot_grid(panels, "engine", columns=2)}


def _statistics(rows: Sequence[Row]) -> dict[str, Any]:
    correct = [row for row in rows if row["correct"]]
    seconds = [row["seconds"] for row in rows]
    pairs, failed = {row["pair"] for row in rows}, {row["pair"] for row in rows if not row["correct"]}
    return {
        "correct": f"{len(correct)} of {len(rows)}",
        "pairs": f"{len(pairs - failed)} of {len(pairs)}",
        f"median {ROTATION_ERROR}": float(np.median([row[ROTATION_ERROR] for row in correct] or [np.nan])),
        "median rmsd / tolerance": float(np.median([row["rmsd / tolerance"] for row in correct] or [np.nan])),
        "median (s)": float(np.median(seconds)),
        "max (s)": max(seconds),
    }
