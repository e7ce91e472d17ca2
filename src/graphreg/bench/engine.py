"""How often our own method finds the right pose, how exactly and how fast, beside what others offer.

Each pair is registered from several poses that no method is told: as scanned, then random ones. Objects also with
outliers and with noise. Methods take turns on the same points. Peers get a voxel size that suits the pair; ours gets
nothing but the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import comparison
from graphreg.bench.comparison import OURS, Run, made, methods_of
from graphreg.bench.measured_parts import ENGINE, SYNTHETIC_SCANS
from graphreg.bench.pairs import CLEAN, SPOILINGS, chosen, kinds_of, points_of
from graphreg.bench.peers import PEERS, told

TITLE = "Registration from any pose"
PARTS = (*ENGINE, *SYNTHETIC_SCANS)
STARTS, QUICK_STARTS = 8, 2
# Seconds that the runs of a method may take together.
BUDGET = 400.0
QUICK_PAIRS = "made_hare_30,made_room_40"

measure = comparison.measure
left_out = comparison.left_out


def jobs(
    data: Path | None,
    quick: bool = False,
    starts: int | None = None,
    pairs: str | None = None,
    methods: str | None = None,
    peers: bool = True,
) -> list[Run]:
    names = [name for name in methods_of(methods, peers) if methods or name in (OURS, *PEERS)]
    kinds = chosen(kinds_of(data), pairs or (QUICK_PAIRS if quick else "*"))
    return [
        Run(pair, name, spoiling=spoiling, points=points_of(pair, quick), start=start)
        for start in range(starts or (QUICK_STARTS if quick else STARTS))
        for pair, kind in kinds.items()
        for spoiling in (CLEAN, *(SPOILINGS if kind == "object" else ()))
        for name in names
    ]


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A line for each way of spoiling, kind of pair and method."""
    lines = []
    ran = made(rows)
    for spoilt in dict.fromkeys(row["spoilt"] for row in ran):
        alike = [row for row in ran if row["spoilt"] == spoilt]
        kinds = list(dict.fromkeys(row["kind"] for row in alike))
        for kind in (*kinds, "all") if len(kinds) > 1 else kinds:
            for method in dict.fromkeys(row["method"] for row in alike):
                mine = [row for row in alike if row["method"] == method and kind in (row["kind"], "all")]
                if mine:
                    lines.append({"spoilt": spoilt, "kind": kind, "method": method, **_told(mine)})
    return {"": lines}


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    pairs = len({row["pair"] for row in rows})
    starts = 1 + max(row["start"] for row in rows)
    lines = [
        f"{pairs} pairs, {starts} starts each: the first as scanned, then any turn (outdoors any heading and up to 10 "
        "degrees of tilt) and a shift of up to a diameter (outdoors a tenth)",
        "right: as near to the truth as the pair asks for, 2 degrees and 1 % of the target's diagonal for objects; "
        "median degrees and rmsd (over what is allowed) are of the right ones; seconds: the whole call, all cores",
        "pairs: those that are right from every start; runs on a pair share its points, and are no independent trials",
        *told(PEERS, {row["method"] for row in rows}),
    ]
    for line in tables(rows)[""]:
        if line["method"] == OURS and (line["kind"] == "all" or line["spoilt"] != CLEAN.name):
            lines.append(
                f"{line['spoilt']}: {line['right']} right, {line['pairs']} pairs from every start, median "
                f"{line['median degrees']:.3f} degrees, {line['median s']:.2f} s, at most {line['worst s']:.2f} s"
            )
    missed: dict[str, int] = {}
    for row in made(rows):
        if row["method"] == OURS and not row["right"]:
            name = f"{row['pair']} ({row['spoilt']})"
            missed[name] = missed.get(name, 0) + 1
    lines.append("ours was wrong on: " + (", ".join(f"{name} {n}x" for name, n in missed.items()) or "none"))
    return lines


def _told(rows: Sequence[comparison.Row]) -> dict[str, Any]:
    right = [row for row in rows if row["right"]]
    seconds = [row["seconds"] for row in rows]
    pairs, failed = {row["pair"] for row in rows}, {row["pair"] for row in rows if not row["right"]}
    return {
        "right": f"{len(right)} of {len(rows)}",
        "pairs": f"{len(pairs - failed)} of {len(pairs)}",
        "median degrees": float(np.median([row["degrees"] for row in right] or [np.nan])),
        "median rmsd": float(np.median([row["rmsd of tolerance"] for row in right] or [np.nan])),
        "median s": float(np.median(seconds)),
        "worst s": max(seconds),
    }
