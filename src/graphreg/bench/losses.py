"""Robust losses under outliers, noise and partial overlap: in ICP, in point-to-plane ICP, and in our refinement.

Two scans of a synthetic body from one viewpoint, so that the ground truth is exact and ICP's basin of attraction holds
the start: 8 degrees and 2 % of the size off. All losses start from the same pose, with the same points. Registered is
a pose with an RMSD below 1 % of the size.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.baselines.icp import IcpSettings, register_icp
from graphreg.baselines.icp_kn import IcpKnSettings, register_icp_kn
from graphreg.bench.comparison_statistics import distinct
from graphreg.bench.initial_poses import diagonal
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.parts import bootstrap_interval
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import add_noise, add_outliers
from graphreg.engine.engine_run import EngineRun
from graphreg.engine.pipeline import register_graphreg
from graphreg.engine.settings import EngineSettings
from graphreg.metrics import rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports.plots import Panel, plot_grid
from graphreg.robust.losses import LOSSES, Loss

TITLE = "Robust losses"
PARTS = (*ALL_METHODS, "engine.similarity_refinement", *SYNTHETIC_SCANS)
SUBJECTS, SEEDS, POINTS = ("hare", "dragon", "casting", "hand"), 2, 2_000
QUICK_SUBJECTS, QUICK_SEEDS, QUICK_POINTS = ("hare",), 1, 800
START_DEGREES, START_SHIFT = 8.0, 0.02
# Largest RMSD of a registered pose, over the size: the diagonal of the source.
REGISTERED = 0.01
ICP, ICP_KN, ENGINE = "icp", "icp-kn", "graphreg"
OWN = "own weights"
# Errors are drawn and compared as no smaller: below it they are rounding and sampling.
SMALLEST_ERROR = 1e-3
# Other scales of one loss, in ICP.
RULES = {
    "tukey, MAD": Loss("tukey", annealed=False),
    "tukey, S": Loss("tukey", scale="s", annealed=False),
    "tukey, annealed S": Loss("tukey", scale="s"),
}


@dataclass(frozen=True)
class Condition:
    """What is done to both scans.

    Attributes
    ----------
    name : str
    family : str
        What is varied.
    level : float
        How much of it.
    outliers : float, default 0
        Share of all points, normally distributed with the sides of the bounding box as standard deviations.
    in_target : bool, default True
        Whether the target has outliers too.
    noise : float, default 0
        Standard deviation, over the sides of the bounding box.
    overlap : float, default 1
        Share of each scan that the other has too.
    """

    name: str
    family: str
    level: float
    outliers: float = 0.0
    in_target: bool = True
    noise: float = 0.0
    overlap: float = 1.0


CONDITIONS = (
    Condition("clean", "clean", 0.0),
    *(Condition(f"{share:.0%} outliers", "outliers", share, outliers=share) for share in (0.2, 0.5, 0.8)),
    *(
        Condition(f"{share:.0%} in the source", "outliers in the source", share, outliers=share, in_target=False)
        for share in (0.5, 0.8)
    ),
    *(Condition(f"noise {noise:.1%}", "noise", noise, noise=noise) for noise in (0.006, 0.014)),
    *(Condition(f"overlap {overlap:.0%}", "overlap", overlap, overlap=overlap) for overlap in (0.8, 0.6, 0.4)),
)
QUICK_CONDITIONS = tuple(one for one in CONDITIONS if one.name in ("clean", "50% outliers"))


@dataclass(frozen=True)
class LossJob:
    """One pair under one condition, by all methods and losses."""

    subject: str
    seed: int
    condition: Condition
    points: int


@dataclass(frozen=True, eq=False)
class Start:
    """Corrupted clouds in one frame, the initial pose, and the points that the error is measured on."""

    source: Floats
    target: Floats
    init: Floats
    clean: Floats


def jobs(data: Path | None, quick: bool = False) -> list[LossJob]:
    """Return the jobs: every subject under every condition."""
    subjects, seeds, points = (QUICK_SUBJECTS, QUICK_SEEDS, QUICK_POINTS) if quick else (SUBJECTS, SEEDS, POINTS)
    return [
        LossJob(subject, seed, condition, points)
        for seed in range(seeds)
        for subject in subjects
        for condition in (QUICK_CONDITIONS if quick else CONDITIONS)
    ]


def measure(job: LossJob, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each method and loss."""
    start = start_of(job)
    size = diagonal(start.clean)
    for method, losses in variants().items():
        for name, loss in losses.items():
            began = time.process_time()
            found = _register(method, loss, start)
            seconds = time.process_time() - began
            error = rmsd(found, np.eye(4), start.clean) / size
            yield {
                "pair": job.subject,
                "seed": job.seed,
                "condition": job.condition.name,
                "family": job.condition.family,
                "level": job.condition.level,
                "method": method,
                "loss": name,
                "error (%)": 100 * error,
                "registered": bool(error < REGISTERED),
                "CPU seconds": seconds,
            }


