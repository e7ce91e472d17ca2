"""What a cloud is like, before anything is done with it: counts, size, spacing, and a guess at what was scanned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Cloud, Floats, as_cloud, extent, sample_rows
from graphreg.threads import thread_count

# Distances to neighbours are measured at so many points, drawn from all.
MOST_MEASURED = 20_000
# The nearest so many tell how dense the cloud is at a point.
AROUND = 8
# In the unit of the data, taken for metres: larger than an object, larger than a room, larger than any object in mm.
OBJECT, ROOM, SITE = 2.0, 15.0, 2000.0
# How far distances between points follow the distance from the origin where a scanner stood there (correlation).
THINS_OUT, THINS_OUT_MUCH = 0.5, 0.8
# Mean direction of the points as seen from the origin: less, and they lie all around it.
ONE_SIDED = 0.55
# Shortest side over longest: a drive is flatter than what a tripod sees, and that is flatter than most objects.
FLAT, LOW = 0.25, 0.4


@dataclass(frozen=True)
class Attribute:
    """What a cloud holds for each point beside its place.

    numbers    how many a point
    low, high  of those that are finite; None where there are none
    """

    type: str
    numbers: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Guess:
    """What may have been scanned (object, room, terrestrial, vehicle lidar), in which unit, and why it looks so."""

    kind: str
    unit: str
    reason: str


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found.

    points      finite rows
    not_finite  rows that held NaN or infinity
    duplicates  points that lie exactly where an earlier one lies
    low, high   corners of the box around the points
    size        sides of that box
    spacing     the usual distance from a point to the nearest other one; 0 where all lie in one place
    """

    points: int
    not_finite: int
    duplicates: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    size: tuple[float, ...]
    spacing: float
    attributes: dict[str, Attribute]
    guess: Guess


def inspect(cloud: Any, threads: int | None = None) -> Inspection:
    """Describe a cloud.

    cloud    what `read_cloud` gave, or anything else that holds points
    threads  how many, by default all; the result is the same for any number
    """
    held = as_cloud(cloud, "cloud")
    sides = held.points.T  # one by one, which numpy is quicker at
    low, high = [float(side.min()) for side in sides], [float(side.max()) for side in sides]
    spacing, thinning = _density(held.points, thread_count(threads))
    return Inspection(
        points=len(held),
        not_finite=held.dropped,
        duplicates=len(held.points) - len(_core.unique_points(held.points)),
        low=tuple(low),
        high=tuple(high),
        size=tuple(end - start for start, end in zip(low, high, strict=True)),
        spacing=spacing,
        attributes={str(name): _attribute(values) for name, values in held.attributes.items()},
        guess=guess(held, thinning),
    )


def guess(cloud: Cloud, thinning: float) -> Guess:
    """A guess by size and by how points lie about the origin, where many scanners put themselves.

    thinning  how far distances between points follow the distance from the origin, see `inspect`
    """
    points = cloud.points
    longest = extent(points)
    flatness = min(float(np.ptp(points[:, axis])) for axis in range(3)) / (longest or 1.0)
    across = f"{longest:.3g} across"
    around = _one_sidedness(points) < ONE_SIDED
    if longest > ROOM and thinning > THINS_OUT_MUCH and around and flatness < FLAT:
        ground = f"{across} and flat, all around the origin, thinner with the distance from it"
        return Guess("vehicle lidar", "metres", ground)
    if longest <= OBJECT:
        return Guess("object", "metres", f"{across}, small for a place in any common unit")
    if longest <= ROOM:
        return Guess("room", "metres", f"{across}, as rooms are in metres")
    if longest > SITE:
        return Guess("terrestrial", "metres", f"{across}, large for an object even in millimetres")
    if thinning > THINS_OUT:
        return Guess("terrestrial", "metres", f"{across}, thinner with the distance from the origin")
    if around and flatness < LOW:
        return Guess("terrestrial", "metres", f"{across} and rather low, all around the origin")
    return Guess("object", "millimetres", f"{across}, but not as seen from a scanner amidst it")


def _one_sidedness(points: Floats) -> float:
    """0 where the points lie evenly around the origin, 1 where all lie in one direction from it."""
    some = _drawn(points)
    some = some / (np.abs(some).max() or 1.0)
    away = np.linalg.norm(some, axis=1, keepdims=True)
    return float(np.linalg.norm((some / np.where(away > 0, away, 1.0)).mean(axis=0)))


def _density(points: Floats, threads: int) -> tuple[float, float]:
    """The usual distance to the nearest other point, and how far distances follow that from the origin (-1 to 1)."""
    some = _drawn(points)
    count = min(AROUND + 1, len(points))
    squared = _core.Tree(points, threads).nearest(some, count, threads)[1]
    apart = np.sqrt(np.where(squared > 0, squared, np.inf).min(axis=1))
    apart = apart[np.isfinite(apart)]
    reach, away = np.sqrt(squared[:, -1]), np.linalg.norm(some, axis=1)
    both = (reach > 0) & (away > 0)
    thinning = 0.0
    if np.count_nonzero(both) > 2:
        logs = np.log(reach[both]), np.log(away[both])
        spread = logs[0].std() * logs[1].std()
        thinning = float(np.mean((logs[0] - logs[0].mean()) * (logs[1] - logs[1].mean())) / spread) if spread else 0.0
    return float(np.median(apart)) if len(apart) else 0.0, thinning


def _drawn(points: Floats) -> Floats:
    return points[sample_rows(len(points), MOST_MEASURED)]


def _attribute(values: NDArray[Any]) -> Attribute:
    low = high = None
    if values.dtype.kind in "biuf" and values.size:
        finite = values[np.isfinite(values)]
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
    return Attribute(str(values.dtype), int(np.prod(values.shape[1:])), low, high)
