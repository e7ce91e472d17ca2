"""Scans that we make ourselves, with the exact ground truth: no files, no network.

    pair = synthetic.pair("dragon", apart=30)
    result = graphreg.register(pair.source, pair.target)       # compare with pair.T_target_source

A name and a `variant` say what is scanned, `view` from where, `seed` which noise. The same arguments give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from graphreg.clouds import Floats, Mask, as_cloud
from graphreg.datasets import bodies as grown
from graphreg.datasets import scenes as built
from graphreg.datasets.scanner import Losses, Sensor, sweep
from graphreg.datasets.shapes import Surface, rigid, turned
from graphreg.errors import InputError

MOST_POINTS = 20_000_000


@dataclass(frozen=True, eq=False)
class Scan:
    """One scan.

    points  (N, 3), in the sensor's frame, metres
    pose    (4, 4), exact: x_world = pose x_sensor
    name    what was scanned
    """

    points: Floats
    pose: Floats
    name: str


@dataclass(frozen=True, eq=False)
class Pair:
    """Two scans of one thing, each in its sensor's frame.

    source, target   (N, 3) and (M, 3), metres
    T_target_source  (4, 4), exact: x_target = T x_source
    overlap          share of the source points that have target points around them
    name             what was scanned
    """

    source: Floats
    target: Floats
    T_target_source: Floats
    overlap: float
    name: str


def bodies() -> tuple[str, ...]:
    """Names of what fits on a table, scanned by a range camera that walks around it."""
    return tuple(name for name, subject in _CATALOGUE.items() if subject.sensor.kind == "camera")


def scenes() -> tuple[str, ...]:
    """Names of places, scanned by a laser scanner in them."""
    return tuple(name for name in _CATALOGUE if name not in bodies())


def scan(
    name: str,
    view: float = 0.0,
    *,
    points: int | None = None,
    noise: float | None = None,
    dropout: float = 0.02,
    fading: float = 0.0,
    variant: int = 0,
    seed: int = 0,
) -> Scan:
    """Scan a body or scene from one place.

    view     where from: degrees around a body, the room or the front of the facade; metres along the street (>= 0)
    points   about how many; None for what such a scanner gives (40,000 for bodies to 120,000 for the street)
    noise    standard deviation of the range, in metres; None for what such a scanner has
    dropout  share of the returns that are lost at random; those at grazing angles are always lost
    fading   share of the returns from the end of the scanner's reach that are lost as well, less from nearer
    variant  another individual of the same kind
    seed     of noise, losses and how exactly the scanner was put up
    """
    return next(
        sequence(name, 1, view=view, points=points, noise=noise, dropout=dropout, fading=fading,
                 variant=variant, seed=seed)
    )  # fmt: skip


def pair(
    name: str,
    apart: float | None = None,
    *,
    view: float = 0.0,
    points: int | None = None,
    noise: float | None = None,
    dropout: float = 0.02,
    fading: float = 0.0,
    variant: int = 0,
    seed: int = 0,
) -> Pair:
    """Scan twice: the target from `view`, the source from `view + apart`.

    apart  in the unit of `view`; None for 30 degrees around a body, 40 to 60 around a place, 5 m along the street

    The other arguments are those of `scan`. Overlap falls as `apart` grows.
    """
    target, source = sequence(
        name, 2, apart, view=view, points=points, noise=noise, dropout=dropout, fading=fading,
        variant=variant, seed=seed,
    )  # fmt: skip
    truth = _inverse(target.pose) @ source.pose
    share = overlap(source.points, target.points, truth)
    return Pair(source.points, target.points, truth, share, name)


def sequence(
    name: str,
    frames: int,
    apart: float | None = None,
    *,
    view: float = 0.0,
    points: int | None = None,
    noise: float | None = None,
    dropout: float = 0.02,
    fading: float = 0.0,
    variant: int = 0,
    seed: int = 0,
) -> Iterator[Scan]:
    """Scan after scan, at `view`, `view + apart`, ...: a drive down the street, a walk around a body.

    apart  as for `pair`

    The other arguments are those of `scan`. Frame 0 is the same bits as `scan` with the same arguments. Scans are made one
    by one, as they are asked for.
    """
    if name not in _CATALOGUE:
        raise InputError(f"name: is {name!r}, expected one of {', '.join(_CATALOGUE)}")
    subject = _CATALOGUE[name]
    count = _number("points", subject.points if points is None else points, 10, MOST_POINTS)
    sigma = _number("noise", subject.noise if noise is None else noise, 0, subject.reach)
    losses = Losses(_number("dropout", dropout, 0, 0.99), _number("fading", fading, 0, 1), subject.reach)
    step = _number("apart", subject.apart if apart is None else apart, -1e4, 1e4)
    first = _number("view", view, -1e4, 1e4)
    _whole("frames", frames, 1), _whole("variant", variant), _whole("seed", seed)
    views = [first + k * step for k in range(frames)]
    if name == "street" and min(views) < 0:
        raise InputError(f"view: the drive reaches {min(views):g} m, but the street begins at 0")

    def drive() -> Iterator[Scan]:
        surface = subject.surface(variant, max(views))
        for k, place in enumerate(views):
            rng = np.random.default_rng([seed, k])
            pose = subject.station(place, rng)
            cloud = sweep(surface, subject.sensor, pose, int(count), sigma, losses, rng)
            yield Scan(cloud, pose, name)

    return drive()


def overlap(source: Any, target: Any, T_target_source: Floats) -> float:
    """Share of the source points that, moved by T, have target points around them.

    Around means: no farther from the nearest target point than twice the distance to that point's eighth neighbour, so
    that near and far parts of a scan are judged each by its own spacing.
    """
    here = as_cloud(source, "source").points
    there = as_cloud(target, "target", at_least=9).points
    tree = cKDTree(there)
    spacing = tree.query(there, 9)[0][:, -1]
    away, nearest = tree.query(here @ T_target_source[:3, :3].T + T_target_source[:3, 3])
    return float((away <= 2 * spacing[nearest]).mean())


def add_outliers(points: Any, ratio: float, kind: str = "gaussian", seed: int = 0) -> tuple[Floats, Mask]:
    """Append points that belong to nothing: `ratio` x as many as there are points. Returns all, and which are outliers.

    "gaussian"  normal, with the sides of the bounding box as standard deviations
    "uniform"   uniform in the bounding box

    As in Section IV-I of the paper. There the Gaussian has zero mean, for scans about the origin; here it has the cloud's
    mean, which says the same for a cloud anywhere.
    """
    cloud = as_cloud(points, "points").points
    share = _number("ratio", ratio, 0, 1000)
    _whole("seed", seed)
    rng = np.random.default_rng(seed)
    count = int(len(cloud) * share)
    low, sides = cloud.min(axis=0), np.ptp(cloud, axis=0)
    if kind == "gaussian":
        extra = cloud.mean(axis=0) + rng.normal(size=(count, 3)) * sides
    elif kind == "uniform":
        extra = low + rng.random((count, 3)) * sides
    else:
        raise InputError(f"kind: is {kind!r}, expected 'gaussian' or 'uniform'")
    return np.vstack([cloud, extra]), np.arange(len(cloud) + count) >= len(cloud)


def add_noise(points: Any, sigma_relative: float, seed: int = 0) -> Floats:
    """Move each point by a Gaussian whose standard deviations are `sigma_relative` x the bounding box's sides."""
    cloud = as_cloud(points, "points").points
    sigma = _number("sigma_relative", sigma_relative, 0, 1000)
    _whole("seed", seed)
    rng = np.random.default_rng(seed)
    return np.asarray(cloud + rng.normal(size=cloud.shape) * np.ptp(cloud, axis=0) * sigma)