def variants() -> dict[str, dict[str, Loss | None]]:
    """Return the losses of each method, by their names in the tables."""
    all_losses: dict[str, Loss | None] = {name: Loss(name) for name in LOSSES}
    return {ICP: {**all_losses, **RULES}, ICP_KN: all_losses, ENGINE: {OWN: None, **all_losses}}


def start_of(job: LossJob) -> Start:
    """Return the corrupted clouds of a job, with the identity as the true pose."""
    condition, rng = job.condition, np.random.default_rng([job.seed, *job.subject.encode()])
    source, target = _scans(job.subject, job.seed, job.points)
    direction, axis, shift = (vector / np.linalg.norm(vector) for vector in rng.normal(size=(3, 3)))
    if condition.overlap < 1:
        # Of the union, each scan lacks one end.
        missing = (1 - condition.overlap) / 2
        low, high = np.quantile(source @ direction, [missing, 1 - missing])
        source, target = source[source @ direction <= high], target[target @ direction >= low]
    clean, size = source, diagonal(source)
    if condition.noise:
        source, target = (
            add_noise(cloud, condition.noise, 2 * job.seed + k) for k, cloud in enumerate((source, target))
        )
    if condition.outliers:
        ratio = condition.outliers / (1 - condition.outliers)
        source = add_outliers(source, ratio, seed=2 * job.seed)[0]
        target = add_outliers(target, ratio, seed=2 * job.seed + 1)[0] if condition.in_target else target
    rotation, centre = rotation_from_vector(np.radians(START_DEGREES) * axis), clean.mean(axis=0)
    return Start(source, target, pose(rotation, centre - rotation @ centre + START_SHIFT * size * shift), clean)


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a table for each method, a line for each loss, and one with intervals of the errors of ours."""
    found = {}
    for method in (ICP, ICP_KN, ENGINE):
        lines = []
        for loss in distinct(row["loss"] for row in rows if row["method"] == method):
            line: dict[str, Any] = {"loss": loss}
            for condition in distinct(row["condition"] for row in rows):
                cell = _select(rows, method=method, loss=loss, condition=condition)
                median = float(np.median([row["error (%)"] for row in cell]))
                line[condition] = f"{sum(row['registered'] for row in cell)} of {len(cell)}, {median:.2g} %"
            lines.append(line)
        found[f"{method}: registered, and median error"] = lines
    found["Errors of each loss over those of squares or of our own weights: mean ratio, 95 % interval"] = [
        {
            "method": method,
            "loss": loss,
            **{family: _ratio_text(rows, method, loss, family) for family in distinct(row["family"] for row in rows)},
            "all": _ratio_text(rows, method, loss),
        }
        for method in (ICP, ICP_KN, ENGINE)
        for loss in distinct(row["loss"] for row in rows if row["method"] == method)
        if loss != _reference(method)
    ]
    return found


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    scenes = len({(row["pair"], row["seed"]) for row in rows})
    lines = [
        f"{scenes} pairs of synthetic scans under each condition, from {START_DEGREES:g}° and {START_SHIFT:.0%} of the "
        f"size off the true pose; registered: RMSD below {REGISTERED:.0%} of the size; scales are annealed "
        "unless stated",
        "outliers: share of all points, normally distributed as wide as the scans, in both scans or in the source "
        "alone; overlap: share of each scan that the other has too",
        f"ratios of errors are geometric means over the pairs, errors below {SMALLEST_ERROR:g} % counted as that, with "
        "95 % bootstrap intervals over these",
    ]
    half = [row for row in rows if "50%" in row["condition"]]
    for method in (ICP, ICP_KN):
        counts = {loss: sum(row["registered"] for row in _select(half, method=method, loss=loss)) for loss in LOSSES}
        each = len(_select(half, method=method, loss="l2"))
        lines.append(
            f"{method} with 50 % outliers registers of {each}: "
            + ", ".join(f"{loss} {count}" for loss, count in counts.items())
        )
    for method in (ICP, ICP_KN):
        best = [f"{family}: {_best(rows, method, family)}" for family in distinct(row["family"] for row in rows)]
        lines.append(f"{method}, most pairs registered and then the smallest mean error: " + "; ".join(best))
    better = {loss: _ratio(rows, ENGINE, loss) for loss in LOSSES}
    winners = [loss for loss, (_, _, high) in better.items() if high < 1]
    lines.append(
        f"our refinement: {', '.join(winners)} significantly better than our own weights over all conditions"
        if winners
        else "our refinement: no loss is significantly better than our own weights over all conditions, which it keeps"
    )
    return lines


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return charts by the names of their files."""
    errors = [
        _chart(rows, method, family, label)
        for method in (ICP, ENGINE)
        for family, label in (("outliers", "outliers (%)"), ("overlap", "overlap (%)"), ("noise", "noise (%)"))
        if any(row["family"] == family for row in rows)
    ]
    return {"losses": plot_grid(errors, "losses", columns=max(1, len(errors) // 2))}


def _chart(rows: Sequence[dict[str, Any]], method: str, family: str, label: str) -> Panel:
    """Median errors over the level of a corruption, from the clean scans on."""
    inside = [row for row in rows if row["method"] == method and row["family"] in (family, "clean")]
    series = {}
    for loss in distinct(row["loss"] for row in inside if row["loss"] not in RULES):
        clean = 1.0 if family == "overlap" else 0.0
        at: dict[float, list[float]] = {}
        for row in _select(inside, loss=loss):
            at.setdefault(clean if row["family"] == "clean" else row["level"], []).append(row["error (%)"])
        levels = sorted(at)
        series[loss] = [100 * level for level in levels], [float(np.median(at[level])) for level in levels]
    return Panel(series, f"{method}: {family}", label, "median error (% of the size)", log_y=True, floor=SMALLEST_ERROR)


def _register(method: str, loss: Loss | None, start: Start) -> Floats:
    clouds = start.source, start.target
    if method == ICP:
        return register_icp(*clouds, IcpSettings(voxel=0.0, loss=loss), start.init).transformation
    if method == ICP_KN:
        return register_icp_kn(*clouds, IcpKnSettings(voxel=0.0, loss=loss), start.init).transformation
    return register_graphreg(EngineRun(*clouds, EngineSettings(loss=loss), start.init)).transformation


@lru_cache(maxsize=2)
def _scans(subject: str, seed: int, points: int) -> tuple[Floats, Floats]:
    """Two scans from one viewpoint, in one frame."""
    pair = synthetic.pair(subject, 0.0, points=points, seed=seed)
    return pair.source, transform(inverse(pair.T_target_source), pair.target)


def _reference(method: str) -> str:
    return OWN if method == ENGINE else "l2"


def _ratio(rows: Sequence[dict[str, Any]], method: str, loss: str, family: str | None = None) -> Floats:
    """Mean ratio of errors to those of the reference, and its interval over pairs of scans."""
    of_pair: dict[tuple[str, int], list[float]] = {}
    inside = [row for row in rows if row["method"] == method and family in (None, row["family"])]
    for one, other in zip(_select(inside, loss=loss), _select(inside, loss=_reference(method)), strict=True):
        errors = np.maximum([one["error (%)"], other["error (%)"]], SMALLEST_ERROR)
        of_pair.setdefault((one["pair"], one["seed"]), []).append(float(np.log(errors[0] / errors[1])))
    return np.asarray(np.exp(bootstrap_interval(np.array([np.mean(logs) for logs in of_pair.values()]))))


def _ratio_text(rows: Sequence[dict[str, Any]], method: str, loss: str, family: str | None = None) -> str:
    mean, low, high = _ratio(rows, method, loss, family)
    return f"{mean:.2g} ({low:.2g} to {high:.2g})"


def _best(rows: Sequence[dict[str, Any]], method: str, family: str) -> str:
    inside = [row for row in rows if row["family"] == family]

    def quality(loss: str) -> tuple[int, float]:
        mine = _select(inside, method=method, loss=loss)
        return sum(row["registered"] for row in mine), -float(_ratio(inside, method, loss)[0])

    return max(LOSSES, key=quality)


def _select(rows: Sequence[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]
