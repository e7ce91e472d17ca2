"""LiDAR odometry on whole sequences: errors, drift and frames a second, beside other libraries.

All methods process a sequence side by side, frame by frame: every frame is synthesised or read once, and the load of
the machine affects all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.comparison_runs import Row
from graphreg.bench.measured_parts import MULTISCAN, SYNTHETIC_SCANS
from graphreg.bench.odometry import ERRORS, PUBLISHED, RPE_ROTATION, RPE_TRANSLATION
from graphreg.bench.odometry_peers import ODOMETRY_PEERS, Follow, odometry_versions
from graphreg.bench.pairs import TRUTH_ACCURACY
from graphreg.clouds import Floats
from graphreg.datasets import kitti, synthetic
from graphreg.metrics import segment_errors, sequence_errors
from graphreg.multiscan.odometry import MODES, Odometry
from graphreg.multiscan.trajectory import relative_transforms
from graphreg.poses import inverse
from graphreg.reports.plots import Panel, plot_grid

TITLE = "LiDAR odometry on whole sequences"
PARTS = (*MULTISCAN, *SYNTHETIC_SCANS)
# Sequence: its first frame, and every n-th from there.
REAL = {"kitti_03, even frames": (0, 2), "kitti_03, odd frames": (1, 2), "kitti_03, all frames": (0, 1)}
# A frame a metre, as at 36 km/h and 10 Hz; and the same with a scanner of 16 rings instead of 64.
SYNTHETIC, SPARSE = "synthetic_street", "synthetic_street, 16 rings"
# With the motion distortion of a scanner that rotates once a frame, and the same frames without.
DISTORTED, UNDISTORTED = "synthetic_street, distorted", "synthetic_street, undistorted"
SYNTHETIC_FRAMES, SPARSE_FRAMES, DISTORTED_FRAMES, QUICK_FRAMES = 400, 100, 60, 5
FRAME_DISTANCE = 1.0
SYNTHETIC_POINTS, DISTORTED_POINTS, QUICK_POINTS = 120_000, 60_000, 20_000
RINGS, ELEVATIONS = 64, (-24.8, 2.0)
# Targets: RPE below the paper's, drift in per cent of the length, frames a second.
PAPER_RPE = PUBLISHED["graphreg-paper"][:2]
MAX_DRIFT, MIN_RATE = 0.5, 10.0
# Largest RPE of distorted frames over that of the same frames without distortion.
MAX_DISTORTION = 1.5
DRIFT, RATE, CPU = "drift (%)", "frames/s", "median CPU (ms)"


@dataclass(frozen=True)
class SequenceRun:
    """One sequence, processed by all methods side by side.

    Attributes
    ----------
    sequence : str
        Name of the sequence.
    methods : tuple of str
        Names of the methods.
    frames, points : int, optional
        Number of frames, and of points in each, of a synthetic sequence.
    """

    sequence: str
    methods: tuple[str, ...]
    frames: int | None = None
    points: int | None = None


def ours(mode: str) -> Follow:
    """Start our odometry."""
    odometry = Odometry(mode=mode)

    def follow(points: Floats, times: Floats | None) -> tuple[Floats, bool]:
        frame = odometry.add(points, times)
        return frame.pose, frame.success

    return follow


OURS = {f"graphreg, {mode}": partial(ours, mode) for mode in MODES}
TRACKED = f"graphreg, {MODES[0]}"


def jobs(data: Path | None, quick: bool = False, peers: bool = True) -> list[SequenceRun]:
    """Return the sequences."""
    methods = (*OURS, *(name for name, peer in ODOMETRY_PEERS.items() if peers and peer.is_installed))
    if quick:
        return [SequenceRun(SYNTHETIC, methods, QUICK_FRAMES, QUICK_POINTS)]
    return [
        *(SequenceRun(name, methods) for name in (REAL if data is not None else ())),
        SequenceRun(SYNTHETIC, methods, SYNTHETIC_FRAMES, SYNTHETIC_POINTS),
        SequenceRun(SPARSE, methods, SPARSE_FRAMES, SYNTHETIC_POINTS),
        SequenceRun(DISTORTED, methods, DISTORTED_FRAMES, DISTORTED_POINTS),
        SequenceRun(UNDISTORTED, methods, DISTORTED_FRAMES, DISTORTED_POINTS),
    ]


def peer_versions(jobs: Sequence[SequenceRun]) -> dict[str, str]:
    """Return {module: version} of the other libraries that take part."""
    return odometry_versions(method for job in jobs for method in job.methods)


def measure(run: SequenceRun, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each method."""
    follows = {name: (OURS.get(name) or ODOMETRY_PEERS[name].start)() for name in run.methods}
    poses: dict[str, list[Floats]] = {name: [] for name in run.methods}
    seconds: dict[str, list[float]] = {name: [] for name in run.methods}
    processor: dict[str, list[float]] = {name: [] for name in run.methods}
    failed = dict.fromkeys(run.methods, 0)
    truth = []
    for points, times, T_world_frame in _frames(run, data):
        truth.append(T_world_frame)
        for name, follow in follows.items():
            began, cpu = time.perf_counter(), time.process_time()
            found, success = follow(points, times)
            processor[name].append(time.process_time() - cpu)
            seconds[name].append(time.perf_counter() - began)
            # A pose that is not finite is replaced by the previous one.
            poses[name].append(np.array(found) if np.isfinite(found).all() else poses[name][-1])
            failed[name] += not success
    for name in run.methods:
        # The first frame is not registered.
        durations = seconds[name][1:]
        yield {
            "sequence": run.sequence,
            "method": name,
            "frames": len(truth),
            "not registered": failed[name] if name in OURS else None,
            **_errors(np.array(poses[name]), np.array(truth)),
            "median (s)": float(np.median(durations)),
            "max (s)": max(durations),
            RATE: len(durations) / sum(durations),
            CPU: 1000 * float(np.median(processor[name][1:])),
            "positions": np.round(np.array(poses[name])[:, :2, 3], 3).tolist(),
            "true positions": np.round([(inverse(truth[0]) @ pose)[:2, 3] for pose in truth], 3).tolist(),
        }


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return the errors of all methods."""
    hidden = ("positions", "true positions")
    return {"Errors": [{name: value for name, value in row.items() if name not in hidden} for row in rows]}


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    measured = {row["method"] for row in rows}
    lines = [
        "RPE: error of each step; ATE: error of each frame with respect to the first; means; drift: translation error "
        "of the last frame in per cent of the trajectory's length; KITTI: segment errors over 100 m, 200 m, ... as in "
        "the KITTI benchmark; on shorter trajectories over eighths of the length",
        "map: each frame to a local map, from a constant velocity; pairs: each frame to the previous one, ours by the "
        "global search, as in the paper; not registered: frames that ours reports as such",
        "distorted: the scanner rotates once a frame while it moves, and the times of points are known",
        "times: of a frame, without reading it; all methods side by side, frame by frame, all cores; CPU: processor "
        "time of all threads, which other processes on the machine change least",
        f"KITTI's ground truth is accurate to about {TRUTH_ACCURACY['SemanticKITTI']:g} degrees a step, by our "
        f"estimate; that of the synthetic street is exact; the paper's RPE over the whole sequence: {PAPER_RPE[0]:g} "
        f"degrees and {PAPER_RPE[1]:g} m",
        *(f"{name} is {peer.summary}" for name, peer in ODOMETRY_PEERS.items() if name in measured),
    ]
    for sequence in dict.fromkeys(row["sequence"] for row in rows):
        mine = {row["method"]: row for row in rows if row["sequence"] == sequence}
        for name in OURS:
            row = mine[name]
            below = row[RPE_ROTATION] < PAPER_RPE[0] and row[RPE_TRANSLATION] < PAPER_RPE[1]
            targets = [_target(below, "RPE below the paper's")]
            if sequence == SYNTHETIC:
                targets.append(_target(row[DRIFT] < MAX_DRIFT, f"drift below {MAX_DRIFT:g} %"))
                targets.append(_target(row[RATE] > MIN_RATE, f"more than {MIN_RATE:g} frames/s"))
            if sequence == DISTORTED:
                plain = next(row for row in rows if row["sequence"] == UNDISTORTED and row["method"] == name)
                within = all(row[error] <= MAX_DISTORTION * plain[error] for error in (RPE_ROTATION, RPE_TRANSLATION))
                targets.append(_target(within, f"RPE at most {MAX_DISTORTION:g} times that without distortion"))
            fastest = min((mine[peer][CPU] for peer in ODOMETRY_PEERS if peer in mine), default=None)
            if fastest is not None and name == TRACKED:
                targets.append(
                    _target(row[CPU] <= fastest, f"at most the {fastest:.1f} ms of processor time of the fastest")
                )
            better = [peer for peer in ODOMETRY_PEERS if peer in mine and _is_better(mine[peer], row)]
            lines.append(
                f"{sequence}, {name}: RPE {row[RPE_ROTATION]:.4f} degrees and {row[RPE_TRANSLATION]:.4f} m, drift "
                f"{row[DRIFT]:.3f} %, {row[RATE]:.1f} frames/s, {row[CPU]:.1f} ms CPU; "
                f"{'; '.join(targets)}; smaller RPE in both rotation and "
                f"translation: {', '.join(better) or 'no other library'}"
            )
    return lines


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Return a chart (SVG) of the trajectories of the longest sequence from above, and of their errors."""
    sequence = max(rows, key=lambda row: row["frames"])["sequence"]
    mine = [row for row in rows if row["sequence"] == sequence]
    truth = np.array(mine[0]["true positions"])
    found = {row["method"]: np.array(row["positions"]) for row in mine}
    errors = {
        name: (np.arange(len(positions)), np.linalg.norm(positions - truth, axis=1))
        for name, positions in found.items()
    }
    lines = {name: (positions[:, 0], positions[:, 1]) for name, positions in {"ground truth": truth, **found}.items()}
    charts = [
        Panel(lines, f"{sequence}, from above", "x (m)", "y (m)", equal=True),
        Panel(errors, f"{sequence}, position error", "frame", "position error (m)"),
    ]
    return {"sequences_trajectory": plot_grid(charts, "sequences_trajectory")}


