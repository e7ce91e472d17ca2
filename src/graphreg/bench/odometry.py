"""A drive, frame by frame: errors of each step, and how they add up (the paper's Table V).

Every other frame is registered to the one before it, and the motions are composed to the pose of every frame with
respect to the first. Frames are thinned out to 0.5 m, as in the paper, for all methods but ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.comparison import OURS, PREPARING, Row, attempt, families_in, made, median_of, methods_of, remarks
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pairs import KNOWN_TO, Pair
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.errors import FileError
from graphreg.files import read
from graphreg.metrics import angular_error, sequence_errors, translation_error
from graphreg.poses import inverse, pose
from graphreg.reports.charts import charts_side_by_side, line_chart

TITLE = "Odometry"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
VOXEL = 0.5
# Frames 0, 2, 4, ... and 1, 3, 5, ... of the ten that there are.
SCANNED = {"kitti_03, even frames": 0, "kitti_03, odd frames": 1}
SCANNED_FRAMES = 10
POSES = "kitti_03/poses_velo_first10.txt"
# A frame a metre, as at 36 km/h; every other one is registered.
MADE = "made_street"
MADE_FRAMES, QUICK_FRAMES = 400, 8
MADE_APART = 1.0
MADE_POINTS, QUICK_POINTS = 60_000, 20_000
EVERY = 2
# Seconds that the steps of a method may take together.
BUDGET = 35.0
# The paper's, on 401 steps: relative rotation and translation, absolute ones, those of the last frame.
COLUMNS = ("rel. degrees", "rel. m", "abs. degrees", "abs. m", "last degrees", "last m")
PUBLISHED = {
    "icp": (0.2850, 0.2978, 21.9215, 79.6718, 39.8268, 213.1728),
    "icp-kp": (0.2830, 0.2930, 21.9874, 79.7293, 38.7033, 212.3571),
    "icp-kn": (1.4763, 0.3019, 139.0011, 190.6753, 126.6452, 496.8816),
    "gmm": (0.3326, 2.9138, 25.8011, 227.1595, 40.093, 497.6106),
    "cpd": (0.2092, 0.2161, 13.7057, 35.6197, 24.4202, 94.8900),
    "ecm": (0.1264, 0.1912, 5.3706, 19.6340, 12.2503, 41.2022),
    "teaser": (0.3707, 0.0976, 46.4931, 37.2031, 173.8888, 171.7321),
    "fgr": (0.4218, 0.2392, 12.1925, 48.4584, 24.0846, 123.3828),
    "fricp": (0.1527, 0.2191, 4.1370, 19.0893, 5.3265, 50.8703),
    "pipl": (0.1419, 0.0799, 4.1124, 14.5802, 6.1962, 36.1614),
    "graphreg-paper": (0.1017, 0.0422, 2.0542, 5.6745, 2.9099, 13.2796),
}


@dataclass(frozen=True)
class Step:
    """One method on one step of a drive: from frame `number` + 1 of those that are registered to frame `number`.

    frames  of the whole drive, of which every other is registered
    """

    drive: str
    number: int
    method: str
    frames: int
    points: int | None

    @property
    def cell(self) -> str:
        return self.drive


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Step]:
    scanned = SCANNED if data is not None and not quick else ()
    drives = [(name, SCANNED_FRAMES, None) for name in scanned]
    made_one = (MADE, QUICK_FRAMES, QUICK_POINTS) if quick else (MADE, MADE_FRAMES, MADE_POINTS)
    return [
        Step(name, number, method, frames, points)
        for name, frames, points in (*drives, made_one)
        for number in range(len(range(SCANNED.get(name, 0), frames, EVERY)) - 1)
        for method in methods_of(methods, peers)
    ]


def measure(step: Step, data: Path | None) -> Iterator[dict[str, Any]]:
    target, target_pose = _frame(step, step.number, data)
    source, source_pose = _frame(step, step.number + 1, data)
    truth = inverse(target_pose) @ source_pose
    pair = Pair(
        name=step.drive, kind="lidar", source=source, target=target, truth=truth, most_degrees=2.0, tolerance=0.6,
        voxel=VOXEL,
    )  # fmt: skip
    tried = attempt(step.method, source, target, pair, 0, {} if step.method == OURS else {"voxel": VOXEL})
    degrees, distance = pair.errors(tried.found)
    register_s = sum(seconds for stage, seconds in tried.stages.items() if stage not in PREPARING)
    yield {
        **_about(step),
        "right": not tried.problem and pair.is_right(degrees, distance),
        "degrees": angular_error(tried.found, truth),
        "metres": translation_error(tried.found, truth),
        "seconds": tried.seconds,
        "register s": register_s if tried.stages else None,
        "problem": tried.problem,
        "motion": _rounded(tried.found),
        "truth": _rounded(truth),
        "stages": tried.stages,
    }


def left_out(step: Step, why: str) -> dict[str, Any]:
    missing = dict.fromkeys(("right", "degrees", "metres", "seconds", "register s"))
    return {**_about(step), **missing, "problem": why, "motion": [], "truth": [], "stages": {}}


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    lines = []
    for drive in dict.fromkeys(row["drive"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [row for row in rows if (row["drive"], row["method"]) == (drive, method)]
            ran = made(mine)
            if ran:
                lines.append({"drive": drive, "method": method, **_told(ran), "not run": len(mine) - len(ran)})
    papers = [{"method": name, **dict(zip(COLUMNS, six, strict=True))} for name, six in PUBLISHED.items()]
    return {"Errors": lines, "paper: KITTI 03, 401 steps": papers}


def summary(rows: Sequence[Row]) -> list[str]:
    lines = [
        "relative: of each step; absolute: of each frame with respect to the first, after composing the steps; last: "
        "of the last frame that the method came to; means, and the largest of the relative ones",
        "the paper's figures are of 401 steps of the whole sequence, of which ten frames are to be had here; absolute "
        "errors grow with the way, and cannot be compared with those of a shorter one",
        f"KITTI's own poses are good to about {KNOWN_TO['SemanticKITTI']:g} degrees a step, by our estimate; our "
        "street's are exact",
    ]
    for drive in dict.fromkeys(row["drive"] for row in rows):
        table = [line for line in tables(rows)["Errors"] if line["drive"] == drive]
        ours = next((line for line in table if line["method"] == OURS), None)
        if ours is None:
            continue
        for column, unit in (("rel. degrees", "degrees"), ("rel. m", "m")):
            best = min(table, key=lambda line: float(line[column]))
            known_to = KNOWN_TO["SemanticKITTI"] if drive in SCANNED and unit == "degrees" else 0.0
            place = f"NOT first, which is {best['method']} with {best[column]:.3g}"
            if best is ours:
                place = "first"
            elif ours[column] - best[column] <= known_to:
                place = f"and {best['method']} {best[column]:.3g}: the ground truth cannot tell"
            lines.append(f"{drive}: {OURS} {ours[column]:.3g} {unit} a step, {place}")
    return [*lines, *remarks(rows)[1:]]


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """The way that each method came to, seen from above, for the longest drive."""
    drive = max(dict.fromkeys(row["drive"] for row in rows), key=lambda name: sum(row["drive"] == name for row in rows))
    ran = [row for row in made(rows) if row["drive"] == drive]
    charts = []
    for family, methods in families_in(ran).items():
        steps = {method: [row for row in ran if row["method"] == method] for method in methods}
        ways = {"truth": _way(max(steps.values(), key=len), "truth")}
        ways |= {method: _way(mine, "motion") for method, mine in steps.items()}
        lines = {name: (way[:, 0], way[:, 1]) for name, way in ways.items()}
        charts.append(line_chart(lines, family, "ahead (m)", "aside (m)", marked=False))
    return {"odometry_way": charts_side_by_side(charts, columns=3)} if charts else {}


def _told(rows: Sequence[Row]) -> dict[str, Any]:
    steps = [_pose_of(row["motion"]) for row in rows]
    truth: list[Floats] = [np.eye(4)]
    for row in rows:
        truth.append(truth[-1] @ _pose_of(row["truth"]))
    errors = sequence_errors(steps, truth)
    six = (errors.rpe_rotation, errors.rpe_translation, errors.ate_rotation,
           errors.ate_translation, errors.final_rotation, errors.final_translation)  # fmt: skip
    way = sum(float(np.linalg.norm(_pose_of(row["truth"])[:3, 3])) for row in rows)
    return {
        "steps": len(rows),
        "way m": way,
        **dict(zip(COLUMNS, six, strict=True)),
        "largest rel. degrees": max(row["degrees"] for row in rows),
        "largest rel. m": max(row["metres"] for row in rows),
        "right": f"{sum(row['right'] for row in rows)} of {len(rows)}",
        "register s": median_of(rows, "register s"),
        "whole call s": median_of(rows, "seconds"),
    }


def _way(rows: Sequence[Row], name: str) -> Floats:
    """Where the sensor was, with respect to the first frame: (steps + 1, 3)."""
    at, way = np.eye(4), [np.zeros(3)]
    for row in rows:
        at = at @ _pose_of(row[name])
        way.append(at[:3, 3])
    return np.array(way)


def _about(step: Step) -> dict[str, Any]:
    return {"drive": step.drive, "step": step.number, "method": step.method}


def _rounded(motion: Floats) -> list[float]:
    """Twelve numbers: a nanoradian is a tenth of a micrometre at the end of a lidar's reach."""
    numbers: list[float] = motion[:3].round(9).ravel().tolist()
    return numbers


def _pose_of(numbers: Sequence[float]) -> Floats:
    matrix = np.array(numbers).reshape(3, 4)
    return pose(matrix[:, :3], matrix[:, 3])


@lru_cache(maxsize=2)
def _poses(path: Path) -> Floats:
    try:
        return np.loadtxt(path).reshape(-1, 3, 4)
    except ValueError as problem:
        raise FileError(path, "expected twelve numbers a line") from problem


def _frame(step: Step, number: int, data: Path | None) -> tuple[Floats, Floats]:
    """Points and pose of one of the frames that are registered."""
    if step.drive == MADE:
        return _made_frame(number * EVERY * MADE_APART, step.points, number)
    assert data is not None
    frame = SCANNED[step.drive] + number * EVERY
    matrix = _poses(data / POSES)[frame]
    return read(data / f"kitti_03/{frame:06d}.bin"), pose(matrix[:, :3], matrix[:, 3])


@lru_cache(maxsize=4)
def _made_frame(way: float, points: int | None, seed: int) -> tuple[Floats, Floats]:
    scan = synthetic.scan("street", way, points=points, seed=seed)
    return scan.points, scan.pose
