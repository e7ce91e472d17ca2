"""Does the paper's claim hold? Every baseline with and without `features=True`, interleaved, on the same points.

The conclusion says that GSP-induced invariants generalise to ICP-based and probabilistic registration, "reducing their
computational complexity and enhancing the point matching confidence". Measured are processor time and success from
small and large initial rotations, with noise, outliers and partial overlap, on synthetic and on real scans; and the
share of correspondences that are right at the initial pose.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from graphreg.baselines import BASELINES
from graphreg.baselines.alike_points import JointClosestPoints, sample_with_invariants
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.baselines.closest_points import ClosestPoints, PairSearch, within_distance
from graphreg.baselines.fpfh_correspondences import match_clouds
from graphreg.bench.corruption import CLEAN, Corruption
from graphreg.bench.initial_poses import diagonal
from graphreg.bench.measured_parts import BASELINE_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pairs import Pair, pair_of
from graphreg.clouds import Floats, sample_rows
from graphreg.method_interface import MethodSettings
from graphreg.poses import inverse, pose, transform
from graphreg.reports.plots import Panel, plot_grid

TITLE = "Invariants in other methods"
PARTS = (*BASELINE_METHODS, *SYNTHETIC_SCANS)
LOCAL = ("icp", "icp-kn", "tricp", "fricp", "cpd", "ecm", "gmm")
GLOBAL = ("fgr", "teaser", "super4pcs")
# Initial rotations in degrees; global methods, whose result does not depend on it, have the first only.
ANGLES = (20.0, 60.0, 100.0)
POINTS, QUICK_POINTS = 6000, 2000
# Voxels of all methods in the diagonal of the target: about the spacing of so many points.
VOXELS = 130
REAL = "real scans"
# Synthetic pairs by condition: names of the pairs, and what is done to both scans.
BODIES = ("dragon", "hare", "casting")
CONDITIONS: dict[str, tuple[int, Corruption]] = {
    "clean": (30, CLEAN),
    "noise 0.5 %": (30, Corruption("noise 0.5 %", noise=0.005)),
    "30 % outliers": (30, Corruption("30 % outliers", outliers=0.3, outlier_kind="uniform")),
    "viewpoints 60 degrees apart": (60, CLEAN),
}
REAL_PAIRS = (
    "bunny_045_to_000",
    "dragon_48_to_0",
    "armadillo_SIM_30_to_0",
    "eth_facade_4_to_3",
    "3dmatch_redkitchen_4_to_0",
)
# A correspondence is right within this many voxels of the true position.
RIGHT_WITHIN = 3.0
# Weight of the invariants there, in spreads of the target: one of those that the methods pass through.
WEIGHT = 1.0
RESAMPLES = 2000
# Starts that conclusions are drawn from, at least.
LEAST_STARTS = 10
# Columns of the table of correspondences.
NAMES = ("nearest point", "nearest in position and invariants", "FPFH", "graph descriptors")


@dataclass(frozen=True)
class InvariantsJob:
    """One pair, condition and initial rotation: all methods, with and without features.

    Attributes
    ----------
    pair : str
    condition : str
    degrees : float
        Initial rotation about the centroid, away from the truth, about a random axis.
    points : int
        Points of each scan, sampled evenly from all.
    """

    pair: str
    condition: str
    degrees: float
    points: int


def jobs(data: Path | None, quick: bool = False) -> list[InvariantsJob]:
    """Return the jobs: synthetic pairs under every condition, then real ones."""
    if quick:
        return [InvariantsJob("synthetic_hare_30", "clean", degrees, QUICK_POINTS) for degrees in ANGLES[:2]]
    listed = [
        InvariantsJob(f"synthetic_{body}_{apart}", condition, degrees, POINTS)
        for degrees in ANGLES
        for condition, (apart, _) in CONDITIONS.items()
        for body in BODIES
    ]
    real = REAL_PAIRS if data is not None else ()
    return listed + [InvariantsJob(name, REAL, degrees, POINTS) for degrees in ANGLES for name in real]


def measure(job: InvariantsJob, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each method without and with features, and one on the correspondences at the initial pose."""
    pair, source, target, start = _prepared(job, data)
    voxel = diagonal(pair.target) / VOXELS
    about = {"pair": job.pair, "condition": job.condition, "initial rotation (deg)": job.degrees}
    for method in (*LOCAL, *(GLOBAL if job.degrees == ANGLES[0] else ())):
        for features in (False, True):
            settings = _settings(method, features, voxel)
            began = time.process_time()
            found = BASELINES[method].run(source, target, settings, start, 0, 1).transformation
            seconds = time.process_time() - began
            degrees, distance = pair.errors(found)
            yield {
                **about,
                "method": method,
                "features": features,
                "correct": pair.is_correct(degrees, distance),
                "rotation error (deg)": degrees,
                "rmsd / tolerance": distance,
                "cpu (s)": seconds,
            }
    yield {**about, "method": None, **_right_correspondences(pair, source, target, start, voxel)}