def surface(name: str, variant: int = 0) -> Surface:
    """What `scan` looks at: cast your own rays at it. The street is 128 m long."""
    if name not in _CATALOGUE:
        raise InputError(f"name: is {name!r}, expected one of {', '.join(_CATALOGUE)}")
    _whole("variant", variant)
    return _CATALOGUE[name].surface(variant, 0.0)


@dataclass(frozen=True)
class _Subject:
    """What is scanned, and how: what it looks like, where the sensor stands for a view, the sensor's usual values."""

    surface: Callable[[int, float], Surface]
    station: Callable[[float, np.random.Generator], Floats]
    sensor: Sensor
    points: int
    noise: float
    reach: float
    apart: float


def _around_body(view: float, rng: np.random.Generator) -> Floats:
    """A camera in a hand, about 0.6 m away and a little above, that looks at the body."""
    azimuth, elevation = np.radians([view, rng.uniform(10, 22)])
    away = np.array(
        [np.sin(azimuth) * np.cos(elevation), -np.cos(azimuth) * np.cos(elevation), np.sin(elevation)]
    )
    eye = away * rng.uniform(0.57, 0.63)
    ahead = rng.uniform(-0.004, 0.004, 3) - eye
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    level = np.column_stack([right, np.cross(ahead, right), ahead])
    return rigid(eye, level @ turned(rng.uniform(-0.15, 0.15)))


