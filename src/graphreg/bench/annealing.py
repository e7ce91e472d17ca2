"""Adaptive against plain annealing over the cool-down rate (Sec. III-I and IV, Fig. SA).

ASA is the published method with adaptive annealing, SA the same with plain annealing. The paper's claim: SA takes
longer than ASA for beta from 0.8 to 0.98, and its time grows with beta while ASA's hardly does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.comparison_runs import ROTATION_ERROR
from graphreg.bench.comparison_statistics import distinct
from graphreg.bench.measured_parts import PAPER_METHOD, SYNTHETIC_SCANS
from graphreg.bench.pairs import pair_of, points_of
from graphreg.metrics import angular_error, rmsd
from graphreg.registration import register
from graphreg.reports.plots import Panel, plot_grid

TITLE = "Adaptive and plain annealing"
PARTS = (*PAPER_METHOD, *SYNTHETIC_SCANS)
METHODS: dict[str, dict[str, Any]] = {
    "ASA": {"method": "graphreg-paper", "annealing": "adaptive"},
    "SA": {"method": "graphreg-paper", "annealing": "plain"},
}
BETAS = (0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98)
# Times are compared between these two rates.
FAST, SLOW = 0.8, 0.98
SEEDS = (0, 1, 2)
SYNTHETIC = ("synthetic_hand_30", "synthetic_dragon_30")
REAL = ("bunny_045_to_000", "dragon_24_to_0")
QUICK_PAIRS, QUICK_BETAS = ("synthetic_hand_30",), (0.8, 0.9, 0.98)
# Largest rotation error of a converged registration, in degrees.
CONVERGED = 2.0
# Times that differ by no more than this factor count as equal: the load of the machine alone can cause it.
SAME_TIME = 1.25
RELATIVE_RMSD = "rmsd / size"


@dataclass(frozen=True)
class Job:
    """One pair of scans, one cool-down rate, one seed."""

    pair: str
    beta: float
    seed: int
    points: int | None


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    """Return the jobs."""
    pairs = QUICK_PAIRS if quick else (*SYNTHETIC, *(REAL if data is not None else ()))
    seeds, betas = (SEEDS[:1], QUICK_BETAS) if quick else (SEEDS, BETAS)
    return [Job(pair, beta, seed, points_of(pair, quick)) for pair in pairs for seed in seeds for beta in betas]


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each kind of annealing."""
    pair = pair_of(job.pair, data, job.points)
    size = float(np.ptp(pair.target, axis=0).max())
    for name, settings in METHODS.items():
        result = register(pair.source, pair.target, seed=job.seed, beta=job.beta, **settings)
        yield {
            "pair": job.pair,
            "method": name,
            "beta": job.beta,
            "seed": job.seed,
            ROTATION_ERROR: angular_error(result.transformation, pair.truth),
            RELATIVE_RMSD: rmsd(result.transformation, pair.truth, pair.source) / size,
            "seconds": result.timings["register"],
            "iterations": len(result.history),
        }


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return medians over the seeds, a table for each pair."""
    fields = (ROTATION_ERROR, RELATIVE_RMSD, "seconds", "iterations")
    return {
        pair: [
            {
                "beta": beta,
                **{f"{name}: {field}": _median(rows, field, pair, name, beta) for field in fields for name in METHODS},
            }
            for beta in distinct(row["beta"] for row in rows)
        ]
        for pair in distinct(row["pair"] for row in rows)
    }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    pairs, betas = distinct(row["pair"] for row in rows), distinct(row["beta"] for row in rows)
    lines = [
        "rmsd / size: RMSD over the longest side of the target; seconds: the registration stage alone; medians over "
        f"{len(distinct(row['seed'] for row in rows))} seeds"
    ]
    growth = {}
    for name in METHODS:
        ratios = [
            _median(rows, "seconds", pair, name, SLOW) / _median(rows, "seconds", pair, name, FAST) for pair in pairs
        ]
        growth[name] = float(np.median(ratios))
        lines.append(
            f"{name}: at beta {SLOW} it takes {growth[name]:.2f} times as long as at {FAST} "
            f"({min(ratios):.2f} to {max(ratios):.2f} over the pairs)"
        )
    adaptive = "does not grow" if growth["ASA"] <= SAME_TIME else "grows"
    plain = "grows" if growth["SA"] > SAME_TIME else "does not grow"
    faster = [
        beta
        for beta in betas
        if all(_median(rows, "seconds", p, "ASA", beta) < _median(rows, "seconds", p, "SA", beta) for p in pairs)
    ]
    lines.append(
        f"from beta {FAST} to {SLOW}, the time of ASA {adaptive}, that of SA {plain}; "
        f"ASA is faster on every pair at beta: {_ranges(faster, betas)}"
    )
    for pair in pairs:
        statements = []
        for name in METHODS:
            errors = {beta: _median(rows, ROTATION_ERROR, pair, name, beta) for beta in betas}
            good = [beta for beta in betas if errors[beta] <= CONVERGED]
            best = min(errors, key=errors.__getitem__)
            statements.append(
                f"{name} {_ranges(good, betas)} (best {errors[best]:.2f} at {best:g}; "
                f"{errors[FAST]:.2f} at {FAST}, {errors[SLOW]:.2f} at {SLOW})"
            )
        lines.append(f"{pair}, rotation error within {CONVERGED:g} degrees at beta: " + "; ".join(statements))
    return lines


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return charts (SVG) of medians over beta, one for each pair."""
    return {
        "annealing_error": _figure(rows, "annealing_error", "Error", ROTATION_ERROR, "rotation error (degrees)"),
        "annealing_rmsd": _figure(rows, "annealing_rmsd", "RMSD", RELATIVE_RMSD, "rmsd (of the target's size)"),
        "annealing_time": _figure(rows, "annealing_time", "Time", "seconds", "registration stage (s)"),
    }


def _figure(rows: Sequence[dict[str, Any]], name: str, title: str, field: str, label: str) -> str:
    betas = distinct(row["beta"] for row in rows)
    charts = []
    for pair in distinct(row["pair"] for row in rows):
        series = {kind: (betas, [_median(rows, field, pair, kind, beta) for beta in betas]) for kind in METHODS}
        charts.append(Panel(series, f"{title}: {pair}", "cool-down rate beta", label, log_y=True))
    return plot_grid(charts, name, columns=2)


def _median(rows: Sequence[dict[str, Any]], field: str, pair: str, name: str, beta: float) -> float:
    mine = (row for row in rows if (row["pair"], row["method"], row["beta"]) == (pair, name, beta))
    return float(np.median([row[field] for row in mine]))


def _ranges(good: Sequence[float], betas: Sequence[float]) -> str:
    """Rates as ranges of neighbours among those measured."""
    ranges: list[list[float]] = []
    for beta in good:
        if ranges and betas.index(beta) == betas.index(ranges[-1][-1]) + 1:
            ranges[-1].append(beta)
        else:
            ranges.append([beta])
    return " and ".join(f"{r[0]:g} to {r[-1]:g}" if len(r) > 1 else f"{r[0]:g}" for r in ranges) or "none"
