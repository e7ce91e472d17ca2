"""Bodies that deform: error and time of both methods of `deform`, beside rigid registration and pycpd.

Synthetic bodies bend, twist and turn, seen from all sides or from one side with 20 % outliers; every target has a
random pose. pycpd gets the same points after our rigid registration, scaled to unit spread. Further runs of the elastic
method are for its confidence: any amount from any viewpoint, different bodies and mirror images. The constants of the
confidence are fitted to all its runs, printed beside those in use, and tried on bodies that they were not fitted to.
Real scans from two viewpoints, warped, are neither chosen nor fitted on. Times are those of the processor.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import warped_scans
from graphreg.bench.calibration import area_under_roc, logistic, logistic_regression
from graphreg.bench.measured_parts import ENGINE
from graphreg.clouds import Floats, Mask, extent
from graphreg.datasets.deformed_bodies import DeformedPair, deformations, deformed_pair
from graphreg.nonrigid.deformation_verdict import VERDICT, Evidence
from graphreg.nonrigid.deforming import deform_with_evidence
from graphreg.poses import transform
from graphreg.registration import register

TITLE = "Deformation"
PARTS = (
    *ENGINE,
    "nonrigid",
    "datasets.deformed_bodies",
    "datasets.mannequin",
    "datasets.bodies",
    "datasets.implicit_surfaces",
)
BUDGET = 3600.0
METHODS = ("rigid", "elastic", "cpd", "pycpd")
POINTS, QUICK_POINTS = 1500, 600
# Pairs of each deformation: amount, viewpoint, outliers.
WHOLE, PARTIAL = "whole", "one side, 20 % outliers"
CONDITIONS = {WHOLE: (1.0, None, 0.0), PARTIAL: (0.7, -60.0, 0.2)}
LARGE, LARGER = "5,000 points", "50,000 points"
SIZES = {LARGE: 5000, LARGER: 50_000}
# For the verdict: any amount within limits, from all sides or from any viewpoint; a target that is another body, or a
# mirror image of a body that has no plane of symmetry.
ANY_WHOLE, ANY_PARTIAL = "any amount, whole", "any amount, one side, 20 % outliers"
FOREIGN, MIRRORED = "different bodies", "mirror images"
FOR_VERDICT = (ANY_WHOLE, ANY_PARTIAL, FOREIGN, MIRRORED)
# Real scans, which nothing is fitted to: a pair and a warp each; and the source of one beside the target of another.
WARPED, WARPED_FOREIGN = "real scans, warped", "real scans of different bodies"
REAL = (WARPED, WARPED_FOREIGN)
AMOUNTS = (0.3, 1.0)
SYMMETRIC = ("hare turning its head", "figure walking")
SEPARATOR = ", "
SEEDS, VERDICT_SEEDS = 3, 8
# Iterations of pycpd, at most: its default, and on the larger clouds, where each takes seconds.
PEER_ITERATIONS, FEW_ITERATIONS = 100, 5
# A deformation is right where this share of the points that the target shows is so near to where it belongs, as a
# share of the source's extent: of a hand with one wrong finger it is less.
RIGHT_SHARE, MAX_ERROR = 0.9, 0.05
# Names of the features in the order of their constants; rows have them in any order.
FEATURES = tuple(Evidence(1.0, 0.0, 1.0, 1.0, 0, 0, 0.0, 0.0).features())
# Runs of each kind that constants are fitted to, at least; limits of the bins of the reliability.
LEAST_RUNS = 5
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class Job:
    """One pair and one method.

    Attributes
    ----------
    group : str
        A condition, a size, or one of those for the verdict.
    name : str
        Of the deformation.
    seed : int
    method : str
    points : int
    """

    group: str
    name: str
    seed: int
    method: str
    points: int

    @property
    def cell(self) -> Any:
        """Runs of a method with equal cells are summarised by one figure of the tables."""
        return self.group


def jobs(data: Path | None, quick: bool = False, peers: bool = True) -> list[Job]:
    """Return the pairs, methods interleaved."""
    names = deformations()[1:2] if quick else deformations()
    methods = [name for name in METHODS if name != "pycpd" or (peers and find_spec("pycpd") is not None)]
    points, seeds = (QUICK_POINTS, 1) if quick else (POINTS, SEEDS)
    listed = [
        Job(group, name, seed, method, points)
        for seed in range(seeds)
        for group in CONDITIONS
        for name in names
        for method in (methods if not seed else ("rigid", "elastic"))
    ]
    if quick:
        return listed
    listed += [
        Job(group, name, seed, "elastic", points)
        for seed in range(VERDICT_SEEDS)
        for group in FOR_VERDICT
        for name in names
        if group != MIRRORED or name not in SYMMETRIC
    ]
    listed += [Job(LARGE, names[1], 0, method, SIZES[LARGE]) for method in methods if method != "rigid"]
    listed += [Job(LARGER, names[1], 0, method, SIZES[LARGER]) for method in ("elastic", "cpd")]
    if data is None:
        return listed
    real = [f"{pair}{SEPARATOR}{warp}" for pair in warped_scans.PAIRS for warp in warped_scans.WARPS]
    return [
        *listed,
        *(Job(WARPED, name, 0, method, points) for name in real for method in methods if method != "cpd"),
        *(Job(WARPED_FOREIGN, name, 0, "elastic", points) for name in real),
    ]


def measure(job: Job, data: Path | None) -> list[dict[str, Any]]:
    """Return the row of a run."""
    pair = _pair(job.group, job.name, job.seed, job.points, data)
    began = time.process_time()
    rigid = register(pair.source, pair.target) if job.method in ("rigid", "pycpd") else None
    aligned = time.process_time()
    features: dict[str, float] = {}
    called, confidence, iterations = False, None, None
    if job.method == "rigid":
        assert rigid is not None
        points = transform(rigid.transformation, pair.source)
    elif job.method == "pycpd":
        assert rigid is not None
        limit = FEW_ITERATIONS if job.group == LARGE else PEER_ITERATIONS
        points, iterations = _pycpd(transform(rigid.transformation, pair.source), pair.target, limit)
        began = aligned
    else:
        found, evidence = deform_with_evidence(pair.source, pair.target, method=job.method)
        points, called, confidence = found.points, found.success, found.confidence
        features = evidence.features() if job.method == "elastic" else {}
    seconds = time.process_time() - began
    error = np.linalg.norm(points - pair.truth, axis=1) / extent(pair.source)
    rms = _rms(error)
    known = job.group not in (FOREIGN, MIRRORED, WARPED_FOREIGN)
    return [
        {
            "group": job.group,
            "name": job.name,
            "bodies": sorted({job.name, pair.name}),
            "seed": job.seed,
            "method": job.method,
            "RMS error": rms if known else None,
            "RMS error seen": _rms(error[pair.seen]) if known else None,
            "RMS error unseen": _rms(error[~pair.seen]) if known and not pair.seen.all() else None,
            "right": bool(known and np.quantile(error[pair.seen], RIGHT_SHARE) <= MAX_ERROR),
            "reported as deformed": called,
            "confidence": confidence,
            "features": features,
            "iterations": iterations,
            "seconds": seconds,
        }
    ]


def left_out(job: Job, reason: str) -> dict[str, Any]:
    """Return the row of a run that is not made."""
    row = {"group": job.group, "name": job.name, "seed": job.seed, "method": job.method, "correct": None}
    return {**row, "RMS error": None, "right": False, "reported as deformed": False, "seconds": None, "note": reason}


def _rms(errors: Floats) -> float:
    return float(np.sqrt((errors**2).mean()))


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a table with a line for each group and method, and the constants of the verdict."""
    made = [row for row in rows if "note" not in row]
    lines = []
    for group, method in dict.fromkeys((row["group"], row["method"]) for row in made):
        mine = [row for row in made if (row["group"], row["method"]) == (group, method)]
        errors, seen, unseen = (
            [100 * row[name] for row in mine if row.get(name) is not None]
            for name in ("RMS error", "RMS error seen", "RMS error unseen")
        )
        times = [row["seconds"] for row in mine if row["seconds"] is not None]
        lines.append(
            {
                "pairs": group,
                "method": method,
                "runs": len(mine),
                "RMS error (% of extent)": float(np.mean(errors)) if errors else None,
                "of seen points (%)": float(np.mean(seen)) if seen else None,
                "of unseen points (%)": float(np.mean(unseen)) if unseen else None,
                "largest (%)": max(errors) if errors else None,
                "right": sum(row["right"] for row in mine),
                "reported as deformed": sum(row["reported as deformed"] for row in mine),
                "wrongly": sum(row["reported as deformed"] and not row["right"] for row in mine),
                "median CPU (s)": round(float(np.median(times)), 2) if times else None,
            }
        )
    ours = _for_the_fit(rows)
    fitted = {}
    if _can_be_fitted(ours):
        fitted["Confidence, tried on bodies that it was not fitted to"] = _cross_validated(ours)
        fitted["Reliability on bodies that it was not fitted to"] = reliability(ours)
        terms = ("constant", *FEATURES)
        fitted["Constants of the confidence"] = [
            {"term": term, "in use": used, "fitted": float(value)}
            for term, used, value in zip(terms, VERDICT.logit, fit_logit(ours), strict=True)
        ]
    return {"": lines, **fitted}


