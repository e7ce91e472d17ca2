"""Loop closure: drift before and after, wrong loops where places resemble each other, and memory over a long sequence.

Trips through the synthetic city. All blocks of the short trips have the same houses, so that every place looks like
places of other blocks; some trips come back to where they have been, some never do. The memory is that of odometry
without loops, on small frames of a street that is passed to and fro.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.comparison_runs import Row
from graphreg.bench.measured_parts import MULTISCAN, SYNTHETIC_SCANS
from graphreg.bench.memory import resident_bytes
from graphreg.clouds import Floats
from graphreg.datasets import city_routes, synthetic
from graphreg.metrics import angular_error, sequence_errors, translation_error
from graphreg.multiscan.odometry import Odometry
from graphreg.multiscan.trajectory import FrameResult, Loop, relative_transforms
from graphreg.poses import inverse
from graphreg.reports.plots import Panel, plot_grid

TITLE = "Loops of LiDAR odometry"
PARTS = (*MULTISCAN, *SYNTHETIC_SCANS)
# Routes by crossings: once round a block and on along the first street; through all streets of one direction; back
# through the first street the other way; in a figure of eight.
ROUTES: dict[str, city_routes.Route] = {
    "round": city_routes.ROUND,
    "meander": ((0, 0), (2, 0), (2, 1), (0, 1), (0, 2), (2, 2)),
    "back": ((0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (0, 0)),
    "eight": ((0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (1, 0), (1, 1), (0, 1), (0, 0)),
}
VARIANTS = 5
LONG = "a kilometre round a block"
LONG_BLOCK, LONG_LENGTH, LONG_STEP, LONG_POINTS = (250.0, 250.0), 1060.0, 2.0, 10_000
SHORT_BLOCK, SHORT_STEP, SHORT_POINTS = (60.0, 50.0), 2.5, 4_000
QUICK_LENGTH = 30.0
MEMORY = "to and fro on a street"
MEMORY_FRAMES, MEMORY_POINTS = 5_000, 6_000
# Frames of the street, and metres from one to the next.
STREET, STREET_STEP = 40, 0.5
# A loop is wrong if its transform is off by more: metres, degrees.
MAX_ERROR = (1.0, 5.0)
# Frames after which memory is compared with that at the end: by then what is kept is complete.
WARM = 1_000
# Largest growth of memory that is flat, in megabytes: poses and verdicts of the frames.
MAX_GROWTH = 20.0
BEFORE, AFTER = "before loops", "after loops"


@dataclass(frozen=True)
class Trip:
    """A trip through the city.

    Attributes
    ----------
    name : str
        Of its route.
    variant : int
        Of the city.
    block : (float, float)
        Distances of the streets, in metres.
    length : float or None
        Metres to go, where it is not the whole route.
    step : float
        Metres from frame to frame.
    points : int
        Approximate number of points of a frame.
    alike : bool
        Whether all blocks have the same houses.
    """

    name: str
    variant: int
    block: tuple[float, float]
    length: float | None
    step: float
    points: int
    alike: bool


@dataclass(frozen=True)
class LongSequence:
    """Frames of a street to and fro: their number, and that of the points of each."""

    frames: int
    points: int


def jobs(data: Path | None, quick: bool = False) -> list[Trip | LongSequence]:
    """Return the trips."""
    if quick:
        short = Trip("round", 0, SHORT_BLOCK, QUICK_LENGTH, SHORT_STEP, SHORT_POINTS, True)
        return [short, LongSequence(2 * STREET, MEMORY_POINTS)]
    return [
        Trip(LONG, 0, LONG_BLOCK, LONG_LENGTH, LONG_STEP, LONG_POINTS, False),
        *(
            Trip(name, variant, SHORT_BLOCK, None, SHORT_STEP, SHORT_POINTS, True)
            for variant in range(VARIANTS)
            for name in ROUTES
        ),
        LongSequence(MEMORY_FRAMES, MEMORY_POINTS),
    ]


def measure(job: Trip | LongSequence, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the row of a trip."""
    yield _memory_row(job) if isinstance(job, LongSequence) else _trip_row(job)


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return trips and memory."""
    trips, long = _split(rows)
    hidden = ("positions", "loop ends")
    return {
        "Trips": [{name: value for name, value in row.items() if name not in hidden} for row in trips],
        "Memory": [dict(row) for row in long],
    }


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    trips, long = _split(rows)
    alike = [row for row in trips if row["alike"]]
    found, wrong = (sum(row[column] for row in alike) for column in ("loops", "wrong loops"))
    revisiting = [row for row in alike if row["keyframes at known places"]]
    lines = [
        "before: poses of the odometry; after: corrected by loops; ATE: mean error of the positions in the frame of "
        "the first; end: error of the last position",
        f"a loop is wrong if its transform is off by more than {MAX_ERROR[0]:g} m or {MAX_ERROR[1]:g} degrees; "
        "keyframes at known places: those within 5 m of a frame at least 100 m of the trip before",
        f"{len(alike)} trips in cities whose blocks are all alike: {found} loops, {wrong} of them wrong; loops in "
        f"{sum(row['loops'] > 0 for row in revisiting)} of the {len(revisiting)} trips that come back",
    ]
    for row in trips:
        if not row["alike"]:
            lines.append(
                f"{row['trip']}: {row['length (m)']:.0f} m, {row['loops']} loops, {row['wrong loops']} wrong; ATE "
                f"{row[f'ATE {BEFORE} (m)']:.3g} m before and {row[f'ATE {AFTER} (m)']:.3g} m after, end "
                f"{row[f'end {BEFORE} (m)']:.3g} m before and {row[f'end {AFTER} (m)']:.3g} m after"
            )
    for row in long:
        flat = "flat" if row["growth (MB)"] <= MAX_GROWTH else "NOT flat"
        lines.append(
            f"memory over {row['frames']:,} frames: {row['growth (MB)']:.1f} MB more at the end than after "
            f"{row['warm']:,}: {flat}"
        )
    return lines


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Return a chart (SVG) of the longest trip from above, before and after, and of its errors."""
    trips, _ = _split(rows)
    row = max(trips, key=lambda each: each["length (m)"])
    truth, before, after = (np.array(row["positions"][name]) for name in ("ground truth", BEFORE, AFTER))
    lines = {"ground truth": truth, BEFORE: before, AFTER: after}
    errors = {name: (np.arange(len(truth)), np.linalg.norm(lines[name] - truth, axis=1)) for name in (BEFORE, AFTER)}
    panels = [
        Panel({name: (track[:, 0], track[:, 1]) for name, track in lines.items()}, row["trip"], "x (m)", "y (m)",
              equal=True),
        Panel(errors, "Position error", "frame", "position error (m)"),
    ]  # fmt: skip
    return {"loops": plot_grid(panels, "loops")}


