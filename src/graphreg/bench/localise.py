"""Localisation in a prior map: frames of a city, of another one, and a second sequence on a street.

Every frame of a city is somewhere else than the one before, as for a robot that is carried away: nothing but the map
says where. On the street a map is made of a first sequence, and a second one is localised in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.comparison_runs import Row
from graphreg.bench.measured_parts import MULTISCAN, SYNTHETIC_SCANS
from graphreg.clouds import Floats
from graphreg.datasets import city, synthetic
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan.localisation import Localisation
from graphreg.multiscan.odometry import sequence
from graphreg.poses import inverse

TITLE = "Localisation in a prior map"
PARTS = (*MULTISCAN, "locating", *SYNTHETIC_SCANS)
# A pose is right within these, in degrees and metres.
MAX_DEGREES, MAX_METRES = 1.0, 0.3
CITY, ABSENT, STREET = "city", "another city", "street"
FRAMES = {CITY: 100, ABSENT: 20, STREET: 60}
QUICK_FRAMES = {CITY: 2, ABSENT: 1, STREET: 4}
SIZE, QUICK_SIZE = 1000.0, 200.0
POINTS, QUICK_POINTS = 60_000, 15_000
# Frames of a city in one job, so that a run that is interrupted resumes.
AT_ONCE = 10
# Another city than that of the map; on the street a frame a metre, the second sequence between those of the first.
OTHER, STEP, BETWEEN = 1, 1.0, 0.4


@dataclass(frozen=True)
class LocalisationRun:
    """Some frames, localised one after another.

    Attributes
    ----------
    group : str
        Where they are from.
    first, count : int
        Number of the first frame, and of frames.
    size : float
        Edge length of the city, in metres.
    points : int
        Of each frame.
    """

    group: str
    first: int
    count: int
    size: float
    points: int


def jobs(data: Path | None, quick: bool = False) -> list[LocalisationRun]:
    """Return the runs."""
    counts, size, points = (QUICK_FRAMES, QUICK_SIZE, QUICK_POINTS) if quick else (FRAMES, SIZE, POINTS)
    at_once = {CITY: AT_ONCE, ABSENT: AT_ONCE, STREET: max(counts.values())}
    return [
        LocalisationRun(group, first, min(at_once[group], count - first), size, points)
        for group, count in counts.items()
        for first in range(0, count, at_once[group])
    ]


def measure(run: LocalisationRun, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each frame."""
    localisation, frames = _street(run) if run.group == STREET else _city(run)
    for number, (points, truth) in enumerate(frames, run.first):
        began = time.process_time()
        found = localisation.add(points)
        seconds = time.process_time() - began
        degrees, metres = angular_error(found.pose, truth), translation_error(found.pose, truth)
        yield {
            "group": run.group,
            "frame": number,
            "localised": found.success,
            "right": bool(run.group != ABSENT and degrees <= MAX_DEGREES and metres <= MAX_METRES),
            "searched": found.global_search,
            "confidence": found.confidence,
            "degrees": degrees,
            "metres": metres,
            "processor seconds": seconds,
            "reason": found.reason,
        }


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return a table with a line for each group."""
    lines = []
    for group in dict.fromkeys(row["group"] for row in rows):
        mine = [row for row in rows if row["group"] == group]
        called = [row for row in mine if row["localised"]]
        right = [row for row in called if row["right"]]
        tracked = [row["processor seconds"] for row in mine if not row["searched"]]
        searched = [row["processor seconds"] for row in mine if row["searched"]]
        lines.append(
            {
                "frames from": group,
                "frames": len(mine),
                "localised": len(called),
                "wrong of these": len(called) - len(right),
                "median error (deg)": float(np.median([row["degrees"] for row in right])) if right else None,
                "median error (m)": float(np.median([row["metres"] for row in right])) if right else None,
                "largest error (m)": max((row["metres"] for row in right), default=None),
                "searched for": len(searched),
                "median of these (CPU s)": float(np.median(searched)) if searched else None,
                "median of tracked ones (CPU s)": float(np.median(tracked)) if tracked else None,
            }
        )
    return {"": lines}


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    return [
        f"{CITY}: LiDAR frames from random places in a map of a square kilometre, each elsewhere than the one before; "
        f"{ABSENT}: frames of a city that the map does not show; {STREET}: a second sequence in the map of a first one",
        f"right: within {MAX_DEGREES:g} degrees and {MAX_METRES:g} m",
        *(
            f"{line['frames from']}: {line['localised']} of {line['frames']} localised, {line['wrong of these']} of "
            "these wrong"
            for line in tables(rows)[""]
        ),
    ]


def _city(run: LocalisationRun) -> tuple[Localisation, Iterator[tuple[Floats, Floats]]]:
    variant = OTHER if run.group == ABSENT else 0
    scans = (
        city.frame(variant, size=run.size, points=run.points, seed=seed)
        for seed in range(run.first, run.first + run.count)
    )
    return _city_localisation(run.size), ((scan.points, scan.pose) for scan in scans)


@lru_cache(maxsize=1)
def _city_localisation(size: float) -> Localisation:
    return Localisation(city.city_map(size=size))


def _street(run: LocalisationRun) -> tuple[Localisation, Iterator[tuple[Floats, Floats]]]:
    first = synthetic.sequence("street", run.count + 1, STEP, points=run.points)
    start = next(iter(synthetic.sequence("street", 1, STEP, points=run.points))).pose
    found = sequence((scan.points for scan in first), keep_map=True)
    second = synthetic.sequence("street", run.count, STEP, viewpoint=BETWEEN, points=run.points, seed=1)
    assert found.map is not None
    return Localisation(found.map), ((scan.points, inverse(start) @ scan.pose) for scan in second)
