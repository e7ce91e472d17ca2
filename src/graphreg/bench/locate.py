"""A small part in a large scene: recall, verdict and time of `locate`, beside global registration by others.

Crops of one scan of a pair are looked for in the other one, objects on a table among others, frames of a LiDAR in a
city of a square kilometre; and what is not there: objects on a table without them, crops in the scan of something else.
Every part has a random pose. Other libraries get the part, the scene, and a voxel size of 1/80 of the part's diagonal.

The constants of the verdict are fitted to all queries for parts without symmetry, and printed beside those in use.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.calibration import FOLDS, logistic_regression
from graphreg.bench.initial_poses import diagonal
from graphreg.bench.measured_parts import ENGINE, SYNTHETIC_SCANS
from graphreg.bench.pairs import kinds_of, pair_of, points_of, select
from graphreg.bench.peers import PEERS, describe_peers, installed
from graphreg.clouds import Floats
from graphreg.datasets import city, clutter
from graphreg.engine.part_pipeline import PART_PIPELINE, part_features
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.symmetry import uniform_rotations
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import normals
from graphreg.locating import locate_with_evidence
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, transform
from graphreg.registration import prepare, register
from graphreg.reports.plots import Panel, plot_grid

TITLE = "A part in a scene"
PARTS = (*ENGINE, "locating", *SYNTHETIC_SCANS)
OURS = "graphreg locate"
# Methods that are compared on the same queries; local ones are not.
OTHERS = ("graphreg register", "kiss+gicp", "ransac+icp")
# Seconds that the runs of a method may take together.
BUDGET = 400.0
SHARES = (0.3, 0.2, 0.1)
CROPS, QUICK_CROPS = 2, 1
QUICK_PAIRS = "synthetic_casting_30"
CITY_FRAMES = 10
# A crop is taken where this share of its points is within 1 % of the other scan, and where its normals differ.
LEAST_OVERLAP, LEAST_STRUCTURE, LEAST_POINTS = 0.8, 0.03, 300
# A pose is right within so many degrees, and so much of the part's diagonal.
MAX_DEGREES, MAX_SHARE = 5.0, 0.1
VOXELS_IN_PART = 80
IN = " in "  # between the names of two pairs


@dataclass(frozen=True)
class Job:
    """One query by one method.

    Attributes
    ----------
    group : str
        "crop 0.3", "crop 0.2", "crop 0.1", "foreign crop", "object", "instances", "absent" or "city".
    name : str
        Of the pair that is cropped, of the object, or of both pairs: "the one cropped in the other".
    number : int
        Number of the query, which is also its seed.
    method : str
    points : int or None
        Approximate number of points of a synthetic scan.
    """

    group: str
    name: str
    number: int
    method: str
    points: int | None = None

    @property
    def cell(self) -> Any:
        """Runs of a method with equal cells are summarised by one figure of the tables."""
        return self.group


@dataclass(frozen=True, eq=False)
class Query:
    """A part, a scene, and all poses that are right."""

    part: Floats
    scene: Floats | PreprocessedCloud
    poses: Floats


def jobs(data: Path | None, quick: bool = False, pairs: str | None = None, peers: bool = True) -> list[Job]:
    """Return the queries, methods interleaved."""
    kinds = select(kinds_of(data), pairs or (QUICK_PAIRS if quick else "*"))
    others = [name for name in OTHERS if name not in PEERS or (peers and name in installed(PEERS))]
    queries = [
        (f"crop {share}", name, number, points_of(name, quick))
        for share in SHARES
        for name in kinds
        if "teapot" not in name
        for number in range(QUICK_CROPS if quick else CROPS)
    ]
    cropped = [name for name in kinds if "teapot" not in name]
    half = len(cropped) // 2  # neighbours in the list may be pairs of the same object
    queries += [
        ("foreign crop", f"{name}{IN}{other}", number, points_of(name, quick))
        for name, other in zip(cropped, cropped[half:] + cropped[:half], strict=True)
        if name != other
        for number in range(len(SHARES))
    ]
    objects = [
        (group, name, number, None)
        for group in ("object", "instances", "absent")
        for name in clutter.PARTS
        for number in range(1 if quick else 3)
    ]
    frames = [] if quick else [("city", "frame", number, None) for number in range(CITY_FRAMES)]
    return [
        Job(group, name, number, method, points)
        for group, name, number, points in (*queries, *objects, *frames)
        for method in (OURS, *(others if group.startswith("crop") or group == "object" else ()))
    ]


def measure(job: Job, data: Path | None) -> list[dict[str, Any]]:
    """Return the row of a query; none where the pair has no crop with structure in the overlap."""
    query = _query(job.group, job.name, job.number, job.points, data)
    if query is None:
        return []
    most = len(query.poses) + 1 if job.group == "instances" else 1
    began = time.perf_counter()
    features: dict[str, float] = {}
    if job.method == OURS:
        found = locate_with_evidence(query.part, query.scene, most)
        answers = [(location.equivalent_poses, location.symmetry, location.success) for location, _ in found]
        if found and not found[0][0].symmetry:
            features = part_features(found[0][1].verdict.evidence, found[0][1].ratio)
    else:
        answers = [_other(job.method, query)]
    seconds = time.perf_counter() - began
    right = [any(_is_right(poses, truth, query.part, words) for truth in query.poses) for poses, words, _ in answers]
    called = [success for *_, success in answers]
    return [
        {
            "group": job.group,
            "name": job.name,
            "query": job.number,
            "method": job.method,
            "correct": sum(right) >= len(query.poses) if len(query.poses) else not any(called),
            "first is right": bool(right and right[0]),
            "features": features,
            "reported as located": any(called),
            "false success": sum(success and not good for good, success in zip(right, called, strict=True)),
            "seconds": seconds,
        }
    ]


def left_out(job: Job, reason: str) -> dict[str, Any]:
    """Return the row of a query that is not made."""
    row = {"group": job.group, "name": job.name, "query": job.number, "method": job.method, "correct": None}
    return {**row, "reported as located": False, "false success": 0, "seconds": 0.0, "note": reason}


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a table with a line for each group of queries and method."""
    made = [row for row in rows if row["correct"] is not None]
    found = {"": _by_group(made)}
    ours = [row for row in made if row["method"] == OURS and row["features"]]
    outcomes = [row["first is right"] for row in ours]
    if min(outcomes.count(True), outcomes.count(False)) >= FOLDS:
        found["Fitted constants"] = _fitted_constants(ours)
    return found