def _errors(poses: Floats, truth: Floats) -> dict[str, Any]:
    errors = sequence_errors(relative_transforms(poses), list(truth))
    length = float(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).sum())
    figures = (errors.rpe_rotation, errors.rpe_translation, errors.ate_rotation, errors.ate_translation,
               errors.final_rotation, errors.final_translation)  # fmt: skip
    segments = segment_errors(poses, truth)
    return {
        "length (m)": length,
        **dict(zip(ERRORS, figures, strict=True)),
        DRIFT: 100 * errors.final_translation / length,
        "KITTI translation (%)": segments.translation_percent if segments else None,
        "KITTI rotation (deg/100 m)": 100 * segments.rotation_per_length if segments else None,
    }


def _frames(run: SequenceRun, data: Path | None) -> Iterator[tuple[Floats, Floats | None, Floats]]:
    """Points, their times, and true pose of each frame."""
    if run.sequence in REAL:
        assert data is not None
        first, every = REAL[run.sequence]
        for scan in kitti.scans(data / "kitti_03")[first::every]:
            yield scan.read(), None, scan.pose
        return
    assert run.frames is not None
    distorted = run.sequence == DISTORTED
    for frame in synthetic.sequence("street", run.frames, FRAME_DISTANCE, points=run.points, distorted=distorted):
        points = every_fourth_ring(frame.points) if run.sequence == SPARSE else frame.points
        yield points, frame.times, frame.pose


def every_fourth_ring(points: Floats) -> Floats:
    """The points that a scanner of 16 rings measures: rings have evenly spaced elevations."""
    low, high = np.radians(ELEVATIONS)
    elevation = np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))
    ring = np.round((elevation - low) / (high - low) * (RINGS - 1)).astype(int)
    return np.asarray(points[ring % 4 == 0])


def _target(reached: bool, target: str) -> str:
    return target if reached else f"NOT {target}"


def _is_better(one: Row, other: Row) -> bool:
    return bool(one[RPE_ROTATION] < other[RPE_ROTATION] and one[RPE_TRANSLATION] < other[RPE_TRANSLATION])
