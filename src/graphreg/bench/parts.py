"""Ablation of the published method: masses from the response, charges from the invariants.

Every pair is registered from the pose as scanned, with each part and without, by several seeds.
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

TITLE = "Ablation of the published method"
# The verdict is the engine's.
PARTS = (*PAPER_METHOD, "engine", *SYNTHETIC_SCANS)
SEEDS, QUICK_SEEDS = 10, 2
SYNTHETIC = ("synthetic_dragon_30", "synthetic_hare_30", "synthetic_hand_30", "synthetic_casting_30")
QUICK = ("synthetic_hare_30", "synthetic_casting_30")
WHOLE = "as published"
VARIANTS: dict[str, dict[str, Any]] = {
    WHOLE: {},
    "without masses": {"masses": False},
    "without charges": {"charges": False},
    "without both": {"masses": False, "charges": False},
}
RESAMPLES = 10_000


@dataclass(frozen=True)
class Job:
    """One pair, with each part and without, by several seeds."""

    pair: str
    seeds: int
    points: int | None


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    """Return the jobs: all pairs of pairs.json, then synthetic ones."""
    real = [] if data is None else [entry["name"] for entry in entries_of(data)]
    names = QUICK if quick else (*real, *SYNTHETIC)
    return [Job(name, QUICK_SEEDS if quick else SEEDS, points_of(name, quick)) for name in names]


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each variant of the method."""
    pair = pair_of(job.pair, data, job.points)
    for variant, settings in VARIANTS.items():
        results = [
            register(pair.source, pair.target, method="graphreg-paper", seed=seed, **settings)
            for seed in range(job.seeds)
        ]
        errors = [pair.errors(result.transformation) for result in results]
        degrees = [error[0] for error in errors]
        correct = [pair.is_correct(*error) for error in errors]
        distances = [
            rmsd(result.transformation, pair.nearest_truth(result.transformation), pair.source) for result in results
        ]
        yield {
            "pair": job.pair,
            "variant": variant,
            "median rotation error (deg)": float(np.median(degrees)),
            "max (deg)": max(degrees),
            "under 1 degree": sum(angle < 1 for angle in degrees),
            "median rmsd": float(np.median(distances)),
            "correct": sum(correct),
            "reported as registered": sum(result.success for result in results),
            "of these not correct": sum(r.success and not right for r, right in zip(results, correct, strict=True)),
            "registration (s)": float(np.median([result.timings["register"] for result in results])),
            "rotation errors (deg)": [round(angle, 4) for angle in degrees],
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    seeds = len(rows[0]["rotation errors (deg)"])
    false = sum(row["of these not correct"] for row in rows)
    lines = [
        f"{seeds} seeds for each pair; 100 iterations; rotation errors of the lid are up to rotations about its axis",
        "correct: within the tolerance of the pair; reported as registered: result.success, the verdict on the result; "
        f"of {seeds * len(rows)} runs, {false} are reported as registered although not correct",
    ]
    whole = {row["pair"]: row for row in rows if row["variant"] == WHOLE}
    for variant in VARIANTS:
        if variant == WHOLE:
            continue
        mine = {row["pair"]: row for row in rows if row["variant"] == variant}
        # Logarithms, so that pairs with large errors do not dominate.
        ratios = np.array(
            [
                np.mean(np.log(mine[name]["rotation errors (deg)"]) - np.log(row["rotation errors (deg)"]))
                for name, row in whole.items()
            ]
        )
        mean, low, high = np.exp(bootstrap_interval(ratios))
        small = [sum(row["under 1 degree"] for row in some.values()) for some in (mine, whole)]
        lines.append(
            f"{variant}: errors are {mean:.2f} times as large (95 % bootstrap interval over pairs {low:.2f} to "
            f"{high:.2f}); {small[0]} of {seeds * len(whole)} runs end under 1 degree, as published {small[1]}"
        )
    return lines


def bootstrap_interval(values: Floats) -> Floats:
    """Return the mean, and its 95 % bootstrap interval."""
    samples = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    return np.array([values.mean(), *np.quantile(values[samples].mean(axis=1), [0.025, 0.975])])