def fit_logit(rows: Sequence[dict[str, Any]]) -> Floats:
    """Fit the constants of confidence to runs of the elastic method."""
    return logistic_regression(_predictors(rows), np.array([row["right"] for row in rows], float))


def confidence_on_other_bodies(rows: Sequence[dict[str, Any]]) -> Floats:
    """Return the confidence of each run by constants that were fitted without its bodies."""
    tried = np.zeros(len(rows))
    for body in dict.fromkeys(row["name"] for row in rows):
        mine = np.array([row["name"] == body for row in rows])
        constants = fit_logit([row for row in rows if body not in row["bodies"]])
        tried[mine] = logistic(_predictors([row for row in rows if row["name"] == body]) @ constants)
    return tried


def _for_the_fit(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["method"] == "elastic" and row.get("features") and row["group"] not in REAL]


def _can_be_fitted(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether enough runs are right, and enough wrong, also without any one of several bodies."""
    bodies = {row["name"] for row in rows}
    outcomes = [[row["right"] for row in rows if body not in row["bodies"]] for body in bodies]
    return len(bodies) > 1 and min(min(some.count(True), some.count(False)) for some in outcomes) >= LEAST_RUNS


def _predictors(rows: Sequence[dict[str, Any]]) -> Floats:
    return np.array([(1.0, *(row["features"][name] for name in FEATURES)) for row in rows])


def _cross_validated(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each body: constants fitted to the runs of all other bodies, and tried on its own."""
    right, tried = np.array([row["right"] for row in rows]), confidence_on_other_bodies(rows)
    bodies = np.array([row["name"] for row in rows])
    lines = []
    for body in (*dict.fromkeys(bodies), "all"):
        mine = (bodies == body) | (body == "all")
        called = mine & (tried >= VERDICT.success)
        lines.append(
            {
                "body": str(body),
                "runs": int(mine.sum()),
                "right": int((mine & right).sum()),
                "called": int(called.sum()),
                "wrongly": int((called & ~right).sum()),
                "area under ROC": area_under_roc(tried[mine].tolist(), right[mine].tolist()),
                "mean confidence": float(tried[mine].mean()),
                "share right": float(right[mine].mean()),
            }
        )
    return lines


def reliability(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean confidence, on bodies that it was not fitted to, and the share of right runs, bin by bin."""
    right, tried = np.array([row["right"] for row in rows]), confidence_on_other_bodies(rows)
    lines = []
    for low, high in itertools.pairwise(BINS):
        mine = (tried >= low) & ((tried < high) | (high == BINS[-1]))
        if mine.any():
            lines.append(
                {
                    "confidence": f"{low:g} to {high:g}",
                    "runs": int(mine.sum()),
                    "mean confidence": float(tried[mine].mean()),
                    "share right": float(right[mine].mean()),
                }
            )
    return lines


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    lines = tables(rows)[""]
    of = {(line["pairs"], line["method"]): line for line in lines}
    said = [
        f"{WHOLE}: seen from all sides; {PARTIAL}: 0.7 of the deformation, from one viewpoint; {FOREIGN}: the "
        "target is another body; rigid: our rigid registration, and the error of its pose",
        f"right: {100 * RIGHT_SHARE:g} % of the points that the target shows are within {100 * MAX_ERROR:g} % of the "
        "source's extent of where they belong; of different bodies and of mirror images nothing",
        f"pycpd: at most {PEER_ITERATIONS} iterations, its default; on {LARGE} {FEW_ITERATIONS}, to time them",
    ]
    for group in CONDITIONS:
        elastic, rigid = of.get((group, "elastic")), of.get((group, "rigid"))
        if elastic and rigid:
            ratio = elastic["RMS error (% of extent)"] / rigid["RMS error (% of extent)"]
            said.append(f"{group}: the elastic method's error is {ratio:.2f} of rigid registration's")
    if any(row["group"] == WARPED for row in rows):
        real = [of[group, "elastic"] for group in REAL if (group, "elastic") in of]
        medians = {
            method: 100 * float(np.median([row["RMS error"] for row in rows if _is(row, WARPED, method)]))
            for method in METHODS
            if (WARPED, method) in of
        }
        said.append(
            f"{WARPED}: from another viewpoint, by maps that nothing was chosen or fitted on; median RMS error "
            + ", ".join(f"{method} {error:.2g} %" for method, error in medians.items())
        )
        said.append(
            f"of the elastic method's runs on them {sum(line['right'] for line in real)} of "
            f"{sum(line['runs'] for line in real if line['pairs'] == WARPED)} right, "
            f"{sum(line['reported as deformed'] for line in real)} reported as deformed, "
            f"{sum(line['wrongly'] for line in real)} of them wrong; {sum(line['runs'] for line in real)} runs, "
            f"{sum(line['runs'] for line in real if line['pairs'] != WARPED)} of them of different bodies"
        )
    ours = _for_the_fit(rows)
    if _can_be_fitted(ours):
        right, tried = np.array([row["right"] for row in ours]), confidence_on_other_bodies(ours)
        said += [
            f"reported as deformed: {sum(row['reported as deformed'] for row in ours)}, "
            f"{sum(row['reported as deformed'] and not row['right'] for row in ours)} of them wrong",
            _verdicts("confidence in use", right, np.array([row["confidence"] for row in ours])),
            _verdicts("cross-validated, constants fitted without the body judged", right, tried),
        ]
    elastic, other = of.get((LARGE, "elastic")), of.get((LARGE, "pycpd"))
    if elastic and other:
        ratio = other["median CPU (s)"] / elastic["median CPU (s)"] / FEW_ITERATIONS
        made = [row["iterations"] for row in rows if row["method"] == "pycpd" and row["group"] in CONDITIONS]
        often = float(np.median(made)) if made else float(PEER_ITERATIONS)
        said.append(
            f"{LARGE}: an iteration of pycpd takes {ratio:.2f} times as long as the whole elastic method; it makes "
            f"{often:.0f} on the smaller clouds (median), so that it takes about {ratio * often:.0f} times as long"
        )
    return said


def _is(row: dict[str, Any], group: str, method: str) -> bool:
    return row["group"] == group and row["method"] == method and row["RMS error"] is not None


def _verdicts(name: str, right: Mask, confidence: Floats) -> str:
    called = confidence >= VERDICT.success
    return (
        f"{name}: {(called & ~right).sum()} wrong of {called.sum()} with {VERDICT.success:g} or more; "
        f"{100 * called[right].mean():.0f} % of {right.sum()} right ones have it; {len(right)} runs; AUC "
        f"{area_under_roc(confidence.tolist(), right.tolist()):.3f}"
    )


@lru_cache(maxsize=2)
def _pair(group: str, name: str, seed: int, points: int, data: Path | None) -> DeformedPair:
    """The pair, named after the body that the target shows."""
    if group in REAL:
        assert data is not None
        scans, warp = name.split(SEPARATOR)
        names = warped_scans.PAIRS
        # Consecutive pairs are of one body, and the next but one is of another.
        other = names[(names.index(scans) + 2) % len(names)] if group == WARPED_FOREIGN else None
        return warped_scans.warped_pair(scans, warp, data, points, seed, other)
    if group not in FOR_VERDICT:
        amount, viewpoint, outliers = CONDITIONS.get(group, CONDITIONS[WHOLE])
        return _sample(name, amount, viewpoint, outliers, points, seed)
    rng = np.random.default_rng([seed, *name.encode()])
    amount, viewpoint = float(rng.uniform(*AMOUNTS)), float(rng.uniform(0, 360))
    # Others than those that methods are compared on.
    seed += 100
    whole = group == ANY_WHOLE or (group in (FOREIGN, MIRRORED) and seed % 2 == 0)
    seen: tuple[float | None, float] = (None, 0.0) if whole else (viewpoint, 0.2)
    pair = _sample(name, amount, *seen, points, seed)
    if group == FOREIGN:
        others = [each for each in deformations() if each != name]
        other = others[seed % len(others)]
        return replace(pair, target=_sample(other, amount, *seen, points, seed + 1).target, name=other)
    if group == MIRRORED:
        return replace(pair, target=pair.target * [1.0, -1.0, 1.0])
    return pair


def _sample(name: str, amount: float, viewpoint: float | None, outliers: float, points: int, seed: int) -> DeformedPair:
    return deformed_pair(name, amount, points=points, viewpoint=viewpoint, outliers=outliers, variant=seed, seed=seed)


def _pycpd(source: Floats, target: Floats, iterations: int) -> tuple[Floats, int]:
    """Deformable registration by pycpd with its default settings, scaled to unit spread; and its iterations."""
    from pycpd import DeformableRegistration

    centre, unit = target.mean(axis=0), float(target.std(axis=0).max())
    method = DeformableRegistration(X=(target - centre) / unit, Y=(source - centre) / unit, max_iterations=iterations)
    moved, _ = method.register()
    return np.asarray(moved * unit + centre), int(method.iteration)
