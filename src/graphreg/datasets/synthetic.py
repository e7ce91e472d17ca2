"""Scans that we make ourselves, with the exact ground truth: no files, no network.

    pair = synthetic.pair("dragon", apart=30)
    result = graphreg.register(pair.source, pair.target)       # compare with pair.T_target_source

A name and a `variant` say what is scanned, `view` from where, `seed` which noise. The same arguments give the
same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets import bodies as grown
from graphreg.datasets import scenes as built
from graphreg.datasets.contamination import add_noise, add_outliers, number, whole
from graphreg.datasets.scanner import Losses, Sensor, returns, sweep
from graphreg.datasets.shapes import Surface, rigid, turned
from graphreg.errors import InputError
from graphreg.poses import inverse

__all__ = [
    "Pair",
    "Scan",
    "add_noise",
    "add_outliers",
    "bodies",
    "pair",
    "scan",
    "scenes",
    "sequence",
    "surface",
]

MOST_POINTS = 20_000_000
OVERLAP_SAMPLE = 5000


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
    overlap          share of the source points that the target's sensor can see as well
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

    view     where from: degrees around a body, in the room or before the facade; metres along the street
    points   about how many; None for what such a scanner gives, from 40,000 (bodies) to 120,000 (street)
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

    apart  in the unit of `view`; None for 30 degrees (bodies), 40 (room), 60 (facade), 5 m (street)

    The other arguments are those of `scan`. Around a body, 90 degrees leave about 0.4 of overlap; down the
    street, 20 m do.
    """
    target, source = sequence(
        name, 2, apart, view=view, points=points, noise=noise, dropout=dropout, fading=fading,
        variant=variant, seed=seed,
    )  # fmt: skip
    subject = _subject(name)
    truth = inverse(target.pose) @ source.pose
    surface = subject.surface(variant, max(view, view + (subject.apart if apart is None else apart)))
    share = _overlap(subject, surface, source, target, subject.noise if noise is None else noise)
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

    The other arguments are those of `scan`; frame 0 is the same bits as `scan` gives. Scans are made one by
    one, as they are asked for.
    """
    subject = _subject(name)
    count = number("points", subject.points if points is None else points, 10, MOST_POINTS)
    sigma = number("noise", subject.noise if noise is None else noise, 0, subject.reach)
    losses = Losses(number("dropout", dropout, 0, 0.99), number("fading", fading, 0, 1), subject.reach)
    step = number("apart", subject.apart if apart is None else apart, -1e4, 1e4)
    first = number("view", view, -1e4, 1e4)
    whole("frames", frames, 1)
    whole("variant", variant)
    whole("seed", seed)
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


def surface(name: str, variant: int = 0) -> Surface:
    """What `scan` looks at, to cast other rays at. Of the street, what a drive of 128 m passes."""
    whole("variant", variant)
    return _subject(name).surface(variant, 0.0)


@dataclass(frozen=True)
class _Subject:
    """What is scanned, and how: the surface, where the sensor stands for a view, its usual values."""

    surface: Callable[[int, float], Surface]
    station: Callable[[float, np.random.Generator], Floats]
    sensor: Sensor
    points: int
    noise: float
    reach: float
    apart: float


def _overlap(subject: _Subject, surface: Surface, source: Scan, target: Scan, noise: float) -> float:
    """Look from the target's sensor at a sample of the source points: is what it sees as far away?"""
    chosen = source.points[:: 1 + len(source.points) // OVERLAP_SAMPLE]
    truth = inverse(target.pose) @ source.pose
    rays = chosen @ truth[:3, :3].T + truth[:3, 3]
    ranges = np.linalg.norm(rays, axis=1)
    rays /= ranges[:, None]
    nothing_lost = Losses(0.0, 0.0, subject.reach)
    seen = returns(surface, subject.sensor, rays, target.pose, nothing_lost, np.random.default_rng(0))
    near = np.abs(seen - ranges) <= 4 * noise + 2e-3 * ranges
    return float((near & subject.sensor.covers(rays)).mean())


def _around_body(view: float, rng: np.random.Generator) -> Floats:
    """A camera in a hand, about 0.6 m away and a little above, that looks at the body."""
    azimuth, elevation = np.radians([view, rng.uniform(10, 22)])
    away = np.array([np.sin(azimuth) * np.cos(elevation), -np.cos(azimuth) * np.cos(elevation), np.sin(elevation)])
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


def _on_street(view: float, _: np.random.Generator) -> Floats:
    """On the roof of a car that sways on its springs and in its lane, the same way for every seed."""
    sway = np.sin(np.array([0.21, 0.13, 0.37, 0.29]) * view + [0.4, 1.0, 2.0, 3.0])
    local = rigid([0, 0.35 * sway[0], 1.75 + 0.02 * sway[1]], turned(0.02 * sway[0], *0.012 * sway[2:]))
    return built.street_pose(view) @ local


def _body(build: Callable[[int], Surface]) -> _Subject:
    kept = lru_cache(maxsize=4)(build)
    window = Sensor("camera", (-0.26, 0.26), (-0.26, 0.26), grazing=80)
    return _Subject(lambda variant, _: kept(variant), _around_body, window, 40_000, 1e-4, 2.0, 30.0)


def _subject(name: str) -> _Subject:
    if name not in _CATALOGUE:
        raise InputError(f"name: is {name!r}, expected one of {', '.join(_CATALOGUE)}")
    return _CATALOGUE[name]


@lru_cache(maxsize=4)
def _street(variant: int, stretches: int) -> Surface:
    return built.street(variant, 128.0 * stretches)


_facade = lru_cache(maxsize=4)(built.facade)
_room = lru_cache(maxsize=4)(built.room)
_ALL_AROUND = Sensor("angles", (-np.pi, np.pi), (np.radians(-62), np.radians(80)), grazing=86)
_SECTOR = Sensor("angles", (np.radians(-80), np.radians(80)), (np.radians(-20), np.radians(60)), grazing=86)
_SPINNING = Sensor("angles", (-np.pi, np.pi), (np.radians(-24.8), np.radians(2.0)), grazing=88, rings=64)

_CATALOGUE = {
    "dragon": _body(grown.dragon),
    "hare": _body(grown.hare),
    "hand": _body(grown.hand),
    "casting": _body(grown.casting),
    "facade": _Subject(lambda variant, _: _facade(variant), _before_facade, _SECTOR, 80_000, 4e-3, 60.0, 60.0),
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
