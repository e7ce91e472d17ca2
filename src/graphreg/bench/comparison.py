"""Every method on the same pair, from the same pose: one run of one method, and the tables that many of them make.

No method is told where the source starts: it gets the clouds as they lie. Local ones begin with both centroids in one
place, as the paper's authors' program does; peers that are local begin where the source is. Methods that have to be
told a voxel size get one that suits the clean scans, and so do not suffer from outliers that make a cloud look larger.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.pairs import CLEAN, Pair, Spoiling, pair_of, starts_of
from graphreg.bench.peers import PEERS, installed, told
from graphreg.clouds import Floats
from graphreg.errors import InputError, MissingExtraError
from graphreg.metrics import rmsd
from graphreg.poses import pose, rotation_from_vector, transform
from graphreg.registration import methods, run_method

Row = Mapping[str, Any]

OURS = "graphreg"
# These thin out clouds on their own, after they have cleaned them.
CLEANING = ("graphreg", "graphreg-paper", "pipl")
# So many voxels of the methods that have to be told one make up the longer cloud, as by their own defaults on scans
# without outliers. Those of these methods, which look at all pairs of points, are so much larger.
CELLS = 200
COARSER = {"cpd": 2, "ecm": 2}
# Stages of our methods that come before the registration itself, which is all that the paper's times count.
PREPARING = ("draw", "clean", "thin", "describe", "judge", "total")
# Degrees that rounding alone can make: what is off by less is exact.
ROUNDING = 1e-6
# For charts, which hold a few lines each: ours beside those of one kind.
FAMILIES = {
    "physics": ("graphreg-paper", "pipl"),
    "closest points": ("icp", "icp-kp", "icp-kn", "tricp", "fricp"),
    "mixtures": ("gmm", "cpd", "ecm"),
    "matched features, congruent sets": ("fgr", "teaser", "super4pcs"),
    "other libraries": ("gicp", "kiss+gicp", "open3d-icp", "fgr+icp", "ransac+icp"),
}
# How to read the tables of all comparisons.
READING = (
    "right: as near to the truth as the pair asks for (objects: 2 degrees and 1 % of the target's diagonal); degrees "
    "and quantiles are of all runs, right or not; a run that ends in an error leaves the source where it was",
    "every method gets the clouds as they lie; local ones first lay the centroids on each other, as the paper's "
    "authors' program does, local ones of other libraries do not; all but graphreg, graphreg-paper and pipl are told a "
    "voxel size that suits the clean scans, cpd and ecm twice that",
    "where the ground truth cannot tell: ours is behind by less than the truth is known to; for the Stanford and KITTI "
    "scans that is our own estimate, from how far our method and GICP agree with each other and not with the truth",
    "seconds: the registration alone, which is what the paper counts, and the whole call; the paper's figures are of "
    "another machine, and partly of other data",
)


@dataclass(frozen=True)
class Run:
    """One method on one pair, once.

    seed      of the method, of what spoils the scans and, where we make these, of the scans
    points    about how many made scans have; None for what such a scanner gives
    start     number of the pose that the source is moved to: 0 as scanned, then random ones
    turned    degrees that the source is then turned about the x, y and z axes through its centroid, one after the other
    settings  of the method, as (name, value)
    """

    pair: str
    method: str
    seed: int = 0
    spoiling: Spoiling = CLEAN
    points: int | None = None
    start: int = 0
    turned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def cell(self) -> Any:
        """Runs of a method with the same one go into one figure of the tables."""
        return self.pair, self.spoiling.name, self.settings


@dataclass(frozen=True)
class Attempt:
    """What a method made of two clouds; where it ended in an error, that it left the source where it was.

    seconds   of the whole call
    stages    {stage: seconds}, of our own methods
    """

    found: Floats
    seconds: float
    stages: dict[str, float]
    problem: str


def methods_of(names: str | None, peers: bool) -> list[str]:
    """All methods, with peers those of other libraries that are installed; or just those that are asked for."""
    there = installed(PEERS)
    if names is None:
        return [*methods(), *(there if peers else ())]
    asked = names.split(",")
    for name in asked:
        if name in PEERS and name not in there:
            raise MissingExtraError(f"the method {name}", "peers")
        if name not in (*methods(), *PEERS):
            raise InputError(f"methods: {name!r} is none of {', '.join((*methods(), *PEERS))}")
    return list(dict.fromkeys(asked))


def attempt(
    method: str, source: Floats, target: Floats, pair: Pair, seed: int, settings: Mapping[str, Any] | None = None
) -> Attempt:
    """Register once. An error is a failure of the method, and counts as one."""
    peer = installed(PEERS).get(method)
    given = dict(settings or {})
    if method not in CLEANING and peer is None:
        given["voxel"] = given.get("voxel", _voxel(pair)) * COARSER.get(method, 1)
    stages: dict[str, float] = {}
    began = time.perf_counter()
    try:
        if peer is not None:
            found = np.asarray(peer.run(source.copy(), target.copy(), given.get("voxel", pair.voxel), pair.kind))
        else:
            result = run_method(source, target, method, given, seed=seed)
            found = result.transformation
            stages = {stage: round(seconds, 6) for stage, seconds in result.timings.items()}
        if found.shape != (4, 4) or not np.isfinite(found).all():
            raise ArithmeticError("the pose is not finite")
        problem = ""
    except Exception as failure:
        found, problem = np.eye(4), f"{type(failure).__name__}: {failure}"
    return Attempt(np.asarray(found, np.float64), time.perf_counter() - began, stages, problem)


def measure(run: Run, data: Path | None) -> Iterator[dict[str, Any]]:
    pair, tried, found = outcome_of(run, data)
    yield row_of(run, pair, tried, found)


def outcome_of(run: Run, data: Path | None) -> tuple[Pair, Attempt, Floats]:
    """The pair, what the method did, and the motion from the pose as scanned that this comes to."""
    pair = pair_of(run.pair, data, run.points, run.seed if run.pair.startswith("made_") else 0)
    source, target = run.spoiling.of(pair.source, 2 * run.seed), run.spoiling.of(pair.target, 2 * run.seed + 1)
    *_, start = starts_of(pair.name, pair.kind, pair.source, run.start + 1)
    start = turned_about_centroid(transform(start, pair.source), run.turned) @ start
    tried = attempt(run.method, transform(start, source), target, pair, run.seed, dict(run.settings))
    return pair, tried, tried.found @ start


def row_of(run: Run, pair: Pair, tried: Attempt, found: Floats) -> dict[str, Any]:
    degrees, distance = pair.errors(found)
    register_s = sum(seconds for stage, seconds in tried.stages.items() if stage not in PREPARING)
    return {
        **_about(run),
        "kind": pair.kind,
        "right": not tried.problem and pair.is_right(degrees, distance),
        "degrees": degrees,
        "rmsd": rmsd(found, pair.truth_for(found), pair.source),
        "rmsd of tolerance": distance,
        "seconds": tried.seconds,
        "register s": register_s if tried.stages else None,
        "truth known to": pair.known_to,
        "problem": tried.problem,
        "stages": tried.stages,
    }


def left_out(run: Run, why: str) -> dict[str, Any]:
    """The row of a run that was not made."""
    missing = ("kind", "right", "degrees", "rmsd", "rmsd of tolerance", "seconds", "register s", "truth known to")
    return {**_about(run), **dict.fromkeys(missing), "problem": why, "stages": {}}


def made(rows: Sequence[Row]) -> list[Row]:
    """Rows of runs that were made."""
    return [row for row in rows if row["right"] is not None]


def turned_about_centroid(points: Floats, degrees: Sequence[float]) -> Floats:
    """The motion that turns about the x, the y and the z axis through the centroid, one after the other."""
    centre, turn = points.mean(axis=0), np.eye(3)
    for axis, angle in zip(np.eye(3), degrees, strict=True):
        turn = rotation_from_vector(np.radians(angle) * axis) @ turn
    return pose(turn, centre - turn @ centre)


def thirty_about_each_axis(seed: int) -> tuple[float, float, float]:
    """The paper's perturbation of about 30 degrees along the three axes; to which side, the seed says."""
    x, y, z = np.random.default_rng([30, seed]).choice([-30.0, 30.0], 3).tolist()
    return x, y, z