def _by_group(made: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each group of queries and method."""
    lines = []
    for group, method in dict.fromkeys((row["group"], row["method"]) for row in made):
        mine = [row for row in made if (row["group"], row["method"]) == (group, method)]
        lines.append(
            {
                "queries": group,
                "method": method,
                "correct": sum(row["correct"] for row in mine),
                "of": len(mine),
                "reported as located": sum(row["reported as located"] for row in mine),
                "false successes": sum(row["false success"] for row in mine),
                "median time (s)": round(float(np.median([row["seconds"] for row in mine])), 2),
            }
        )
    return lines


def _fitted_constants(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The constants of the verdict on parts without symmetry: in use, fitted, fitted without a fold of the names."""
    known = np.array([(1.0, *row["features"].values()) for row in rows])
    right = np.array([row["first is right"] for row in rows], float)
    names = sorted({row["name"] for row in rows})
    folds = np.array([names.index(row["name"]) % FOLDS for row in rows])
    fitted = logistic_regression(known, right)
    without = np.array([logistic_regression(known[folds != out], right[folds != out]) for out in range(FOLDS)])
    return [
        {
            "term": term,
            "in use": PART_PIPELINE.logit[number],
            "fitted": float(fitted[number]),
            "smallest without a fold": float(without[:, number].min()),
            "largest without a fold": float(without[:, number].max()),
        }
        for number, term in enumerate(("constant", *rows[0]["features"]))
    ]


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    return [
        "crop: a ball of that share of the scene's diagonal, cut from one scan of a pair where it overlaps the other "
        f"by {100 * LEAST_OVERLAP:.0f} % and its normals differ, looked for in the other scan",
        "foreign crop: looked for in the scan of something else; object: one on a table with 15 others; instances: "
        "three of it; absent: none; city: a LiDAR frame in a map of a square kilometre, which was prepared before",
        f"correct: within {MAX_DEGREES:g} degrees and {100 * MAX_SHARE:.0f} % of the part's diagonal, up to the "
        "symmetry of the part; every instance; of absent parts, none reported",
        *describe_peers({name: PEERS[name] for name in OTHERS if name in PEERS}, {row["method"] for row in rows}),
        *(
            f"{line['queries']}, {line['method']}: {line['correct']} of {line['of']} correct, "
            f"{line['false successes']} false successes, {line['median time (s)']:g} s"
            for line in tables(rows)[""]
        ),
    ]


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return a chart (SVG) of what is found, and in which time, over the size of a crop; and of objects."""
    lines = _by_group([row for row in rows if row["correct"] is not None])
    methods = list(dict.fromkeys(line["method"] for line in lines))
    shares: dict[str, tuple[list[float], list[float]]] = {}
    times: dict[str, tuple[list[float], list[float]]] = {}
    for method in methods:
        crops = [
            (100 * share, line)
            for share in sorted(SHARES)
            for line in lines
            if (line["queries"], line["method"]) == (f"crop {share:g}", method)
        ]
        if crops:
            sizes = [size for size, _ in crops]
            shares[method] = sizes, [100 * line["correct"] / line["of"] for _, line in crops]
            times[method] = sizes, [line["median time (s)"] for _, line in crops]
    size = "size of the crop (% of the scene)"
    objects = {
        line["method"]: ([0], [100 * line["correct"] / line["of"]]) for line in lines if line["queries"] == "object"
    }
    panels = [
        Panel(shares, "Crops that are found", size, "correct (%)"),
        Panel(times, "Time", size, "median (s)", log_y=True),
        Panel(objects, "Objects among others", "correct (%)", "", bars=True),
    ]
    return {"locate": plot_grid([panel for panel in panels if panel.series], "locate")}


@lru_cache(maxsize=4)
def _query(group: str, name: str, number: int, points: int | None, data: Path | None) -> Query | None:
    rng = np.random.default_rng([number, 15])
    if group == "foreign crop":
        cropped, other = name.split(IN)
        return _foreign_crop(SHARES[number], cropped, other, points, data, rng)
    if group.startswith("crop"):
        return _crop(float(group.split()[1]), name, points, data, rng)
    if group == "city":
        scan = city.frame(seed=number)
        return _moved(scan.points, _prepared_city(), scan.pose[None], rng)
    example = clutter.table(name, instances={"object": 1, "instances": 3, "absent": 0}[group], noise=0.004, seed=number)
    return _moved(example.part, example.scene, example.poses, rng)


@lru_cache(maxsize=1)
def _prepared_city() -> PreprocessedCloud:
    return prepare(city.city_map(), part=city.frame(seed=CITY_FRAMES).points)


def _crop(share: float, name: str, points: int | None, data: Path | None, rng: np.random.Generator) -> Query | None:
    """A crop of the source where it overlaps the target and has structure; None after some attempts."""
    from scipy.spatial import cKDTree

    pair = pair_of(name, data, points)
    size, near = diagonal(pair.target), cKDTree(pair.target)
    for _ in range(100):
        centre = pair.source[rng.integers(len(pair.source))]
        part = pair.source[np.linalg.norm(pair.source - centre, axis=1) < share * size / 2]
        if len(part) < LEAST_POINTS:
            continue
        distance, _ = near.query(transform(pair.truth, part))
        if np.mean(distance < 0.01 * size) < LEAST_OVERLAP:
            continue
        directions = normals(neighbour_graph(part, 20))
        if np.linalg.eigvalsh(directions.T @ directions / len(part))[0] >= LEAST_STRUCTURE:
            return _moved(part, pair.target, pair.truth[None], rng)
    return None


def _foreign_crop(
    share: float, name: str, other: str, points: int | None, data: Path | None, rng: np.random.Generator
) -> Query | None:
    """A crop of one pair that is looked for in another, scaled to the same share of its diagonal."""
    query = _crop(share, name, points, data, rng)
    if query is None:
        return None
    scene = pair_of(other, data, points).target
    scale = share * diagonal(scene) / diagonal(query.part)
    return Query(scale * query.part, scene, np.empty((0, 4, 4)))


def _moved(part: Floats, scene: Floats | PreprocessedCloud, poses: Floats, rng: np.random.Generator) -> Query:
    """The query with the part in a random pose."""
    size = diagonal(part)
    T = pose(uniform_rotations(5000)[rng.integers(5000)], rng.uniform(-size, size, 3))
    return Query(transform(T, part), scene, poses @ inverse(T))


def _other(method: str, query: Query) -> tuple[Floats, str, bool]:
    """The pose of another method; an exception is a failure."""
    scene = query.scene.points if isinstance(query.scene, PreprocessedCloud) else query.scene
    if method == "graphreg register":
        result = register(query.part, scene)
        return result.transformation[None], "", result.success
    try:
        T = np.asarray(PEERS[method].run(query.part, scene, diagonal(query.part) / VOXELS_IN_PART, "object"))
    except Exception:
        T = np.eye(4)
    return T[None], "", False


def _is_right(poses: Floats, truth: Floats, part: Floats, symmetry: str) -> bool:
    """Whether one of equivalent poses is the true one; of a body of revolution, all but the turn about its axis."""
    tolerance = MAX_SHARE * diagonal(part)
    if "any rotation" in symmetry:
        centre = part.mean(axis=0, keepdims=True)
        return bool(np.linalg.norm(transform(poses[0], centre) - transform(truth, centre)) <= tolerance)
    return any(angular_error(T, truth) <= MAX_DEGREES and rmsd(T, truth, part) <= tolerance for T in poses)