def _split(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    return [row for row in rows if "loops" in row], [row for row in rows if "growth (MB)" in row]


def _trip_row(job: Trip) -> dict[str, Any]:
    plain, closing = Odometry(), Odometry(loops=True)
    steps: list[FrameResult] = []
    truth: list[Floats] = []
    seconds = np.zeros(2)
    route = ROUTES.get(job.name, city_routes.ROUND)
    for scan in city_routes.follow(
        route, length=job.length, step=job.step, block=job.block, alike=job.alike, variant=job.variant,
        points=job.points, seed=job.variant,
    ):  # fmt: skip
        began = time.perf_counter()
        plain.add(scan.points)
        between = time.perf_counter()
        steps.append(closing.add(scan.points))
        seconds += between - began, time.perf_counter() - between
        truth.append(inverse(truth[0]) @ scan.pose if truth else scan.pose)
    truth[0] = np.eye(4)
    corrected = closing.corrected(steps)
    poses = {BEFORE: np.array([step.pose for step in steps]), AFTER: corrected.poses}
    errors = {name: sequence_errors(relative_transforms(each), truth) for name, each in poses.items()}
    loops = corrected.loops or ()
    true_positions = np.array(truth)[:, :3, 3]
    length = float(np.linalg.norm(np.diff(true_positions, axis=0), axis=1).sum())
    off = [_loop_errors(loop, truth) for loop in loops]
    return {
        "trip": job.name,
        "variant": job.variant,
        "alike": job.alike,
        "frames": len(steps),
        "length (m)": length,
        "not registered": sum(not step.success for step in steps),
        "keyframes": sum(step.keyframe for step in steps),
        "keyframes at known places": _known_places(true_positions, [step.keyframe for step in steps]),
        "loops": len(loops),
        "wrong loops": sum(metres > MAX_ERROR[0] or degrees > MAX_ERROR[1] for metres, degrees in off),
        "largest error of a loop (m)": max((metres for metres, _ in off), default=None),
        "lowest confidence of a loop": min((loop.confidence for loop in loops), default=None),
        **{f"ATE {name} (m)": each.ate_translation for name, each in errors.items()},
        **{f"end {name} (m)": each.final_translation for name, each in errors.items()},
        **{f"drift {name} (%)": 100 * each.final_translation / length for name, each in errors.items()},
        "s a frame": seconds[0] / len(steps),
        "s a frame with loops": seconds[1] / len(steps),
        "positions": {
            name: np.round(each, 3).tolist()
            for name, each in (
                ("ground truth", true_positions), *((name, each[:, :3, 3]) for name, each in poses.items())
            )
        },
    }  # fmt: skip


def _loop_errors(loop: Loop, truth: Sequence[Floats]) -> tuple[float, float]:
    true = inverse(truth[loop.target]) @ truth[loop.source]
    return translation_error(loop.transformation, true), angular_error(loop.transformation, true)


def _known_places(positions: Floats, keyframe: Sequence[bool]) -> int:
    """Keyframes within 5 m of a frame from which at least 100 m have been covered since."""
    along = np.concatenate([[0.0], np.linalg.norm(np.diff(positions, axis=0), axis=1).cumsum()])
    return sum(
        bool((np.linalg.norm(positions[along < along[k] - 100] - positions[k], axis=1) < 5).any())
        for k in np.flatnonzero(keyframe)
    )


def _memory_row(job: LongSequence) -> dict[str, Any]:
    count = min(STREET, job.frames)
    street = [scan.points for scan in synthetic.sequence("street", count, STREET_STEP, points=job.points)]
    there_and_back = [*range(count), *range(count - 2, 0, -1)]
    odometry, failed, warm = Odometry(), 0, min(WARM, job.frames // 2)
    after_warm = 0
    for number in range(job.frames):
        failed += not odometry.add(street[there_and_back[number % len(there_and_back)]]).success
        if number == warm:
            gc.collect()
            after_warm = resident_bytes("VmRSS")
    gc.collect()
    return {
        "sequence": MEMORY,
        "frames": job.frames,
        "points": job.points,
        "not registered": failed,
        "warm": warm,
        "growth (MB)": (resident_bytes("VmRSS") - after_warm) / 1e6,
    }