def _settings(method: str, features: bool, voxel: float) -> MethodSettings:
    return replace(BASELINES[method].settings, features=features, voxel=voxel)  # type: ignore[call-arg]


@lru_cache(maxsize=2)
def _prepared(job: InvariantsJob, data: Path | None) -> tuple[Pair, Floats, Floats, Floats]:
    """The pair, both scans corrupted and thinned, and the initial transform."""
    pair = pair_of(job.pair, data)
    corruption = CONDITIONS[job.condition][1] if job.condition in CONDITIONS else CLEAN
    clouds = []
    for number, points in enumerate((pair.source, pair.target)):
        thinned = points[sample_rows(len(points), job.points)]
        clouds.append(corruption.apply(thinned, number))
    rng = np.random.default_rng([int(job.degrees), *job.pair.encode()])
    axis = rng.normal(size=3)
    rotation = Rotation.from_rotvec(np.radians(job.degrees) * axis / np.linalg.norm(axis)).as_matrix()
    centre = transform(pair.truth, pair.source).mean(axis=0)
    return pair, clouds[0], clouds[1], pose(rotation, centre - rotation @ centre) @ pair.truth


def _right_correspondences(pair: Pair, source: Floats, target: Floats, start: Floats, voxel: float) -> dict[str, float]:
    """Shares of the correspondences whose target point is where the truth moves the source point to."""
    run = BaselineRun(source, target, voxel, start, 1, None)
    whole = run.source
    origin = run.outcome().target.mean(axis=0)
    T_true = pair.truth @ inverse(start)

    def right(points: Floats, partners: Floats) -> float:
        """Share of partners that are where the truth moves the points to."""
        true = transform(T_true, points + origin) - origin
        return float((np.linalg.norm(partners - true, axis=1) <= RIGHT_WITHIN * run.voxel).mean())

    found = {}
    for name, features in (("FPFH", False), ("graph descriptors", True)):
        matches = match_clouds(run, 5.0, features)
        found[name] = right(whole[matches[:, 0]], run.target[matches[:, 1]]) if len(matches) else 0.0
    invariants = sample_with_invariants(run, 0)
    spread = float(np.sqrt(run.target.var(axis=0).sum()))
    searches: dict[str, PairSearch] = {
        "nearest point": ClosestPoints(run),
        "nearest in position and invariants": JointClosestPoints(run, invariants, WEIGHT * spread),
    }
    for name, search in searches.items():
        found[name] = right(run.source, run.target[search.pairs(np.eye(4), within_distance(None)).nearest])
    return found


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return success and time of each method, and success by initial rotation and by condition; correspondences."""
    ran = [row for row in rows if row["method"] is not None]
    lines = []
    for method in _methods(ran):
        plain, alike = _paired(ran, method)
        gain = _interval([float(b["correct"]) - float(a["correct"]) for a, b in zip(plain, alike, strict=True)])
        ratio = np.exp(_interval([np.log(b["cpu (s)"] / a["cpu (s)"]) for a, b in zip(plain, alike, strict=True)]))
        both = [(a, b) for a, b in zip(plain, alike, strict=True) if a["correct"] and b["correct"]]
        lines.append(
            {
                "method": method,
                "correct without": f"{_count(plain)} of {len(plain)}",
                "correct with": f"{_count(alike)} of {len(alike)}",
                "gain (points of %)": f"{100 * gain[0]:+.0f} ({100 * gain[1]:+.0f} to {100 * gain[2]:+.0f})",
                "time ratio": f"{ratio[0]:.2f} ({ratio[1]:.2f} to {ratio[2]:.2f})",
                "median time without (s)": float(np.median([row["cpu (s)"] for row in plain])),
                "median time with (s)": float(np.median([row["cpu (s)"] for row in alike])),
                "median error without (deg)": _median([a["rotation error (deg)"] for a, _ in both]),
                "median error with (deg)": _median([b["rotation error (deg)"] for _, b in both]),
            }
        )
    matching = [row for row in rows if row["method"] is None]
    shares = [
        {"initial rotation (deg)": degrees, **{name: f"{100 * _mean(matching, degrees, name):.0f} %" for name in NAMES}}
        for degrees in _values(matching, "initial rotation (deg)")
    ]
    return {
        "": lines,
        "Correct by initial rotation: without, with": _by(ran, "initial rotation (deg)"),
        "Correct by condition: without, with": _by(ran, "condition"),
        "Right correspondences at the initial pose": shares,
    }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    ran = [row for row in rows if row["method"] is not None]
    starts = {(row["pair"], row["condition"], row["initial rotation (deg)"]) for row in ran}
    real = sum(condition == REAL for _, condition, _ in starts)
    lines = [
        f"{len(starts)} starts, {real} of them of real scans, which no constant was chosen on; both runs of a method "
        "one after the other, on the same points, one thread; time is processor time, without the verdict",
        "intervals: 95 %, bootstrap over starts; errors: over the starts where both are correct; global methods have "
        "the smallest initial rotation only",
    ]
    better, worse, faster, slower = [], [], [], []
    if len(starts) < LEAST_STARTS:
        return lines
    for method in _methods(ran):
        plain, alike = _paired(ran, method)
        _, low, high = _interval([float(b["correct"]) - float(a["correct"]) for a, b in zip(plain, alike, strict=True)])
        better += [method] if low > 0 else []
        worse += [method] if high < 0 else []
        _, low, high = _interval([np.log(b["cpu (s)"] / a["cpu (s)"]) for a, b in zip(plain, alike, strict=True)])
        faster += [method] if high < 0 else []
        slower += [method] if low > 0 else []
    none = "no method"
    lines += [
        f'"enhancing the point matching confidence" holds for {", ".join(better) or none}: more starts end correct, '
        f"beyond chance; fewer do for {', '.join(worse) or none}; for the others the interval contains zero",
        f'"reducing their computational complexity" holds for {", ".join(faster) or none}; '
        f"{', '.join(slower) or none} take longer; for the others the interval contains one",
    ]
    return lines


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return charts (SVG) of the share of correct runs over the initial rotation."""
    ran = [row for row in rows if row["method"] in LOCAL]
    panels = []
    for features in (False, True):
        series = {}
        for method in _methods(ran):
            mine = [row for row in ran if row["method"] == method and row["features"] == features]
            xs = _values(mine, "initial rotation (deg)")
            ys = [
                100 * float(np.mean([row["correct"] for row in mine if row["initial rotation (deg)"] == x])) for x in xs
            ]
            series[method] = xs, ys
        title = "with features=True" if features else "without"
        panels.append(Panel(series, title, "initial rotation (degrees)", "correct (%)"))
    return {"invariants": plot_grid(panels, "invariants")}


