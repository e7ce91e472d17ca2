"""LiDAR odometry frame to frame: relative pose errors (RPE) and how they accumulate (ATE); the paper's Table V.

Every other frame is registered to the one before it, and the transforms are composed to the pose of every frame with
respect to the first. Frames are downsampled to 0.5 m, as in the paper, for all methods but ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.comparison_runs import OURS, REGISTRATION_TIME, Row, attempt, completed, methods_of
from graphreg.bench.comparison_statistics import families_in, median_of
from graphreg.bench.comparison_wording import NOT_FIRST, UNDECIDED, remarks
from graphreg.bench.measured_parts import ALL_METHODS, SYNTHETIC_SCANS
from graphreg.bench.pairs import TRUTH_ACCURACY, Pair
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.errors import FileError
from graphreg.files import read
from graphreg.metrics import angular_error, sequence_errors, translation_error
from graphreg.poses import inverse, pose
from graphreg.reports.plots import Panel, plot_grid

TITLE = "LiDAR odometry, frame to frame"
PARTS = (*ALL_METHODS, *SYNTHETIC_SCANS)
VOXEL = 0.5
# Sequence: its first frame; every other of the ten frames there are is registered.
REAL = {"kitti_03, even frames": 0, "kitti_03, odd frames": 1}
REAL_FRAMES = 10
POSES = "kitti_03/poses_velo_first10.txt"
# A frame a metre, as at 36 km/h; every other one is registered.
SYNTHETIC = "synthetic_street"
SYNTHETIC_FRAMES, QUICK_FRAMES = 400, 8
FRAME_DISTANCE = 1.0
SYNTHETIC_POINTS, QUICK_POINTS = 60_000, 20_000
EVERY = 2
# Seconds that the steps of a method may take together.
BUDGET = 35.0
RPE_ROTATION, RPE_TRANSLATION = "RPE (deg)", "RPE (m)"
# Means over the frames, and the error of the last frame; the paper's figures are of 401 steps.
ERRORS = (RPE_ROTATION, RPE_TRANSLATION, "ATE (deg)", "ATE (m)", "last frame (deg)", "last frame (m)")
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
    """One method on one step of a sequence: from registered frame `number` + 1 to registered frame `number`.

    Attributes
    ----------
    sequence : str
        Name of the sequence.
    number : int
        Number of the step.
    method : str
        Name of the method.
    frames : int
        Frames of the whole sequence, of which every other is registered.
    points : int or None
        Approximate number of points of synthetic frames.
    """

    sequence: str
    number: int
    method: str
    frames: int
    points: int | None

    @property
    def cell(self) -> str:
        """Steps of a method with equal cells are summarised by one line of the table."""
        return self.sequence


def jobs(data: Path | None, quick: bool = False, methods: str | None = None, peers: bool = True) -> list[Step]:
    """Return the steps, methods interleaved."""
    real = [(name, REAL_FRAMES, None) for name in (REAL if data is not None and not quick else ())]
    street = (SYNTHETIC, QUICK_FRAMES, QUICK_POINTS) if quick else (SYNTHETIC, SYNTHETIC_FRAMES, SYNTHETIC_POINTS)
    return [
        Step(name, number, method, frames, points)
        for name, frames, points in (*real, street)
        for number in range(len(range(REAL.get(name, 0), frames, EVERY)) - 1)
        for method in methods_of(methods, peers)
    ]


def measure(step: Step, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the row of a step."""
    target, target_pose = _frame(step, step.number, data)
    source, source_pose = _frame(step, step.number + 1, data)
    truth = inverse(target_pose) @ source_pose
    pair = Pair(
        name=step.sequence, kind="lidar", source=source, target=target, truth=truth, max_degrees=2.0, tolerance=0.6,
        voxel=VOXEL,
    )  # fmt: skip
    attempted = attempt(step.method, source, target, pair, 0, {} if step.method == OURS else {"voxel": VOXEL})
    yield {
        **_description(step),
        "correct": not attempted.exception and pair.is_correct(*pair.errors(attempted.found)),
        RPE_ROTATION: angular_error(attempted.found, truth),
        RPE_TRANSLATION: translation_error(attempted.found, truth),
        "seconds": attempted.seconds,
        REGISTRATION_TIME: attempted.registration_seconds,
        "exception": attempted.exception,
        "transformation": _numbers_of(attempted.found),
        "truth": _numbers_of(truth),
        "stages": attempted.stages,
    }


