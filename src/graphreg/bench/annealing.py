"""What the cool-down rate costs: adaptive against plain annealing (Sec. III-I and IV, Fig. SA).

ASA is the published method with adaptive annealing, SA the same with plain annealing. The paper's claim: SA takes
longer than ASA for beta from 0.8 to 0.98, and its time grows with beta where ASA's hardly does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.measured_parts import PAPER_METHOD, SYNTHETIC_SCANS
from graphreg.bench.pairs import pair_of, points_of
from graphreg.metrics import angular_error, rmsd
from graphreg.registration import register
from graphreg.reports.charts import charts_side_by_side, line_chart

TITLE = "Annealing: adaptive and plain"
PARTS = (*PAPER_METHOD, *SYNTHETIC_SCANS)
METHODS: dict[str, dict[str, Any]] = {
    "ASA": {"method": "graphreg-paper", "annealing": "adaptive"},
    "SA": {"method": "graphreg-paper", "annealing": "plain"},
}
BETAS = (0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98)
# Times are compared between these two.
QUICK, SLOW = 0.8, 0.98
SEEDS = (0, 1, 2)
MADE = ("made_hand_30", "made_dragon_30")
SCANNED = ("bunny_045_to_000", "dragon_24_to_0")
QUICK_PAIRS, QUICK_BETAS = ("made_hand_30",), (0.8, 0.9, 0.98)
# A registration within so many degrees counts as converged.
CONVERGED = 2.0
# Times that differ by no more than this factor count as equal: the load of the machine alone can do it.
FLAT = 1.25


@dataclass(frozen=True)
class Job:
    """One pair of scans, one cool-down rate, one seed."""

    pair: str
    beta: float
    seed: int
    points: int | None


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    pairs = QUICK_PAIRS if quick else (*MADE, *(SCANNED if data is not None else ()))
    seeds, betas = (SEEDS[:1], QUICK_BETAS) if quick else (SEEDS, BETAS)
    return [Job(pair, beta, seed, points_of(pair, quick)) for pair in pairs for seed in seeds for beta in betas]


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    pair = pair_of(job.pair, data, job.points)
    size = float(np.ptp(pair.target, axis=0).max())
    for name, settings in METHODS.items():
        result = register(pair.source, pair.target, seed=job.seed, beta=job.beta, **settings)
        yield {
            "cloud": job.pair,
            "method": name,
            "beta": job.beta,
            "seed": job.seed,
            "degrees": angular_error(result.transformation, pair.truth),
            "rmsd of size": rmsd(result.transformation, pair.truth, pair.source) / size,
            "seconds": result.timings["register"],
            "iterations": len(result.history),
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    clouds, betas = _in_order(rows, "cloud"), _in_order(rows, "beta")
    lines = [
        "degrees: angle to the true rotation; rmsd of size: distance to where the points belong, by the longest side "
        "of the target; seconds: the registration stage alone; below, medians over the seeds"
    ]
    growth = {}
    for name in METHODS:
        ratios = [
            _median(rows, "seconds", cloud, name, SLOW) / _median(rows, "seconds", cloud, name, QUICK)
            for cloud in clouds
        ]
        growth[name] = float(np.median(ratios))
        lines.append(
            f"{name}: at beta {SLOW} it takes {growth[name]:.2f} times as long as at {QUICK} "
            f"({min(ratios):.2f} to {max(ratios):.2f} on the clouds)"
        )
    flat = "stays flat" if growth["ASA"] <= FLAT else "does not stay flat"
    grows = "grows" if growth["SA"] > FLAT else "does not grow"
    quicker = [
        beta
        for beta in betas
        if all(_median(rows, "seconds", c, "ASA", beta) < _median(rows, "seconds", c, "SA", beta) for c in clouds)
    ]
    lines.append(
        f"from beta {QUICK} to {SLOW}, ASA's time {flat}, SA's {grows}; "
        f"ASA is the faster of the two on every cloud at beta: {_listed(quicker, betas)}"
    )
    for cloud in clouds:
        told = []
        for name in METHODS:
            errors = {beta: _median(rows, "degrees", cloud, name, beta) for beta in betas}
            good = [beta for beta in betas if errors[beta] <= CONVERGED]
            best = min(errors, key=errors.__getitem__)
            told.append(
                f"{name} {_listed(good, betas)} (best {errors[best]:.2f} at {best:g}; "
                f"{errors[QUICK]:.2f} at {QUICK}, {errors[SLOW]:.2f} at {SLOW})"
            )
        lines.append(f"{cloud}, within {CONVERGED:g} degrees at beta: " + "; ".join(told))
    return lines


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Medians over beta, a chart for each cloud: {name: SVG text}."""
    return {
        "annealing_error": _figure(rows, "degrees", "rotation error (degrees)"),
        "annealing_rmsd": _figure(rows, "rmsd of size", "rmsd (of the target's size)"),
        "annealing_time": _figure(rows, "seconds", "registration stage (s)"),
    }


def _figure(rows: Sequence[dict[str, Any]], column: str, label: str) -> str:
    betas = _in_order(rows, "beta")
    charts = []
    for cloud in _in_order(rows, "cloud"):
        series = {name: (betas, [_median(rows, column, cloud, name, beta) for beta in betas]) for name in METHODS}
        charts.append(line_chart(series, cloud, "cool-down rate beta", label, log_y=True))
    return charts_side_by_side(charts, columns=2)


def _median(rows: Sequence[dict[str, Any]], column: str, cloud: str, name: str, beta: float) -> float:
    mine = (row for row in rows if (row["cloud"], row["method"], row["beta"]) == (cloud, name, beta))
    return float(np.median([row[column] for row in mine]))


def _in_order(rows: Sequence[dict[str, Any]], column: str) -> list[Any]:
    return list(dict.fromkeys(row[column] for row in rows))


def _listed(good: Sequence[float], betas: Sequence[float]) -> str:
    """The rates as runs: neighbours among those measured are joined."""
    runs: list[list[float]] = []
    for beta in good:
        if runs and betas.index(beta) == betas.index(runs[-1][-1]) + 1:
            runs[-1].append(beta)
        else:
            runs.append([beta])
    return " and ".join(f"{r[0]:g} to {r[-1]:g}" if len(r) > 1 else f"{r[0]:g}" for r in runs) or "none"
