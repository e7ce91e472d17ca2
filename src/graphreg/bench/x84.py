"""How well the X84 rule tells outliers from points of the surface (Sec. III-C and IV, Fig. X84).

Clouds are spoilt with outliers as the paper does it: Gaussian, as wide as the bounding box along each axis, or uniform
in the bounding box; so many for each good point. The paper's claim: with Gaussian outliers, alpha = 5.2 holds up to a
ratio of 50 %, alpha = 8.0 up to 30 %; with uniform ones both hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import add_outliers
from graphreg.files import read
from graphreg.graphs import neighbour_graph
from graphreg.response import response_of, rounding_of, within_x84

TITLE = "Outliers by the X84 rule"
ALPHAS = (5.2, 8.0)
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
MADE = ("dragon", "hare", "hand", "casting", "facade", "room", "street")
POINTS = 40_000
QUICK, QUICK_POINTS = ("hare", "casting"), 5_000
# Left over, so many outliers among the points kept are too few to disturb a registration.
HARMLESS = 0.01


@dataclass(frozen=True)
class Job:
    """One cloud, one kind of outliers, one ratio; about how many points it has, if we make it."""

    cloud: str
    kind: str
    ratio: float
    points: int | None = None


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    clouds = list(QUICK if quick else MADE)
    published = []
    if data is not None and not quick:
        clouds = ["stanford_bunny/bun000.ply", "stanford_bunny/bun045.ply", *clouds]
        published = [
            Job(f"graphreg_repo/{scan}_outlier_{ratio}.ply", "authors'", ratio)
            for scan in ("bun000", "bun045")
            for ratio in (0.1, 0.5)
        ]
    points = QUICK_POINTS if quick else POINTS
    made = [
        Job(cloud, kind, ratio, None if cloud.endswith(".ply") else points)
        for cloud in clouds
        for kind in ("gaussian", "uniform")
        for ratio in RATIOS
    ]
    return published + made


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    points, spoilt = _spoilt_cloud(job, data)
    response = response_of(neighbour_graph(points))
    for alpha in ALPHAS:
        kept = within_x84(response, alpha, rounding_of(points))
        removed = ~kept
        yield {
            "cloud": job.cloud.removesuffix(".ply"),
            "outliers": job.kind,
            "ratio": job.ratio,
            "alpha": alpha,
            "recall": float(removed[spoilt].mean()),
            "precision": float(spoilt[removed].mean()),
            "good points kept": float(kept[~spoilt].mean()),
            "outliers among kept": float(spoilt[kept].mean()),
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = [
        "recall: share of the outliers that is removed; precision: share of outliers in what is removed; "
        "ratio: outliers for each good point"
    ]
    for kind in ("gaussian", "uniform"):
        for alpha in ALPHAS:
            mine = [row for row in rows if row["outliers"] == kind and row["alpha"] == alpha]
            clean = [
                ratio
                for ratio in RATIOS
                if all(row["outliers among kept"] <= HARMLESS for row in mine if row["ratio"] <= ratio)
            ]
            few, half = ([row for row in mine if row["ratio"] == ratio] for ratio in (0.1, 0.5))
            kept_of_few = [row["good points kept"] for row in few]
            reach = f"up to a ratio of {max(clean):.0%}" if clean else "at no ratio"
            lines.append(
                f"{kind}, alpha {alpha}: at most {HARMLESS:.0%} of what is kept are outliers, on every cloud, {reach}; "
                f"at 50 % recall is {min(r['recall'] for r in half):.1%} or more, precision "
                f"{min(r['precision'] for r in half):.0%} or more; the good points kept are "
                f"{min(r['good points kept'] for r in half):.0%} or more at 50 %, "
                f"{min(kept_of_few):.0%} to {max(kept_of_few):.0%} at 10 %"
            )
    return lines


def _spoilt_cloud(job: Job, data: Path | None) -> tuple[Floats, Mask]:
    points = _cloud(job.cloud, data, job.points)
    if job.kind == "authors'":
        return points, np.arange(len(points)) >= round(len(points) / (1 + job.ratio))
    return add_outliers(points, job.ratio, job.kind, seed=1)


@lru_cache(maxsize=1)
def _cloud(name: str, data: Path | None, points: int | None) -> Floats:
    if data is not None and name.endswith(".ply"):
        return read(data / name)
    return synthetic.scan(name, points=points).points
