"""Bodies that deform: error and time of both methods of `deform`, beside rigid registration and pycpd.

Synthetic bodies bend, twist and turn, seen from all sides or from one side with 20 % outliers; every target has a
random pose. pycpd gets the same points after our rigid registration, scaled to unit spread. Pairs of different bodies
show how often a deformation is wrongly reported. The constants of the verdict are fitted to all runs of the elastic
method, printed beside those in use, and tried on bodies that they were not fitted to. Times are those of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.calibration import area_under_roc, logistic, logistic_regression
from graphreg.bench.measured_parts import ENGINE
from graphreg.clouds import Floats, extent
from graphreg.datasets.deformed_bodies import DeformedPair, deformations, deformed_pair
from graphreg.nonrigid.deformation_verdict import VERDICT
from graphreg.nonrigid.deforming import deform_with_evidence
from graphreg.poses import transform
from graphreg.registration import register

TITLE = "Deformation"
PARTS = (*ENGINE, "nonrigid", "datasets.deformed_bodies", "datasets.bodies", "datasets.implicit_surfaces")
BUDGET = 900.0
METHODS = ("rigid", "elastic", "cpd", "pycpd")
POINTS, QUICK_POINTS = 1500, 600
# Pairs of each deformation: amount, viewpoint, outliers.
WHOLE, PARTIAL = "whole", "one side, 20 % outliers"
CONDITIONS = {WHOLE: (1.0, None, 0.0), PARTIAL: (0.7, -60.0, 0.2)}
LARGE, LARGER = "5,000 points", "50,000 points"
SIZES = {LARGE: 5000, LARGER: 50_000}
# Of different bodies a target is another one seen from all sides, then from one.
FOREIGN = "different bodies"
SEEDS, FOREIGN_SEEDS = 3, 6
# Iterations of pycpd, at most: its default, and on the larger clouds, where each takes seconds.
PEER_ITERATIONS, FEW_ITERATIONS = 100, 5
# A deformation is right within this RMS error, as a share of the source's extent.
MAX_ERROR = 0.03
# Runs of each kind that constants are fitted to, at least.
LEAST_RUNS = 5


@dataclass(frozen=True)
class Job:
    """One pair and one method.

    Attributes
    ----------
    group : str
        A condition, a size, or "different bodies".
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
    listed += [Job(FOREIGN, name, seed, "elastic", points) for seed in range(FOREIGN_SEEDS) for name in names]
    listed += [Job(LARGE, names[1], 0, method, SIZES[LARGE]) for method in methods if method != "rigid"]
    return listed + [Job(LARGER, names[1], 0, method, SIZES[LARGER]) for method in ("elastic", "cpd")]


