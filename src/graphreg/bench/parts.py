"""What each part of the published method contributes: masses from the response, charges from the invariants.

Every pair is registered from the pose it was scanned in, with each part and without, by several seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.measured_parts import PAPER_METHOD, SYNTHETIC_SCANS
from graphreg.bench.pairs import entries_of, pair_of, points_of
from graphreg.clouds import Floats
from graphreg.metrics import rmsd
from graphreg.registration import register

TITLE = "The parts of the published method"
PARTS = (*PAPER_METHOD, "engine", *SYNTHETIC_SCANS)
SEEDS, QUICK_SEEDS = 10, 2
MADE = ("made_dragon_30", "made_hare_30", "made_hand_30", "made_casting_30")
QUICK = ("made_hare_30", "made_casting_30")
VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "without masses": {"masses": False},
    "without charges": {"charges": False},
    "without both": {"masses": False, "charges": False},
}


@dataclass(frozen=True)
class Job:
    """One pair, with each part and without, by so many seeds."""

    pair: str
    seeds: int
    points: int | None


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    scanned = [] if data is None else [entry["name"] for entry in entries_of(data)]
    names = QUICK if quick else (*scanned, *MADE)
    return [Job(name, QUICK_SEEDS if quick else SEEDS, points_of(name, quick)) for name in names]


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    pair = pair_of(job.pair, data, job.points)
    for variant, settings in VARIANTS.items():
        results = [
            register(pair.source, pair.target, method="graphreg-paper", seed=seed, **settings)
            for seed in range(job.seeds)
        ]
        motions = [result.transformation for result in results]
        angles = [pair.errors(motion)[0] for motion in motions]
        yield {
            "pair": job.pair,
            "variant": variant,
            "median degrees": float(np.median(angles)),
            "worst degrees": max(angles),
            "under 1 degree": sum(angle < 1 for angle in angles),
            "median rmsd": float(np.median([rmsd(motion, pair.truth_for(motion), pair.source) for motion in motions])),
            "called registered": sum(result.success for result in results),
            "register s": float(np.median([result.timings["register"] for result in results])),
            "degrees": [round(angle, 4) for angle in angles],
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    seeds = len(rows[0]["degrees"])
    lines = [
        f"{seeds} seeds a pair; 100 iterations; error of the rotation, of the lid apart from turns about its axis; "
        "`called registered` is our own verdict"
    ]
    whole = {row["pair"]: row for row in rows if row["variant"] == "as published"}
    for variant in VARIANTS:
        if variant == "as published":
            continue
        mine = {row["pair"]: row for row in rows if row["variant"] == variant}
        # Logarithms, so that a pair with large errors does not speak for all.
        ratios = np.array([np.mean(np.log(mine[name]["degrees"]) - np.log(whole[name]["degrees"])) for name in whole])
        middle, low, high = np.exp(_interval(ratios))
        wins = sum(mine[name]["under 1 degree"] for name in whole), sum(r["under 1 degree"] for r in whole.values())
        lines.append(
            f"{variant}: errors are {middle:.2f} times as large (95 % interval over pairs {low:.2f} to {high:.2f}); "
            f"{wins[0]} of {seeds * len(whole)} runs end under 1 degree, against {wins[1]}"
        )
    return lines


def _interval(values: Floats) -> Floats:
    """Mean, and where 95 % of the means of pairs drawn again lie."""
    draws = np.random.default_rng(0).integers(0, len(values), (10_000, len(values)))
    return np.array([values.mean(), *np.quantile(values[draws].mean(axis=1), [0.025, 0.975])])
