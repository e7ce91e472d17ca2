"""Is the verdict right? What `confidence` says beside what is true, and the covariance beside the errors.

Pairs that match are registered from several starts, clean and spoilt; and clouds that do not match, for which every
pose is wrong: different bodies and scenes, scaled to one size, and the two halves of a scan. The rows hold all that the
verdict stands on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.stats import rankdata

from graphreg.bench.measured_parts import ENGINE, SYNTHETIC_SCANS
from graphreg.bench.pairs import (
    CLEAN,
    SPOILINGS,
    Spoiling,
    chosen,
    diagonal_of,
    entries_of,
    kinds_of,
    pair_of,
    points_of,
    starts_of,
)
from graphreg.clouds import Floats, as_cloud
from graphreg.datasets import synthetic
from graphreg.engine.observability import Observability
from graphreg.engine.pipeline import register_graphreg
from graphreg.engine.settings import EngineSettings
from graphreg.engine.verdict import VERDICT
from graphreg.files import read
from graphreg.poses import inverse, principal_frame, transform
from graphreg.reports.charts import charts_side_by_side, line_chart
from graphreg.threads import thread_count

TITLE = "Confidence"
PARTS = (*ENGINE, *SYNTHETIC_SCANS)
STARTS, QUICK_STARTS = 8, 1
# Made pairs get noise of known size as well, to compare the covariance with; in scenes 0.8 % would be half a metre.
LITTLE_NOISE = Spoiling("noise 0.2 %", noise=0.002)
LITTLE_NOISE_IN_SCENES = Spoiling("noise 0.05 %", noise=0.0005)
# So many mixed pairs of clouds are drawn from all there are. Individuals of each body and scene that we make.
MIXED = 200
VARIANTS = 2
QUICK_MIXED, QUICK_FAMILIES = 4, ("hare", "casting", "room")
# Halves of these may well be laid on each other.
SYMMETRIC = ("teapot",)
BINS = 10
# For the verdict on things that it was not fitted to.
FOLDS, NEWTON_STEPS, RIDGE = 5, 30, 0.1


@dataclass(frozen=True)
class Match:
    """A pair, spoilt in one way, from all its starts."""

    pair: str
    spoiling: Spoiling
    starts: int
    points: int | None


@dataclass(frozen=True)
class Mixed:
    """Clouds of different things."""

    source: str
    target: str
    quick: bool


@dataclass(frozen=True)
class Halves:
    """The halves of a cloud, on either side of its median along one of its principal axes."""

    cloud: str
    axis: int
    quick: bool


def jobs(
    data: Path | None, quick: bool = False, starts: int | None = None, pairs: str | None = None
) -> list[Match | Mixed | Halves]:
    known = {**kinds_of(None), **(kinds_of(data) if data is not None else {})}
    kinds = chosen(known, pairs or (",".join(f"made_{family}_?0" for family in QUICK_FAMILIES) if quick else "*"))
    matches = [
        Match(name, spoiling, starts or (QUICK_STARTS if quick else STARTS), points_of(name, quick))
        for name, kind in kinds.items()
        for spoiling in (
            CLEAN,
            *(SPOILINGS if kind == "object" else ()),
            *((LITTLE_NOISE if kind == "object" else LITTLE_NOISE_IN_SCENES,) if name.startswith("made_") else ()),
        )
    ]
    families = families_of(data)
    if quick:
        families = {name: family for name, family in families.items() if family in QUICK_FAMILIES}
    strangers = [(x, y) for x, y in permutations(families, 2) if families[x] != families[y]]
    drawn = np.random.default_rng(0).permutation(len(strangers))[: QUICK_MIXED if quick else MIXED]
    mixed = [Mixed(source, target, quick) for source, target in (strangers[number] for number in drawn)]
    halves = [
        Halves(name, axis, quick) for name, family in families.items() if family not in SYMMETRIC for axis in range(3)
    ]
    return [*matches, *mixed, *halves]


def families_of(data: Path | None) -> dict[str, str]:
    """{name of a cloud: what it shows}. No two families show the same thing, or two things of a kind that we make."""
    subjects = (*synthetic.bodies(), *synthetic.scenes())
    families = {f"made_{subject}_{variant}": subject for subject in subjects for variant in range(VARIANTS)}
    for entry in entries_of(data) if data is not None else ():
        # Names of pairs begin with what was scanned.
        families |= {entry[end]: entry["name"].split("_")[0] for end in ("source", "target")}
    return families


def measure(job: Match | Mixed | Halves, data: Path | None) -> Iterator[dict[str, Any]]:
    if isinstance(job, Match):
        pair = pair_of(job.pair, data, job.points)
        for number, start in enumerate(starts_of(pair.name, pair.kind, pair.source, job.starts)):
            # Drawn anew for each start, so that the errors are independent.
            source, target = job.spoiling.of(pair.source, 2 * number), job.spoiling.of(pair.target, 2 * number + 1)
            run, found, hold = _run(transform(start, source), target)
            degrees, distance = pair.errors(found @ start)
            right = pair.is_right(degrees, distance)
            truth = pair.truth_for(found @ start) @ inverse(start)
            yield {
                "tag": "match",
                "pair": job.pair,
                "kind": pair.kind,
                "spoilt": job.spoiling.name,
                "start": number,
                "right": right,
                **run,
                "degrees": degrees,
                "rmsd of tolerance": distance,
                "squared error": squared_error(found, truth, hold) if right and hold is not None else None,
            }
        return
    if isinstance(job, Mixed):
        tag, name = "mixed", f"{job.source} on {job.target}"
        source, target = _cloud(job.source, data, job.quick), _cloud(job.target, data, job.quick)
        source = source * diagonal_of(target) / diagonal_of(source)
    else:
        tag, name = "halves", f"{job.cloud}, axis {job.axis}"
        source, target = halves_of(_cloud(job.cloud, data, job.quick), job.axis)
    _, start = starts_of(name, "object", source, 2)
    run, _, _ = _run(transform(start, source), target)
    about = {"tag": tag, "pair": name, "kind": tag, "spoilt": CLEAN.name, "start": 1, "right": False}
    yield {**about, **run, "degrees": None, "rmsd of tolerance": None, "squared error": None}


def _run(source: Floats, target: Floats) -> tuple[dict[str, Any], Floats, Observability | None]:
    """All that the verdict stands on, the pose, and how firmly it is held: `register`, step by step."""
    threads = thread_count(None)
    outcome = register_graphreg(
        as_cloud(source, "source").points, as_cloud(target, "target").points, EngineSettings(), threads=threads
    )
    verdict = outcome.verdict
    evidence, scores = verdict.evidence, (*outcome.scores, None)
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
            "score of the runner-up": scores[1],
            "hypotheses": outcome.hypotheses,
            "degenerate": bool(verdict.observability and verdict.observability.degenerate_directions),
            "reason": verdict.reason,
        },
        outcome.transformation,
        verdict.observability,
    )


def squared_error(found: Floats, truth: Floats, hold: Observability) -> float:
    """e^T C^-1 e / 6, which is 1 on average where the covariance is that of the errors.

    e  turn about the centre that was found (radians), then shift of this centre, from the truth to what was found
    """
    off = found @ inverse(truth)
    turn = Rotation.from_matrix(off[:3, :3]).as_rotvec()
    # What lies at the centre now came from where the truth would have put it.
    error = np.concatenate([turn, hold.centre - transform(inverse(off), hold.centre[None])[0]])
    return float(error @ np.linalg.solve(hold.covariance, error) / 6)


def halves_of(points: Floats, axis: int) -> tuple[Floats, Floats]:
    along = transform(principal_frame(points), points)[:, axis]
    below = along < np.median(along)
    return points[below], points[~below]


def area_under_roc(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """How often a run that is right has the higher confidence than one that is wrong; ties count half."""
    good = np.asarray(right, bool)
    count = np.count_nonzero(good)
    if count in (0, len(good)):
        return float("nan")
    ranks = rankdata(confidence)
    return float((ranks[good].sum() - count * (count + 1) / 2) / (count * (len(good) - count)))


def held_out(rows: Sequence[dict[str, Any]]) -> list[float]:
    """The confidence of each run by constants that were fitted to runs on other things: is the verdict's form right, or
    only fitted to what it is shown?"""
    known = np.array(
        [
            (
                1.0,
                np.log1p(row["inliers"]),
                (row["score of the runner-up"] or 0.0) / max(row["score"], 1e-9),
                row["overlap"],
            )
            for row in rows
        ]
    )
    right = np.array([row["right"] for row in rows], float)
    things = [_thing(row["pair"]) for row in rows]
    fold = np.array([sorted(set(things)).index(thing) % FOLDS for thing in things])
    believed = np.zeros(len(rows))
    for number in range(FOLDS):
        mine = fold == number
        believed[mine] = _probability(known[mine], _logit(known[~mine], right[~mine]))
    most = np.array([VERDICT.most_if_degenerate if row["degenerate"] else 1.0 for row in rows])
    return [
        float(each) if row["confidence"] else 0.0 for row, each in zip(rows, np.minimum(believed, most), strict=True)
    ]


def _thing(pair: str) -> str:
    """What a run is about; of clouds that do not match, what the first shows."""
    words = pair.replace("stanford_", "").replace("/", "_").split("_")
    return words[1] if words[0] == "made" else words[0]


def _logit(known: Floats, right: Floats) -> Floats:
    """Constants of a logistic regression, by Newton's steps; with a ridge, for all runs may be told apart."""
    constants = np.zeros(known.shape[1])
    for _ in range(NEWTON_STEPS):
        believed = _probability(known, constants)
        slope = known.T @ (right - believed) - RIDGE * constants
        bend = (known * (believed * (1 - believed))[:, None]).T @ known + RIDGE * np.eye(len(constants))
        constants = constants + np.linalg.solve(bend, slope)
    return constants


