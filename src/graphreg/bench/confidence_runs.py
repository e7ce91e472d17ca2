"""Runs of the experiment on confidence: pairs that match, and clouds that do not.

Pairs are registered from several initial poses, clean and corrupted. For clouds that do not match every pose is wrong:
different bodies and scenes, scaled to the same size, and the two halves of a scan. A row has everything that the
verdict is based on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.calibration import normalised_error
from graphreg.bench.comparison_runs import ROTATION_ERROR
from graphreg.bench.corruption import CLEAN, CORRUPTIONS, Corruption
from graphreg.bench.initial_poses import diagonal, initial_poses
from graphreg.bench.pairs import PREFIX, entries_of, kinds_of, pair_of, points_of, select
from graphreg.clouds import Floats, as_cloud
from graphreg.datasets import synthetic
from graphreg.engine.observability import Observability, median_roughness
from graphreg.engine.pipeline import register_graphreg
from graphreg.engine.settings import EngineSettings
from graphreg.files import read
from graphreg.poses import inverse, principal_frame, transform
from graphreg.threads import thread_count

STARTS, QUICK_STARTS = 8, 1
# Noise for synthetic pairs, to compare the covariance with the errors; in scenes 0.8 % would be half a metre.
LITTLE_NOISE = Corruption("noise 0.2 %", noise=0.002)
LITTLE_NOISE_IN_SCENES = Corruption("noise 0.05 %", noise=0.0005)
# Pairs of different clouds, sampled from all there are; individuals of each synthetic body and scene.
DIFFERENT = 200
VARIANTS = 2
QUICK_DIFFERENT, QUICK_FAMILIES = 4, ("hare", "casting", "room")
# The halves of these can be aligned to each other.
SYMMETRIC = ("teapot",)


@dataclass(frozen=True)
class Match:
    """A pair with one corruption, from all its initial poses."""

    pair: str
    corruption: Corruption
    starts: int
    points: int | None


@dataclass(frozen=True)
class Different:
    """Clouds of different subjects."""

    source: str
    target: str
    quick: bool


@dataclass(frozen=True)
class Halves:
    """The halves of a cloud, on either side of its median along a principal axis."""

    cloud: str
    axis: int
    quick: bool


def jobs(
    data: Path | None, quick: bool = False, starts: int | None = None, pairs: str | None = None
) -> list[Match | Different | Halves]:
    """Return the jobs: pairs that match, different subjects, halves."""
    known = {**kinds_of(None), **(kinds_of(data) if data is not None else {})}
    quick_pairs = ",".join(f"{PREFIX}{family}_?0" for family in QUICK_FAMILIES)
    kinds = select(known, pairs or (quick_pairs if quick else "*"))
    matches = [
        Match(name, corruption, starts or (QUICK_STARTS if quick else STARTS), points_of(name, quick))
        for name, kind in kinds.items()
        for corruption in (
            CLEAN,
            *(CORRUPTIONS if kind == "object" else ()),
            *((LITTLE_NOISE if kind == "object" else LITTLE_NOISE_IN_SCENES,) if name.startswith(PREFIX) else ()),
        )
    ]
    families = families_of(data)
    if quick:
        families = {name: family for name, family in families.items() if family in QUICK_FAMILIES}
    candidates = [(x, y) for x, y in permutations(families, 2) if families[x] != families[y]]
    sampled = np.random.default_rng(0).permutation(len(candidates))[: QUICK_DIFFERENT if quick else DIFFERENT]
    different = [Different(source, target, quick) for source, target in (candidates[number] for number in sampled)]
    halves = [
        Halves(name, axis, quick) for name, family in families.items() if family not in SYMMETRIC for axis in range(3)
    ]
    return [*matches, *different, *halves]


def families_of(data: Path | None) -> dict[str, str]:
    """Return {name of a cloud: its subject}. Clouds of different subjects never match."""
    subjects = (*synthetic.bodies(), *synthetic.scenes())
    families = {f"{PREFIX}{subject}_{variant}": subject for subject in subjects for variant in range(VARIANTS)}
    for entry in entries_of(data) if data is not None else ():
        # Names of pairs begin with the subject.
        families |= {entry[end]: entry["name"].split("_")[0] for end in ("source", "target")}
    return families


def measure(job: Match | Different | Halves, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each registration."""
    if isinstance(job, Match):
        yield from _measure_match(job, data)
        return
    if isinstance(job, Different):
        task, name = "different", f"{job.source} to {job.target}"
        source, target = _cloud(job.source, data, job.quick), _cloud(job.target, data, job.quick)
        source = source * diagonal(target) / diagonal(source)
    else:
        task, name = "halves", f"{job.cloud}, axis {job.axis}"
        source, target = halves_of(_cloud(job.cloud, data, job.quick), job.axis)
    _, start = initial_poses(name, "object", source, 2)
    verdict, _, _ = _judged(transform(start, source), target)
    row = {"task": task, "pair": name, "kind": task, "corruption": CLEAN.name, "initial pose": 1, "correct": False}
    yield {**row, **verdict, ROTATION_ERROR: None, "rmsd / tolerance": None, "NEES / 6": None}