def left_out(step: Step, why: str) -> dict[str, Any]:
    """Return the row of a step that was not made."""
    missing = dict.fromkeys(("correct", RPE_ROTATION, RPE_TRANSLATION, "seconds", REGISTRATION_TIME))
    return {**_description(step), **missing, "exception": why, "transformation": [], "truth": [], "stages": {}}


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return our errors and the paper's."""
    lines = []
    for sequence in dict.fromkeys(row["sequence"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [row for row in rows if (row["sequence"], row["method"]) == (sequence, method)]
            ran = completed(mine)
            if ran:
                line = {"sequence": sequence, "method": method, **_statistics(ran), "not run": len(mine) - len(ran)}
                lines.append(line)
    papers = [{"method": name, **dict(zip(ERRORS, figures, strict=True))} for name, figures in PUBLISHED.items()]
    return {"Errors": lines, "paper: KITTI 03, 401 steps": papers}


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    lines = [
        "RPE: error of each step; ATE: error of each frame with respect to the first, after composing the steps; last "
        "frame: error of the last frame that the method reached; means, and the largest RPE",
        "the paper's figures are of 401 steps of the whole sequence, of which ten frames are available here; ATE grows "
        "with the length of the trajectory, and cannot be compared with that of a shorter one",
        f"KITTI's ground truth is accurate to about {TRUTH_ACCURACY['SemanticKITTI']:g} degrees a step, by our "
        "estimate; that of the synthetic street is exact",
    ]
    for sequence in dict.fromkeys(row["sequence"] for row in rows):
        table = [line for line in tables(rows)["Errors"] if line["sequence"] == sequence]
        ours = next((line for line in table if line["method"] == OURS), None)
        if ours is None:
            continue
        for column in (RPE_ROTATION, RPE_TRANSLATION):
            best = min(table, key=lambda line: float(line[column]))
            accuracy = TRUTH_ACCURACY["SemanticKITTI"] if sequence in REAL and column == RPE_ROTATION else 0.0
            rank = f"{NOT_FIRST}; {best['method']} has {best[column]:.3g}"
            if best is ours:
                rank = "first"
            elif ours[column] - best[column] <= accuracy:
                rank = f"{UNDECIDED}; {best['method']} has {best[column]:.3g}"
            lines.append(f"{sequence}, {column}: {OURS} {ours[column]:.3g}, {rank}")
    return [*lines, *remarks(rows)[1:]]


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Return a chart (SVG) of the trajectories of the longest sequence, seen from above."""
    names = [row["sequence"] for row in rows]
    longest = max(dict.fromkeys(names), key=names.count)
    ran = [row for row in completed(rows) if row["sequence"] == longest]
    charts = []
    for family, methods in families_in(ran).items():
        steps = {method: [row for row in ran if row["method"] == method] for method in methods}
        trajectories = {"ground truth": _trajectory(max(steps.values(), key=len), "truth")}
        trajectories |= {method: _trajectory(mine, "transformation") for method, mine in steps.items()}
        lines = {name: (positions[:, 0], positions[:, 1]) for name, positions in trajectories.items()}
        charts.append(Panel(lines, f"From above: {family}", "x (m)", "y (m)", equal=True))
    return {"odometry_trajectory": plot_grid(charts, "odometry_trajectory", columns=2)} if charts else {}


def _statistics(rows: Sequence[Row]) -> dict[str, Any]:
    steps = [_pose_of(row["transformation"]) for row in rows]
    truth: list[Floats] = [np.eye(4)]
    for row in rows:
        truth.append(truth[-1] @ _pose_of(row["truth"]))
    errors = sequence_errors(steps, truth)
    figures = (errors.rpe_rotation, errors.rpe_translation, errors.ate_rotation, errors.ate_translation,
               errors.final_rotation, errors.final_translation)  # fmt: skip
    return {
        "steps": len(rows),
        "length (m)": sum(float(np.linalg.norm(_pose_of(row["truth"])[:3, 3])) for row in rows),
        **dict(zip(ERRORS, figures, strict=True)),
        f"max {RPE_ROTATION}": max(row[RPE_ROTATION] for row in rows),
        f"max {RPE_TRANSLATION}": max(row[RPE_TRANSLATION] for row in rows),
        "correct": f"{sum(row['correct'] for row in rows)} of {len(rows)}",
        REGISTRATION_TIME: median_of(rows, REGISTRATION_TIME),
        "whole call (s)": median_of(rows, "seconds"),
    }


def _trajectory(rows: Sequence[Row], name: str) -> Floats:
    """Positions of the sensor with respect to the first frame: (steps + 1, 3)."""
    current, positions = np.eye(4), [np.zeros(3)]
    for row in rows:
        current = current @ _pose_of(row[name])
        positions.append(current[:3, 3])
    return np.array(positions)


def _description(step: Step) -> dict[str, Any]:
    return {"sequence": step.sequence, "step": step.number, "method": step.method}


def _numbers_of(transformation: Floats) -> list[float]:
    """Twelve numbers; a nanoradian is a tenth of a micrometre at the range of a LiDAR."""
    numbers: list[float] = transformation[:3].round(9).ravel().tolist()
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
    """Points and pose of a registered frame."""
    if step.sequence == SYNTHETIC:
        return _synthetic_frame(number * EVERY * FRAME_DISTANCE, step.points, number)
    assert data is not None
    frame = REAL[step.sequence] + number * EVERY
    matrix = _poses(data / POSES)[frame]
    return read(data / f"kitti_03/{frame:06d}.bin"), pose(matrix[:, :3], matrix[:, 3])


@lru_cache(maxsize=4)
def _synthetic_frame(distance: float, points: int | None, seed: int) -> tuple[Floats, Floats]:
    scan = synthetic.scan("street", distance, points=points, seed=seed)
    return scan.points, scan.pose