def _probability(known: Floats, constants: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(known @ constants, -700, 700))))


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Reliability: in bins of confidence, its mean beside the share of runs that are right."""
    return {"": _bins(rows)}


def _bins(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    bins: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        bins.setdefault(min(int(row["confidence"] * BINS), BINS - 1), []).append(row)
    return [
        {
            "confidence": f"{number / BINS:g} to {(number + 1) / BINS:g}",
            "runs": len(mine),
            "mean confidence": float(np.mean([row["confidence"] for row in mine])),
            "share right": float(np.mean([row["right"] for row in mine])),
        }
        for number, mine in sorted(bins.items())
    ]


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    matches = [row for row in rows if row["tag"] == "match"]
    right, wrong = ([row for row in rows if row["right"] is answer] for answer in (True, False))
    false = [row for row in wrong if row["success"]]
    missed = [row for row in right if not row["success"]]
    lines = [
        f"{len(matches)} runs on pairs that match, {len(rows) - len(matches)} on clouds that do not: "
        f"{len(right)} right, {len(wrong)} wrong; runs of a pair are much alike, and there are "
        f"{len({row['pair'] for row in matches})} pairs",
        f"area under the ROC curve: {_area(rows):.4f}; of the pairs that match alone {_area(matches):.4f}",
        f"called registered (confidence of {VERDICT.success:g} or more) although wrong: {len(false)} of {len(wrong)}"
        + _counted(false),
        f"not called registered although right: {len(missed)} of {len(right)}" + _counted(missed),
        _on_other_things(rows),
        "below, the mean of e^T C^-1 e / 6 (e: turn and shift of the centre off the truth, C: covariance; over right "
        "runs on scans that we make, whose truth is exact): 1 is calibrated, at 4 errors are twice as large as told; "
        "in brackets the median, 0.89 if calibrated",
    ]
    groups: dict[tuple[str, str], list[float]] = {}
    for row in matches:
        # Without noise of its own, a further start shows much the same error as the first.
        repeated = row["spoilt"] == CLEAN.name and row["start"] > 0
        if row["pair"].startswith("made_") and row["squared error"] is not None and not repeated:
            groups.setdefault((row["kind"], row["spoilt"]), []).append(row["squared error"])
    lines += [
        f"{kind}, {spoilt}: {np.mean(values):.3g} ({np.median(values):.3g}) over {len(values)} runs"
        for (kind, spoilt), values in groups.items()
    ]
    return lines


def _on_other_things(rows: Sequence[dict[str, Any]]) -> str:
    right = [row["right"] for row in rows]
    if min(right.count(True), right.count(False)) < FOLDS:
        return "too few runs to fit the verdict to some and try it on others"
    believed = held_out(rows)
    called = [confidence >= VERDICT.success for confidence in believed]
    false = sum(yes and not fine for yes, fine in zip(called, right, strict=True))
    missed = sum(fine and not yes for yes, fine in zip(called, right, strict=True))
    return (
        f"the same with the verdict's constants fitted to runs on other things ({FOLDS} folds): area "
        f"{area_under_roc(believed, right):.4f}, called registered although wrong {false}, not called registered "
        f"although right {missed}"
    )


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Reliability, and both kinds of mistakes over the threshold: {name: SVG text}."""
    told = [line["mean confidence"] for line in _bins(rows)]
    true = [line["share right"] for line in _bins(rows)]
    reliability = line_chart(
        {"measured": (told, true), "as it should be": ([0, 1], [0, 1])}, "Reliability", "mean confidence", "share right"
    )
    thresholds = np.linspace(0, 1, 21)
    mistakes = {}
    for name, answer in (("wrong, called registered", False), ("right, not called registered", True)):
        believed = np.array([row["confidence"] for row in rows if row["right"] is answer])
        if len(believed):
            called = (believed[:, None] >= thresholds).mean(axis=0)
            mistakes[name] = thresholds, 1 - called if answer else called
    return {
        "confidence": charts_side_by_side(
            [reliability, line_chart(mistakes, "Mistakes", "threshold of confidence", "share of runs")]
        )
    }


def _area(rows: Sequence[dict[str, Any]]) -> float:
    return area_under_roc([row["confidence"] for row in rows], [row["right"] for row in rows])


def _counted(rows: Sequence[dict[str, Any]]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        name = row["pair"] if row["spoilt"] == CLEAN.name else f"{row['pair']} ({row['spoilt']})"
        counts[name] = counts.get(name, 0) + 1
    return ": " + "; ".join(f"{name} {count}x" for name, count in counts.items()) if counts else ""


@lru_cache(maxsize=64)
def _cloud(name: str, data: Path | None, quick: bool) -> Floats:
    if name.startswith("made_"):
        _, subject, variant = name.split("_")
        return synthetic.scan(subject, points=points_of(name, quick), variant=int(variant)).points
    assert data is not None
    return np.asarray(read(data / name), np.float64)
