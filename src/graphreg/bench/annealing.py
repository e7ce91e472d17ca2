"""What the cool-down rate costs and brings: adaptive against plain annealing (Sec. III-I and IV, Fig. SA and hand).

ASA is the published method with adaptive annealing, SA the same with plain annealing, PIPL the physics baseline, which
anneals plainly as well. The paper's claims: SA takes longer than ASA for beta from 0.8 to 0.98, and its time grows with
beta where ASA's hardly does; accuracy grows with beta; ASA converges for beta from 0.7 to 0.9, PIPL only from 0.85 on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.files import read
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector, transform
from graphreg.registration import register
from graphreg.reports.charts import charts_side_by_side, line_chart

TITLE = "Annealing: adaptive and plain"
METHODS: dict[str, dict[str, Any]] = {
    "ASA": {"method": "graphreg-paper", "annealing": "adaptive"},
    "SA": {"method": "graphreg-paper", "annealing": "plain"},
    "PIPL": {"method": "pipl"},
}
BETAS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
# Times are compared between these two.
QUICK, SLOW = 0.8, 0.98
SEEDS = (0, 1, 2)
# Name, and degrees between the two views.
MADE = {"hand": 20.0, "dragon": 20.0}
SCANNED = ("bunny_045_to_000", "dragon_24_to_0")
POINTS = 40_000
THREADS = 2
# Made scans start so far off the truth, about an axis along no edge.
TURN = np.radians(20.0) * np.array([1.0, 2.0, 2.0]) / 3
# A registration within so many degrees counts as converged.
CONVERGED = 2.0
# Times that differ by no more than this factor count as equal: the load of the machine alone can do it.
FLAT = 1.25


@dataclass(frozen=True)
class Job:
    """One pair of clouds, one cool-down rate, one seed."""

    cloud: str
    beta: float
    seed: int
    data: Path | None


def jobs(data: Path | None) -> list[Job]:
    clouds = [*MADE, *(SCANNED if data is not None else ())]
    return [Job(cloud, beta, seed, data) for cloud in clouds for seed in SEEDS for beta in BETAS]


def measure(job: Job) -> Iterator[dict[str, Any]]:
    pair = _pair(job.cloud, job.data)
    size = float(np.ptp(pair.target, axis=0).max())
    for name, settings in METHODS.items():
        result = register(
            pair.source, pair.target, init=pair.init, seed=job.seed, threads=THREADS, beta=job.beta, **settings
        )
        yield {
            "cloud": job.cloud,
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
    """Medians over beta, a chart for each cloud: {file name: SVG text}."""
    return {
        "annealing_error.svg": _figure(rows, "degrees", "rotation error (degrees)"),
        "annealing_rmsd.svg": _figure(rows, "rmsd of size", "rmsd (of the target's size)"),
        "annealing_time.svg": _figure(rows, "seconds", "registration stage (s)"),
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


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two clouds, the motion between them, and where to start; None for the scans as they are, centroids aligned."""

    source: Floats
    target: Floats
    truth: Floats
    init: Floats | None


@lru_cache(maxsize=1)
def _pair(name: str, data: Path | None) -> _Pair:
    if data is not None and name in SCANNED:
        known = {entry["name"]: entry for entry in json.loads((data / "pairs.json").read_text(encoding="utf-8"))}
        entry = known[name]
        truth = np.array(entry["T_target_source"])
        return _Pair(read(data / entry["source"]), read(data / entry["target"]), truth, None)
    made = synthetic.pair(name, apart=MADE[name], points=POINTS)
    # Sensors' frames have nothing to do with each other: the truth, turned about the middle of the source, is a start.
    middle = transform(made.T_target_source, made.source).mean(axis=0)
    turn = rotation_from_vector(TURN)
    return _Pair(
        made.source, made.target, made.T_target_source, pose(turn, middle - turn @ middle) @ made.T_target_source
    )