@dataclass(frozen=True)
class Column:
    """A group of runs, and what the paper reports beside it.

    of         whether a row belongs to it
    label      what the paper measured
    published  {field of a row: {method: the paper's figure}}
    """

    of: Callable[[Row], bool]
    label: str = ""
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def tables_of(rows: Sequence[Row], columns: Mapping[str, Column]) -> dict[str, list[dict[str, Any]]]:
    """Errors and times, a line a method, the paper's figures beside ours; then every figure of each group."""
    details = []
    for title, column in columns.items():
        inside = [row for row in rows if column.of(row)]
        for name in _in_order(row["method"] for row in inside):
            mine = [row for row in inside if row["method"] == name]
            details.append({"runs on": title, "method": name, **statistics_of(mine)})
    return {
        "Degrees off the truth, medians": side_by_side(rows, columns, "degrees"),
        "Seconds of the registration alone, medians": side_by_side(rows, columns, "register s"),
        "Seconds of the whole call, medians": side_by_side(rows, columns, "seconds"),
        "Every figure": details,
    }


def side_by_side(rows: Sequence[Row], columns: Mapping[str, Column], name: str) -> list[dict[str, Any]]:
    """Medians of a field, a line a method, the paper's figures beside ours."""
    lines: list[dict[str, Any]] = [{"method": method} for method in _in_order(row["method"] for row in rows)]
    for title, column in columns.items():
        inside = made([row for row in rows if column.of(row)])
        for line in lines:
            line[title] = median_of([row for row in inside if row["method"] == line["method"]], name)
            if name in column.published:
                line[f"paper: {column.label}"] = column.published[name].get(line["method"])
    return lines


