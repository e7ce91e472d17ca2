"""Summary of a cloud: counts, bounding box, point spacing, attributes, and a guess at the kind of scan and its unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats, as_cloud, extent, sample_rows
from graphreg.threads import thread_count


@dataclass(frozen=True)
class InspectionParameters:
    """Constants of `inspect`. All are chosen; nothing else in graphreg depends on the guess."""

    sample_size: int = 20_000
    """Points at which distances to neighbours are measured."""
    neighbours: int = 8
    """The distance to this neighbour measures how sparse the cloud is at a point."""
    max_object: float = 2.0
    """Largest extent of an object, in metres."""
    max_room: float = 15.0
    """Largest extent of a room, in metres."""
    max_object_millimetres: float = 2000.0
    """Largest extent of an object, in millimetres."""
    range_correlation: float = 0.5
    """Correlation of the logarithms of spacing and of range from the origin, above which a scanner at the origin is
    assumed: the density of a scan decreases with range."""
    range_correlation_vehicle: float = 0.8
    """The same for a spinning LiDAR on a vehicle."""
    max_mean_direction: float = 0.55
    """Length of the mean unit vector from the origin to the points, below which they surround the origin."""
    vehicle_flatness: float = 0.25
    """Shortest over longest edge of the bounding box, below which a scan may be of a LiDAR on a vehicle."""
    terrestrial_flatness: float = 0.4
    """The same for a terrestrial scan; most objects are less flat."""
    upright_share: float = 0.5
    """Share of horizontal and vertical surfaces, above which a scan may be of rooms or a site; of an object, such as a
    dental arch, surfaces have all directions."""
    horizontal: float = 0.95
    """Vertical component of the normal of a horizontal surface, at least."""
    vertical: float = 0.1
    """The same of a vertical surface, at most."""
    room_flatness: float = 0.15
    """Shortest over longest edge of the bounding box, below which something large is rather a landscape than a room."""
    max_room_millimetres: float = 15_000.0
    """Largest extent of a room, in millimetres."""
    map_distance: float = 1e5
    """Horizontal distance from the origin beyond which coordinates are those of a map, in metres: eastings and
    northings have six digits or more."""
    map_extents: float = 20.0
    """The same in extents of the cloud: no scanner is that far away from what it scans."""


PARAMETERS = InspectionParameters()


@dataclass(frozen=True)
class Attribute:
    """Summary of one attribute of a cloud.

    Attributes
    ----------
    type : str
        Name of its dtype.
    components : int
        Numbers per point.
    low, high : float or None
        Range of its finite values; None where there are none.
    """

    type: str
    components: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Guess:
    """A guess at the kind of scan and its unit.

    Attributes
    ----------
    kind : {"object", "room", "terrestrial", "vehicle lidar"}
    unit : {"metres", "millimetres"}
    reason : str
        What the guess is based on.
    """

    kind: str
    unit: str
    reason: str


@dataclass(frozen=True)
class Inspection:
    """Summary of a cloud, in the unit of the data.

    Attributes
    ----------
    points : int
        Number of finite rows.
    not_finite : int
        Number of rows with NaN or infinity.
    duplicates : int
        Number of points that are equal to an earlier one.
    low, high : tuple of 3 float
        Corners of the axis-aligned bounding box.
    size : tuple of 3 float
        Edge lengths of that box.
    spacing : float
        Median distance from a point to the nearest different one; 0 where all points are equal.
    attributes : dict of str to Attribute
    guess : Guess
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
    """Summarise a cloud.

    Parameters
    ----------
    cloud : Cloud or (N, 3) array_like
        As `read_cloud` returns it, or anything else that `as_cloud` accepts.
    threads : int, optional
        Number of threads, by default all cores; the result does not depend on it.

    Returns
    -------
    Inspection

    Examples
    --------
    >>> summary = inspect([[0, 0, 0], [1, 0, 0], [0, 2, 0], [1, 0, 0]])
    >>> summary.points, summary.duplicates, summary.size
    (4, 1, (1.0, 2.0, 0.0))
    """
    checked = as_cloud(cloud, "cloud")
    axes = checked.points.T  # axis by axis, which numpy reduces faster
    low, high = [float(axis.min()) for axis in axes], [float(axis.max()) for axis in axes]
    spacing, correlation = _spacing_and_range_correlation(checked.points, thread_count(threads))
    return Inspection(
        points=len(checked),
        not_finite=checked.dropped,
        duplicates=len(checked) - len(_core.unique_points(checked.points)),
        low=tuple(low),
        high=tuple(high),
        size=tuple(end - start for start, end in zip(low, high, strict=True)),
        spacing=spacing,
        attributes={str(name): _summary(values) for name, values in checked.attributes.items()},
        guess=_guess(checked.points, correlation),
    )