def _measure_match(job: Match, data: Path | None) -> Iterator[dict[str, Any]]:
    pair = pair_of(job.pair, data, job.points)
    for number, start in enumerate(initial_poses(pair.name, pair.kind, pair.source, job.starts)):
        # Corrupted anew for each initial pose, so that the errors are independent.
        source = job.corruption.apply(pair.source, 2 * number)
        target = job.corruption.apply(pair.target, 2 * number + 1)
        verdict, found, observability = _judged(transform(start, source), target)
        degrees, distance = pair.errors(found @ start)
        correct = pair.is_correct(degrees, distance)
        truth = pair.nearest_truth(found @ start) @ inverse(start)
        nees = normalised_error(found, truth, observability) if correct and observability is not None else None
        yield {
            "task": "match",
            "pair": job.pair,
            "kind": pair.kind,
            "corruption": job.corruption.name,
            "initial pose": number,
            "correct": correct,
            **verdict,
            ROTATION_ERROR: degrees,
            "rmsd / tolerance": distance,
            "NEES / 6": nees,
        }


def _judged(source: Floats, target: Floats) -> tuple[dict[str, Any], Floats, Observability | None]:
    """The verdict with everything it is based on, the transform, and its observability: `register` step by step."""
    clouds = as_cloud(source, "source").points, as_cloud(target, "target").points
    outcome = register_graphreg(*clouds, EngineSettings(), threads=thread_count(None))
    verdict, scores = outcome.verdict, (*outcome.scores, None)
    evidence, observability = verdict.evidence, verdict.observability
    return (
        {
            "success": verdict.success,
            "confidence": verdict.confidence,
            "overlap": evidence.overlap,
            "inlier rmse": evidence.inlier_rmse if evidence.overlap else None,
            "voxel": outcome.voxel,
            "correspondences": evidence.correspondences,
            "inliers": evidence.inliers,
            "score": scores[0],
            "runner-up score": scores[1],
            "hypotheses": outcome.hypotheses,
            "degenerate": bool(observability and observability.degenerate_directions),
            "roughness": median_roughness(*outcome.pyramids),
            "reason": verdict.reason,
        },
        outcome.transformation,
        observability,
    )


def halves_of(points: Floats, axis: int) -> tuple[Floats, Floats]:
    """Split a cloud at the median along a principal axis."""
    along = transform(principal_frame(points), points)[:, axis]
    below = along < np.median(along)
    return points[below], points[~below]


@lru_cache(maxsize=64)
def _cloud(name: str, data: Path | None, quick: bool) -> Floats:
    if name.startswith(PREFIX):
        _, subject, variant = name.split("_")
        return synthetic.scan(subject, points=points_of(name, quick), variant=int(variant)).points
    assert data is not None
    return np.asarray(read(data / name), np.float64)
