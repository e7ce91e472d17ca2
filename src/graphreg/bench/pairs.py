"""What methods are judged on: pairs of scans with the motion between them, where they start, and what spoils them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from graphreg.bench.parts import Scans, scans_of
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import add_noise, add_outliers
from graphreg.errors import InputError
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector

# What is scanned, degrees or metres between the two views, and the kind of pair.
MADE: dict[str, tuple[str, float, str]] = {
    f"made_{name}_{apart}": (name, float(apart), kind)
    for name, aparts, kind in (
        *((body, (30, 60), "object") for body in ("dragon", "hare", "hand", "casting")),
        ("room", (40,), "indoor"),
        ("facade", (60,), "tls"),
        ("street", (5, 10), "lidar"),
    )
    for apart in aparts
}
# About how many points a made scan has; None for what such a scanner gives.
POINTS: int | None = None
# Most degrees and metres off the truth that count as right; of objects, a hundredth of their size.
MOST_DEGREES = {"object": 2.0, "indoor": 5.0, "tls": 2.0, "lidar": 2.0}
MOST_METRES = {"indoor": 0.2, "tls": 0.3, "lidar": 0.6}
OBJECT_SHARE = 0.01
# Voxels of peers for made scans: so many in a diagonal.
VOXELS_IN_DIAGONAL = 200
# Kinds that stand upright: scanners outdoors are levelled or ride on cars.
OUTDOOR = ("lidar", "tls")
MOST_TILT = np.radians(10)
SEED = 7


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair(Scans):
    """Two scans and what counts as right.

    kind          object, indoor, tls (a scanner on a tripod) or lidar (one on a car)
    most_degrees  off the truth
    tolerance     most root-mean-square distance of the source from where it belongs, in the unit of the data
    voxel         for peers, which have to be told one
    """

    name: str
    kind: str
    most_degrees: float
    tolerance: float
    voxel: float

    def errors(self, found: Floats) -> tuple[float, float]:
        """Degrees off the truth, and the root-mean-square distance from it relative to the tolerance."""
        truth = self.truth_for(found)
        return angular_error(found, truth), rmsd(found, truth, self.source) / self.tolerance

    def is_right(self, degrees: float, distance: float) -> bool:
        return degrees <= self.most_degrees and distance <= 1


@dataclass(frozen=True)
class Spoiling:
    """What is done to both scans: outliers for each good point, and noise relative to the bounding box's sides."""

    name: str
    outliers: float = 0.0
    noise: float = 0.0

    def of(self, points: Floats, seed: int) -> Floats:
        noisy = add_noise(points, self.noise, seed) if self.noise else points
        return add_outliers(noisy, self.outliers, "gaussian", seed)[0] if self.outliers else noisy


CLEAN = Spoiling("clean")
# Of objects; in scenes, noise that is a hundredth of a street would leave nothing to see.
SPOILINGS = (
    Spoiling("50 % outliers", outliers=0.5),
    Spoiling("noise 0.8 %", noise=0.008),
    Spoiling("noise 1.4 %", noise=0.014),
)


def kinds_of(data: Path | None) -> dict[str, str]:
    """{name: kind} of the pairs of pairs.json, or of those that we make."""
    if data is None:
        return {name: kind for name, (_, _, kind) in MADE.items()}
    return {entry["name"]: entry["kind"] for entry in entries_of(data)}


def chosen(kinds: dict[str, str], patterns: str) -> dict[str, str]:
    """Those whose name is like one of the patterns, which commas part."""
    found = {name: kind for name, kind in kinds.items() if any(fnmatch(name, like) for like in patterns.split(","))}
    if not found:
        raise InputError(f"pairs: {patterns!r} is like none of {', '.join(kinds)}")
    return found


@lru_cache(maxsize=1)
def pair_of(name: str, data: Path | None) -> Pair:
    """A pair by its name."""
    if name in MADE:
        subject, apart, kind = MADE[name]
        made = synthetic.pair(subject, apart, points=POINTS)
        diagonal = diagonal_of(made.target)
        return Pair(
            made.source,
            made.target,
            made.T_target_source,
            name=name,
            kind=kind,
            most_degrees=MOST_DEGREES[kind],
            tolerance=MOST_METRES.get(kind, OBJECT_SHARE * diagonal),
            voxel=diagonal / VOXELS_IN_DIAGONAL,
        )
    assert data is not None
    scans = scans_of(name, data)
    entry = next(entry for entry in entries_of(data) if entry["name"] == name)
    return Pair(
        scans.source,
        scans.target,
        scans.truth,
        axis=scans.axis,
        name=name,
        kind=entry["kind"],
        most_degrees=entry["max_rotation_error_deg"],
        tolerance=entry["max_rmsd"] or OBJECT_SHARE * diagonal_of(scans.target),
        voxel=entry["peer_voxel"],
    )


def starts_of(name: str, kind: str, points: Floats, count: int) -> Iterator[Floats]:
    """Motions of the source before it is registered: none, then random ones, the same in every run.

    Any turn about the centre for objects and rooms, any heading and up to 10 degrees of tilt outdoors; a shift of up to
    a diameter, outdoors a tenth of it.
    """
    rng = np.random.default_rng([SEED, *name.encode()])
    centre, size = points.mean(axis=0), diagonal_of(points)
    for number in range(count):
        if number == 0:
            yield np.eye(4)
            continue
        if kind in OUTDOOR:
            lean = rng.normal(size=2)
            lean *= MOST_TILT * rng.random() / np.linalg.norm(lean)
            heading = rotation_from_vector([0.0, 0.0, rng.uniform(-np.pi, np.pi)])
            turn = rotation_from_vector([*lean, 0.0]) @ heading
        else:
            turn = Rotation.from_quat(rng.normal(size=4)).as_matrix()
        shift = rng.uniform(-1, 1, 3) / np.sqrt(3) * size * (0.1 if kind in OUTDOOR else 1.0)
        yield pose(turn, centre - turn @ centre + shift)


def diagonal_of(points: Floats) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0)))


def entries_of(data: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((data / "pairs.json").read_text(encoding="utf-8"))
    return entries