def _guess(points: Floats, correlation: float, parameters: InspectionParameters = PARAMETERS) -> Guess:
    """A guess by size and by the distribution of the points about the origin, where many scanners are."""
    longest = extent(points)
    flatness = min(float(np.ptp(points[:, axis])) for axis in range(3)) / (longest or 1.0)
    size = f"extent {longest:.3g}"
    surrounded = _mean_direction(points, parameters.sample_size) < parameters.max_mean_direction
    if (
        longest > parameters.max_room
        and correlation > parameters.range_correlation_vehicle
        and surrounded
        and flatness < parameters.vehicle_flatness
    ):
        reason = f"{size}, flat, surrounds the origin, sparser with the distance from it"
        return Guess("vehicle lidar", "metres", reason)
    distance = float(np.hypot(*(points[:, axis].mean() for axis in (0, 1))))
    if distance > max(parameters.map_distance, parameters.map_extents * longest):
        kinds = (("object", parameters.max_object), ("room", parameters.max_room), ("terrestrial", math.inf))
        kind = next(kind for kind, most in kinds if longest <= most)
        return Guess(kind, "metres", f"{size}, {distance:.3g} from the origin, as in the coordinates of a map")
    if longest <= parameters.max_object:
        return Guess("object", "metres", f"{size}, small for a room or a site in any common unit")
    if longest <= parameters.max_room:
        return Guess("room", "metres", f"{size}, as of rooms in metres")
    is_large = longest > parameters.max_object_millimetres
    if is_large and longest <= parameters.max_room_millimetres and flatness > parameters.room_flatness:
        return Guess("room", "millimetres", f"{size}, as of rooms in millimetres")
    if is_large:
        return Guess("terrestrial", "metres", f"{size}, large for an object even in millimetres")
    if correlation > parameters.range_correlation:
        return Guess("terrestrial", "metres", f"{size}, sparser with the distance from the origin")
    if surrounded and flatness < parameters.terrestrial_flatness and _upright_share(points) > parameters.upright_share:
        return Guess("terrestrial", "metres", f"{size}, rather flat, upright, surrounds the origin")
    return Guess("object", "millimetres", f"{size}, but no scanner seems to be at the origin")


def _upright_share(points: Floats, parameters: InspectionParameters = PARAMETERS) -> float:
    """Share of points on horizontal and vertical surfaces."""
    sample = points[sample_rows(len(points), parameters.sample_size)]
    if len(sample) <= parameters.neighbours:
        return 0.0
    near = sample[_core.Tree(sample, 1).nearest(sample, parameters.neighbours + 1, 1)[0]]
    offsets = near - near.mean(axis=1, keepdims=True)
    normals = np.linalg.eigh(np.einsum("nki,nkj->nij", offsets, offsets))[1][:, :, 0]
    steepness = np.abs(normals[:, 2])
    return float(np.mean((steepness > parameters.horizontal) | (steepness < parameters.vertical)))


def _mean_direction(points: Floats, sample_size: int) -> float:
    """Length of the mean unit vector to the points: 0 where they surround the origin evenly, 1 in one direction."""
    sample = points[sample_rows(len(points), sample_size)]
    sample = sample / (np.abs(sample).max() or 1.0)
    ranges = np.linalg.norm(sample, axis=1, keepdims=True)
    return float(np.linalg.norm((sample / np.where(ranges > 0, ranges, 1.0)).mean(axis=0)))


def _spacing_and_range_correlation(
    points: Floats, threads: int, parameters: InspectionParameters = PARAMETERS
) -> tuple[float, float]:
    """Median distance to the nearest different point; correlation (-1 to 1) of log spacing and log range."""
    sample = points[sample_rows(len(points), parameters.sample_size)]
    count = min(parameters.neighbours + 1, len(points))
    squared = _core.Tree(points, threads).nearest(sample, count, threads)[1]
    nearest = np.sqrt(np.where(squared > 0, squared, np.inf).min(axis=1))
    nearest = nearest[np.isfinite(nearest)]
    radii, ranges = np.sqrt(squared[:, -1]), np.linalg.norm(sample, axis=1)
    positive = (radii > 0) & (ranges > 0)
    correlation = 0.0
    if np.count_nonzero(positive) > 2:
        a, b = np.log(radii[positive]), np.log(ranges[positive])
        deviation = a.std() * b.std()
        correlation = float(np.mean((a - a.mean()) * (b - b.mean())) / deviation) if deviation else 0.0
    return float(np.median(nearest)) if len(nearest) else 0.0, correlation


def _summary(values: NDArray[Any]) -> Attribute:
    low = high = None
    if values.dtype.kind in "biuf" and values.size:
        finite = values[np.isfinite(values)]
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
    return Attribute(str(values.dtype), int(np.prod(values.shape[1:])), low, high)
