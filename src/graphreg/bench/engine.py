"""How often our own method finds the right pose, how exactly and how fast, beside what others offer.

Each pair is registered from several poses that no method is told: as scanned, then random ones. Objects also with
outliers and with noise. Methods take turns on the same points. Peers get a voxel size that suits the pair; ours gets
nothing but the points.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.pairs import CLEAN, SPOILINGS, Pair, Spoiling, chosen, kinds_of, pair_of, starts_of
from graphreg.bench.peers import CHAINS, installed, told
from graphreg.clouds import Floats
from graphreg.poses import transform
from graphreg.registration import register

TITLE = "Registration from any pose"
STARTS = 8
OURS = "graphreg"


@dataclass(frozen=True)
class Job:
    """One pair, spoilt in one way, from all its starts."""

    pair: str
    spoiling: Spoiling
    starts: int
    peers: bool
    data: Path | None


def jobs(data: Path | None, starts: int = STARTS, pairs: str = "*", peers: bool = True) -> list[Job]:
    return [
        Job(name, spoiling, starts, peers, data)
        for name, kind in chosen(kinds_of(data), pairs).items()
        for spoiling in (CLEAN, *(SPOILINGS if kind == "object" else ()))
    ]


def measure(job: Job) -> Iterator[dict[str, Any]]:
    pair = pair_of(job.pair, job.data)
    source, target = job.spoiling.of(pair.source, 0), job.spoiling.of(pair.target, 1)
    methods: dict[str, Callable[[Floats, Floats], Any]] = {OURS: lambda x, y: register(x, y).transformation}
    if job.peers:
        methods |= {name: _of(peer.run, pair) for name, peer in installed(CHAINS).items()}
    for number, start in enumerate(starts_of(pair.name, pair.kind, pair.source, job.starts)):
        moved = transform(start, source)
        for name, run in methods.items():
            began = time.perf_counter()
            problem = ""
            try:
                found = np.asarray(run(moved.copy(), target.copy()), np.float64)
                if not np.isfinite(found).all():
                    raise ArithmeticError("the pose is not finite")
            except Exception as failure:  # what ends in an error has failed, and counts
                found, problem = np.eye(4), f"{type(failure).__name__}: {failure}"
            seconds = time.perf_counter() - began
            degrees, distance = pair.errors(found @ start)
            yield {
                "pair": pair.name,
                "kind": pair.kind,
                "spoilt": job.spoiling.name,
                "start": number,
                "method": name,
                "right": not problem and pair.is_right(degrees, distance),
                "degrees": degrees,
                "rmsd of tolerance": distance,
                "seconds": seconds,
                "problem": problem,
            }


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each way of spoiling, kind of pair and method."""
    lines = []
    for spoilt in dict.fromkeys(row["spoilt"] for row in rows):
        alike = [row for row in rows if row["spoilt"] == spoilt]
        kinds = list(dict.fromkeys(row["kind"] for row in alike))
        for kind in (*kinds, "all") if len(kinds) > 1 else kinds:
            for method in dict.fromkeys(row["method"] for row in alike):
                mine = [row for row in alike if row["method"] == method and kind in (row["kind"], "all")]
                if mine:
                    lines.append({"spoilt": spoilt, "kind": kind, "method": method, **_told(mine)})
    return lines


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    pairs = len({row["pair"] for row in rows})
    starts = 1 + max(row["start"] for row in rows)
    lines = [
        f"{pairs} pairs, {starts} starts each: the first as scanned, then any turn (outdoors any heading and up to 10 "
        "degrees of tilt) and a shift of up to a diameter (outdoors a tenth)",
        "right: as near to the truth as the pair asks for, 2 degrees and 1 % of the target's diagonal for objects; "
        "median degrees and rmsd (over what is allowed) are of the right ones; seconds: the whole call, all cores",
        "pairs: those that are right from every start; runs on a pair share its points, and are no independent trials",
        *told(CHAINS, {row["method"] for row in rows}),
    ]
    for line in table(rows):
        if line["method"] == OURS and (line["kind"] == "all" or line["spoilt"] != CLEAN.name):
            lines.append(
                f"{line['spoilt']}: {line['right']} right, {line['pairs']} pairs from every start, median "
                f"{line['median degrees']:.3f} degrees, {line['median s']:.2f} s, at most {line['worst s']:.2f} s"
            )
    missed: dict[str, int] = {}
    for row in rows:
        if row["method"] == OURS and not row["right"]:
            name = f"{row['pair']} ({row['spoilt']})"
            missed[name] = missed.get(name, 0) + 1
    lines.append("ours was wrong on: " + (", ".join(f"{name} {n}x" for name, n in missed.items()) or "none"))
    return lines


def _of(run: Callable[..., Any], pair: Pair) -> Callable[[Floats, Floats], Any]:
    return lambda source, target: run(source, target, pair.voxel, pair.kind)


def _told(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
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