def statistics_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Of runs of one method: how many are right, errors and times. Errors are of all runs, right or not."""
    ran = made(rows)
    degrees = [row["degrees"] for row in ran]
    low, high = np.quantile(degrees, [0.1, 0.9]) if degrees else (None, None)
    return {
        "right": f"{sum(row['right'] for row in ran)} of {len(ran)}",
        "mean degrees": float(np.mean(degrees)) if degrees else None,
        "median degrees": median_of(ran, "degrees"),
        "10 %": low,
        "90 %": high,
        "median rmsd": median_of(ran, "rmsd"),
        "register s": median_of(ran, "register s"),
        "whole call s": median_of(ran, "seconds"),
        "not run": len(rows) - len(ran),
    }


def median_of(rows: Sequence[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row[name] is not None]
    return float(np.median(values)) if values else None


def standing(rows: Sequence[Row], columns: Mapping[str, Column]) -> list[str]:
    """Whether ours is first in accuracy in each column: by the median of degrees off the truth, in plain words."""
    first, within, behind = [], [], []
    for title, column in columns.items():
        inside = made([row for row in rows if column.of(row)])
        medians = {
            name: float(np.median([row["degrees"] for row in inside if row["method"] == name]))
            for name in _in_order(row["method"] for row in inside)
        }
        if OURS not in medians or len(medians) == 1:
            continue
        best = min(medians, key=medians.__getitem__)
        known_to = max(row["truth known to"] for row in inside)
        beside = f"{title} ({medians[OURS]:.3g} beside {medians[best]:.3g} of {best}"
        if medians[OURS] <= max(medians[best], ROUNDING):
            first.append(title)
        elif medians[OURS] - medians[best] <= known_to:
            within.append(f"{beside}; the truth is known to about {known_to:g})")
        else:
            behind.append(f"{beside})")
    lines = []
    if first:
        lines.append(f"{OURS} is first in accuracy on: {', '.join(first)}")
    if within:
        lines.append(f"{OURS} is not first, but the ground truth cannot tell, on: {', '.join(within)}")
    if behind:
        lines.append(f"{OURS} is NOT first in accuracy on: {', '.join(behind)}")
    return lines


def remarks(rows: Sequence[Row]) -> list[str]:
    """What every table of the comparison has to say: peers, runs that were left out, methods that ended in errors."""
    lines = [*READING, *told(PEERS, {row["method"] for row in rows})]
    runs = {name: [row for row in rows if row["method"] == name] for name in _in_order(r["method"] for r in rows)}
    short = [f"{name} {len(made(mine))} of {len(mine)}" for name, mine in runs.items() if len(made(mine)) < len(mine)]
    if short:
        lines.append(f"runs made in the time that a method may take, all methods but these: all; {', '.join(short)}")
    problems: dict[str, int] = {}
    for row in made(rows):
        if row["problem"]:
            said = f"{row['method']}: {row['problem']}"
            problems[said] = problems.get(said, 0) + 1
    lines += [f"ended in an error, {count} times: {said}" for said, count in problems.items()]
    return lines


def columns_by(rows: Sequence[Row], name: str) -> dict[str, Column]:
    """A column for each value of a field."""
    return {str(value): Column(_equals(name, value)) for value in _in_order(row[name] for row in rows)}


def families_in(rows: Sequence[Row]) -> dict[str, list[str]]:
    """For charts: {title: ours, and the methods of one kind that were measured}."""
    there = _in_order(row["method"] for row in rows)
    families = {title: [name for name in names if name in there] for title, names in FAMILIES.items()}
    return {title: [OURS, *names] for title, names in families.items() if names and OURS in there}


def _equals(name: str, value: Any) -> Callable[[Row], bool]:
    return lambda row: bool(row[name] == value)


def _about(run: Run) -> dict[str, Any]:
    return {
        "pair": run.pair,
        "spoilt": run.spoiling.name,
        "start": run.start,
        "turned": list(run.turned),
        "settings": ", ".join(f"{name} {value}" for name, value in run.settings),
        "method": run.method,
        "seed": run.seed,
    }


def _voxel(pair: Pair) -> float:
    return float(max(np.ptp(cloud, axis=0).max() for cloud in (pair.source, pair.target)) / CELLS)


def _in_order(values: Any) -> list[Any]:
    return list(dict.fromkeys(values))