def _paired(rows: Sequence[dict[str, Any]], method: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    mine = [row for row in rows if row["method"] == method]
    return [row for row in mine if not row["features"]], [row for row in mine if row["features"]]


def _by(rows: Sequence[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    lines = []
    for method in _methods(rows):
        line: dict[str, Any] = {"method": method}
        for value in _values(rows, field):
            plain, alike = _paired([row for row in rows if row[field] == value], method)
            line[str(value)] = f"{_count(plain)}, {_count(alike)} of {len(plain)}" if plain else None
        lines.append(line)
    return lines


def _interval(values: Sequence[float]) -> Floats:
    """The mean, and its 95 % bootstrap interval."""
    numbers = np.array(values)
    samples = np.random.default_rng(0).integers(0, len(numbers), (RESAMPLES, len(numbers)))
    return np.array([numbers.mean(), *np.quantile(numbers[samples].mean(axis=1), [0.025, 0.975])])


def _mean(rows: Sequence[dict[str, Any]], degrees: float, name: str) -> float:
    return float(np.mean([row[name] for row in rows if row["initial rotation (deg)"] == degrees]))


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _count(rows: Sequence[dict[str, Any]]) -> int:
    return sum(bool(row["correct"]) for row in rows)


def _methods(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def _values(rows: Sequence[dict[str, Any]], field: str) -> list[Any]:
    return list(dict.fromkeys(row[field] for row in rows))