def _before_facade(view: float, rng: np.random.Generator) -> Floats:
    turn, heading = np.radians(view), np.pi / 2 + rng.uniform(-0.3, 0.3)
    return _tripod([14 * np.sin(turn), -16 - 5 * np.cos(turn), 1.7], heading, rng)


def _in_room(view: float, rng: np.random.Generator) -> Floats:
    turn = np.radians(view)
    return _tripod([1.3 * np.sin(turn), -1.0 * np.cos(turn), 1.4], rng.uniform(-np.pi, np.pi), rng)


def _tripod(place: list[float], heading: float, rng: np.random.Generator) -> Floats:
    """Levelled to a degree or so."""
    return rigid(place, turned(heading, *rng.normal(size=2) * 0.015))


def _on_street(view: float, rng: np.random.Generator) -> Floats:
    """On the roof of a car that sways on its springs and in its lane."""
    del rng  # the drive is the same for every seed
    sway = np.sin(np.array([0.21, 0.13, 0.37, 0.29]) * view + [0.4, 1.0, 2.0, 3.0])
    local = rigid([0, 0.35 * sway[0], 1.75 + 0.02 * sway[1]], turned(0.02 * sway[0], *0.012 * sway[2:]))
    return built.street_pose(view) @ local


def _inverse(pose: Floats) -> Floats:
    return rigid(-pose[:3, :3].T @ pose[:3, 3], pose[:3, :3].T)


def _number(name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, (int, float, np.number)) and low <= value <= high:
        return float(value)
    raise InputError(f"{name}: is {value!r}, expected a number from {low:g} to {high:g}")


def _whole(name: str, value: Any, low: int = 0) -> None:
    if not isinstance(value, (int, np.integer)) or value < low:
        raise InputError(f"{name}: is {value!r}, expected a whole number from {low} on")


def _body(build: Callable[[int], Surface]) -> _Subject:
    kept = lru_cache(maxsize=4)(build)
    window = Sensor("camera", (-0.26, 0.26), (-0.26, 0.26), grazing=80)
    return _Subject(lambda variant, _: kept(variant), _around_body, window, 40_000, 1e-4, 2.0, 30.0)


@lru_cache(maxsize=4)
def _street(variant: int, stretches: int) -> Surface:
    return built.street(variant, 128.0 * stretches)


_ALL_AROUND = Sensor("angles", (-np.pi, np.pi), (np.radians(-62), np.radians(80)), grazing=86)
_SECTOR = Sensor("angles", (np.radians(-80), np.radians(80)), (np.radians(-20), np.radians(60)), grazing=86)
_SPINNING = Sensor("angles", (-np.pi, np.pi), (np.radians(-24.8), np.radians(2.0)), grazing=88, rings=64)

_CATALOGUE = {
    "dragon": _body(grown.dragon),
    "hare": _body(grown.hare),
    "hand": _body(grown.hand),
    "casting": _body(grown.casting),
    "facade": _Subject(
        lambda variant, _: _facade(variant), _before_facade, _SECTOR, 80_000, 4e-3, 60.0, 60.0
    ),
    "room": _Subject(lambda variant, _: _room(variant), _in_room, _ALL_AROUND, 80_000, 2e-3, 20.0, 40.0),
    "street": _Subject(
        lambda variant, drive: _street(variant, 1 + int(drive / 128)),
        _on_street,
        _SPINNING,
        120_000,
        0.02,
        80.0,
        5.0,
    ),
}
_facade = lru_cache(maxsize=4)(built.facade)
_room = lru_cache(maxsize=4)(built.room)