def measure(job: Job, data: Path | None) -> list[dict[str, Any]]:
    """Return the row of a run."""
    pair = _pair(job.group, job.name, job.seed, job.points)
    rigid = register(pair.source, pair.target) if job.method in ("rigid", "pycpd") else None
    began = time.process_time()
    features: dict[str, float] = {}
    called, iterations = False, None
    if job.method == "rigid":
        assert rigid is not None
        points, seconds = transform(rigid.transformation, pair.source), None
    elif job.method == "pycpd":
        assert rigid is not None
        limit = FEW_ITERATIONS if job.group == LARGE else PEER_ITERATIONS
        points, iterations = _pycpd(transform(rigid.transformation, pair.source), pair.target, limit)
        seconds = time.process_time() - began
    else:
        found, evidence = deform_with_evidence(pair.source, pair.target, method=job.method)
        points, called, seconds = found.points, found.success, time.process_time() - began
        features = evidence.features() if job.method == "elastic" else {}
    error = np.linalg.norm(points - pair.truth, axis=1) / extent(pair.source)
    rms = _rms(error)
    known = job.group != FOREIGN
    return [
        {
            "group": job.group,
            "name": job.name,
            "seed": job.seed,
            "method": job.method,
            "RMS error": rms if known else None,
            "RMS error seen": _rms(error[pair.seen]) if known else None,
            "RMS error unseen": _rms(error[~pair.seen]) if known and not pair.seen.all() else None,
            "right": bool(known and rms <= MAX_ERROR),
            "reported as deformed": called,
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
    ours = [row for row in made if row["method"] == "elastic" and row["features"]]
    outcomes = [row["right"] for row in ours]
    fitted = {}
    if min(outcomes.count(True), outcomes.count(False)) >= LEAST_RUNS:
        known = np.array([(1.0, *row["features"].values()) for row in ours])
        constants = logistic_regression(known, np.array(outcomes, float))
        fitted["Confidence, tried on bodies that it was not fitted to"] = _cross_validated(ours, known)
        terms = ("constant", *ours[0]["features"])
        fitted["Constants of the verdict"] = [
            {"term": term, "in use": used, "fitted": float(value)}
            for term, used, value in zip(terms, VERDICT.logit, constants, strict=True)
        ]
    return {"": lines, **fitted}


def _cross_validated(rows: Sequence[dict[str, Any]], known: Floats) -> list[dict[str, Any]]:
    """A line for each body: constants fitted to the runs of all other bodies, and tried on its own."""
    right = np.array([row["right"] for row in rows])
    bodies = np.array([row["name"] for row in rows])
    tried = np.zeros(len(rows))
    for body in dict.fromkeys(bodies):
        mine = bodies == body
        tried[mine] = logistic(known[mine] @ logistic_regression(known[~mine], right[~mine].astype(float)))
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
                "mean confidence of right": float(tried[mine & right].mean()) if (mine & right).any() else None,
                "of wrong": float(tried[mine & ~right].mean()) if (mine & ~right).any() else None,
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
        f"right: RMS error of at most {100 * MAX_ERROR:g} % of the source's extent; of different bodies nothing",
        f"pycpd: at most {PEER_ITERATIONS} iterations, its default; on {LARGE} {FEW_ITERATIONS}, to time them",
    ]
    for group in CONDITIONS:
        elastic, rigid = of.get((group, "elastic")), of.get((group, "rigid"))
        if elastic and rigid:
            ratio = elastic["RMS error (% of extent)"] / rigid["RMS error (% of extent)"]
            said.append(f"{group}: the elastic method's error is {ratio:.2f} of rigid registration's")
    both = [row for row in rows if row["method"] == "elastic" and "note" not in row]
    wrong = sum(row["reported as deformed"] and not row["right"] for row in both)
    said.append(f"elastic: {sum(row['reported as deformed'] for row in both)} of {len(both)} called, {wrong} wrongly")
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


@lru_cache(maxsize=2)
def _pair(group: str, name: str, seed: int, points: int) -> DeformedPair:
    if group == FOREIGN:
        names = deformations()
        turn, kind = seed % (len(names) - 1), seed // (len(names) - 1)
        other = names[(names.index(name) + 1 + turn) % len(names)]
        _, viewpoint, outliers = list(CONDITIONS.values())[kind % len(CONDITIONS)]
        source = deformed_pair(name, 0.0, points=points, seed=seed)
        target = deformed_pair(other, 0.5, points=points, viewpoint=viewpoint, outliers=outliers, seed=seed + 1)
        return replace(source, target=target.target, name=f"{name} to {other}")
    amount, viewpoint, outliers = CONDITIONS.get(group, CONDITIONS[WHOLE])
    return deformed_pair(name, amount, points=points, viewpoint=viewpoint, outliers=outliers, variant=seed, seed=seed)


def _pycpd(source: Floats, target: Floats, iterations: int) -> tuple[Floats, int]:
    """Deformable registration by pycpd with its default settings, scaled to unit spread; and its iterations."""
    from pycpd import DeformableRegistration

    centre, unit = target.mean(axis=0), float(target.std(axis=0).max())
    method = DeformableRegistration(X=(target - centre) / unit, Y=(source - centre) / unit, max_iterations=iterations)
    moved, _ = method.register()
    return np.asarray(moved * unit + centre), int(method.iteration)
