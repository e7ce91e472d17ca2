"""Outlier removal by the X84 rule: recall, precision, and errors of registrations (Sec. III-C and IV, Fig. X84).

Clouds are corrupted with outliers as in the paper: Gaussian, as wide as the bounding box along each axis, or uniform in
the bounding box; ratio: outliers for each inlier. The paper's claim: with Gaussian outliers, alpha = 5.2 works up to a
ratio of 50 %, alpha = 8.0 up to 30 %; with uniform ones both work. The paper shows errors of registrations; here recall
and precision on single clouds are measured as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.measured_parts import PAPER_METHOD, SYNTHETIC_SCANS
from graphreg.bench.pairs import pair_of, points_of
from graphreg.clouds import Floats, Mask
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import add_outliers
from graphreg.features.graphs import neighbour_graph
from graphreg.features.response import response_intensity, rounding_error, x84_inliers
from graphreg.files import read
from graphreg.metrics import rmsd
from graphreg.registration import register
from graphreg.reports.plots import Panel, plot_grid

TITLE = "Outlier removal by the X84 rule"
PARTS = (*PAPER_METHOD, *SYNTHETIC_SCANS)
KINDS = ("gaussian", "uniform")
ALPHAS = (5.2, 8.0)
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
SYNTHETIC = ("dragon", "hare", "hand", "casting", "facade", "room", "street")
POINTS = 40_000
QUICK, QUICK_POINTS = ("hare", "casting"), 5_000
REAL_PAIR, SYNTHETIC_PAIR = "bunny_045_to_000", "synthetic_hare_30"
SEEDS = 3
# The paper's RMSD in metres, registered as published with alpha = 5.2: kind, ratio, RMSD.
PUBLISHED = (("gaussian", 0.5, 0.0035), ("uniform", 0.8, 0.0032))
# Share of outliers among the kept points that is too small to disturb a registration.
HARMLESS = 0.01
INLIERS_KEPT, OUTLIERS_KEPT = "inliers kept", "outliers among kept"


@dataclass(frozen=True)
class Job:
    """One cloud, one kind of outliers, one ratio; approximate number of points of a synthetic cloud."""

    cloud: str
    kind: str
    ratio: float
    points: int | None = None


@dataclass(frozen=True)
class Registration:
    """A pair, registered as published: one kind of outliers, one ratio, one alpha, several seeds."""

    pair: str
    kind: str
    ratio: float
    alpha: float
    seeds: int
    points: int | None = None


def jobs(data: Path | None, quick: bool = False) -> list[Job | Registration]:
    """Return the jobs: single clouds, then registrations."""
    clouds = list(QUICK if quick else SYNTHETIC)
    published: list[Job | Registration] = []
    if data is not None and not quick:
        clouds = ["stanford_bunny/bun000.ply", "stanford_bunny/bun045.ply", *clouds]
        published += [
            Job(f"graphreg_repo/{scan}_outlier_{ratio}.ply", "authors'", ratio)
            for scan in ("bun000", "bun045")
            for ratio in (0.1, 0.5)
        ]
    points = QUICK_POINTS if quick else POINTS
    corrupted = [
        Job(cloud, kind, ratio, None if cloud.endswith(".ply") else points)
        for cloud in clouds
        for kind in KINDS
        for ratio in RATIOS
    ]
    pair = SYNTHETIC_PAIR if quick or data is None else REAL_PAIR
    registered = [
        Registration(pair, kind, ratio, alpha, 1 if quick else SEEDS, points_of(pair, quick))
        for ratio in (RATIOS[::3] if quick else RATIOS)
        for kind in KINDS
        for alpha in ALPHAS
    ]
    return [*published, *corrupted, *registered]


def measure(job: Job | Registration, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each alpha, or for a registration."""
    missing = dict.fromkeys(("recall", "precision", INLIERS_KEPT, OUTLIERS_KEPT, "rmsd"))
    if isinstance(job, Registration):
        yield {**_description(job.pair, job.kind, job.ratio, job.alpha), **missing, "rmsd": _registered(job, data)}
        return
    points, is_outlier = _corrupted_cloud(job, data)
    response = response_intensity(neighbour_graph(points))
    for alpha in ALPHAS:
        kept = x84_inliers(response, alpha, rounding_error(points))
        removed = ~kept
        yield {
            **_description(job.cloud.removesuffix(".ply"), job.kind, job.ratio, alpha),
            **missing,
            "recall": float(removed[is_outlier].mean()),
            "precision": float(is_outlier[removed].mean()),
            INLIERS_KEPT: float(kept[~is_outlier].mean()),
            OUTLIERS_KEPT: float(is_outlier[kept].mean()),
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    lines = [
        "recall: share of the outliers that is removed; precision: share of outliers among the removed points; "
        "ratio: outliers for each inlier; rmsd: of registrations by the published method, median over the seeds"
    ]
    found = [row for row in rows if row["recall"] is not None]
    for kind in KINDS:
        for alpha in ALPHAS:
            mine = [row for row in found if row["outliers"] == kind and row["alpha"] == alpha]
            clean = [
                ratio
                for ratio in RATIOS
                if all(row[OUTLIERS_KEPT] <= HARMLESS for row in mine if row["ratio"] <= ratio)
            ]
            few, half = ([row for row in mine if row["ratio"] == ratio] for ratio in (0.1, 0.5))
            kept_of_few = [row[INLIERS_KEPT] for row in few]
            reach = f"up to a ratio of {max(clean):.0%}" if clean else "at no ratio"
            lines.append(
                f"{kind}, alpha {alpha}: at most {HARMLESS:.0%} of the kept points are outliers on all clouds {reach}; "
                f"at 50 % recall is {min(r['recall'] for r in half):.1%} or more, precision "
                f"{min(r['precision'] for r in half):.0%} or more; of the inliers "
                f"{min(r[INLIERS_KEPT] for r in half):.0%} or more are kept at 50 %, "
                f"{min(kept_of_few):.0%} to {max(kept_of_few):.0%} at 10 %"
            )
    return [*lines, *_registration_errors(rows)]


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return a chart (SVG) of the error of registrations over the ratio."""
    series = {
        f"{kind}, alpha {alpha}": ([row["ratio"] for row in mine], [row["rmsd"] for row in mine])
        for kind in KINDS
        for alpha in ALPHAS
        if (
            mine := [
                row for row in rows if row["rmsd"] is not None and (row["outliers"], row["alpha"]) == (kind, alpha)
            ]
        )
    }
    title = "Registered as published, with outliers"
    if not series:
        return {}
    return {"x84": plot_grid([Panel(series, title, "outliers for each inlier", "rmsd", log_y=True)], "x84")}


def _registration_errors(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for kind in KINDS:
        for alpha in ALPHAS:
            mine = [row for row in rows if (row["outliers"], row["alpha"]) == (kind, alpha) and row["rmsd"] is not None]
            if mine:
                errors = ", ".join(f"{row['rmsd']:.3g} at {row['ratio']:.0%}" for row in mine)
                lines.append(f"{mine[0]['cloud']} registered as published, {kind}, alpha {alpha}: rmsd {errors}")
    published = ", ".join(f"{value:g} at {ratio:.0%} {kind}" for kind, ratio, value in PUBLISHED)
    return [*lines, f"the paper's rmsd on its bunny pair, alpha 5.2: {published}"] if lines else []


def _description(cloud: str, kind: str, ratio: float, alpha: float) -> dict[str, Any]:
    return {"cloud": cloud, "outliers": kind, "ratio": ratio, "alpha": alpha}


def _registered(job: Registration, data: Path | None) -> float:
    """The median RMSD over the seeds."""
    pair = pair_of(job.pair, data, job.points)
    errors = []
    for seed in range(job.seeds):
        source, target = (
            add_outliers(cloud, job.ratio, job.kind, 2 * seed + number)[0]
            for number, cloud in enumerate((pair.source, pair.target))
        )
        found = register(source, target, method="graphreg-paper", seed=seed, alpha=job.alpha).transformation
        errors.append(rmsd(found, pair.truth, pair.source))
    return float(np.median(errors))


def _corrupted_cloud(job: Job, data: Path | None) -> tuple[Floats, Mask]:
    points = _cloud(job.cloud, data, job.points)
    if job.kind == "authors'":
        return points, np.arange(len(points)) >= round(len(points) / (1 + job.ratio))
    return add_outliers(points, job.ratio, job.kind, seed=1)


@lru_cache(maxsize=1)
def _cloud(name: str, data: Path | None, points: int | None) -> Floats:
    if data is not None and name.endswith(".ply"):
        return read(data / name)
    return synthetic.scan(name, points=points).points
