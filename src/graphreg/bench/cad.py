"""Scans of modelled parts registered to their CAD models, from any pose: right, or refused; deviations as the noise.

A scan samples the surface of a part, all of it or what faces one direction, with Gaussian noise, in a random pose. A
pose is right where no point of the scan is farther from its true position than four standard deviations of the noise;
of a part that is symmetric, no pose is determined, and the right answer is to say so. The deviations of the scan from
the model at the pose found should be the noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.measured_parts import ENGINE, SYNTHETIC_SCANS
from graphreg.comparison.deviations import deviation
from graphreg.datasets.modelled_parts import modelled_parts
from graphreg.engine.symmetry import uniform_rotations
from graphreg.poses import inverse, pose, transform
from graphreg.registration import register

TITLE = "Scans of parts and their CAD models"
PARTS = (*ENGINE, "meshes", "native.meshes", "comparison", *SYNTHETIC_SCANS)
POINTS = 20_000
# Standard deviations of the noise, in millimetres; the parts are 20 to 60 mm long, and the sheet is 1 mm thick.
NOISES = (0.01, 0.03, 0.1)
POSES, QUICK_POSES = 3, 1
# A part of which nothing else is right than to refuse it.
SYMMETRIC = "cube"
# Standard deviations of the noise within which every point of a right pose is.
RIGHT = 4.0
# Surfaces whose normals have a smaller cosine with the direction of view are not seen.
LEAST_COSINE = -0.3


@dataclass(frozen=True)
class Job:
    """One scan of a part."""

    part: str
    noise: float
    partial: bool
    seed: int


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    """Return the jobs; no real scans are needed."""
    return [
        Job(part, noise, partial, seed)
        for part in modelled_parts()
        for noise in (NOISES[1:2] if quick else NOISES)
        for partial in (False, True)
        for seed in range(QUICK_POSES if quick else POSES)
    ]


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield one row."""
    part = modelled_parts()[job.part]
    rng = np.random.default_rng(job.seed)
    points, normals = part.sample(POINTS, seed=job.seed)
    if job.partial:
        view = rng.normal(size=3)
        points = points[normals @ (view / np.linalg.norm(view)) > LEAST_COSINE]
    points = points + rng.normal(0, job.noise, points.shape)
    truth = pose(uniform_rotations(POSES)[job.seed], 50 * rng.normal(size=3))
    scan = transform(inverse(truth), points)
    result = register(scan, part, seed=job.seed)
    off = float(np.linalg.norm(transform(result.transformation, scan) - points, axis=1).max())
    yield {
        "part": job.part,
        "noise": job.noise,
        "seen": "one side" if job.partial else "all",
        "seed": job.seed,
        "success": result.success,
        "confidence": result.confidence,
        "largest error": off,
        "right": job.part != SYMMETRIC and off <= RIGHT * job.noise,
        "deviation / noise": deviation(scan, part, transformation=result).rms / job.noise,
        "seconds": result.timings["total"],
    }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    called = [row for row in rows if row["success"]]
    wrong = [row for row in called if not row["right"]]
    lines = [
        f"right: no point farther than {RIGHT:g} standard deviations of the noise from its true position; the "
        f"{SYMMETRIC} is symmetric, and rightly refused; deviation / noise: RMS distance of the scan from the model",
        f"{len(called)} of {len(rows)} scans called registered, {len(wrong)} of them wrongly",
    ]
    for part in dict.fromkeys(row["part"] for row in rows):
        for seen in ("all", "one side"):
            mine = [row for row in rows if (row["part"], row["seen"]) == (part, seen)]
            good = [row for row in mine if row["success"]]
            ratios = [row["deviation / noise"] for row in good]
            within = f"; deviation {np.median(ratios):.2f} of the noise (at most {max(ratios):.2f})" if good else ""
            lines.append(
                f"{part}, {seen}: {len(good)} of {len(mine)} registered, {len(mine) - len(good)} refused, "
                f"{sum(not row['right'] for row in good)} wrong{within}"
            )
    return lines
