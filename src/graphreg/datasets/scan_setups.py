"""How each synthetic body and scene is scanned: its surface, the sensor, its poses, and the usual values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets import bodies, scenes
from graphreg.datasets.scanner import Sensor
from graphreg.datasets.surfaces import Surface, rotation_zyx
from graphreg.poses import pose

# The street is built in stretches of this length, in metres.
STREET_STRETCH = 128.0


@dataclass(frozen=True)
class ScanSetup:
    """How a body or scene is scanned.

    Parameters
    ----------
    surface : callable
        (variant, farthest viewpoint) -> Surface.
    sensor_pose : callable
        (viewpoint, rng) -> (4, 4) pose T_world_sensor.
    sensor : Sensor
    points : int
        Points of a scan by default.
    noise : float
        Standard deviation of the range by default, in metres.
    max_range : float
        In metres.
    step : float
        Between the viewpoints of successive scans by default: degrees, metres for the street.
    """

    surface: Callable[[int, float], Surface]
    sensor_pose: Callable[[float, np.random.Generator], Floats]
    sensor: Sensor
    points: int
    noise: float
    max_range: float
    step: float


def _around_body(viewpoint: float, rng: np.random.Generator) -> Floats:
    """A hand-held camera about 0.6 m away and a little above, aimed at the body."""
    azimuth, elevation = np.radians([viewpoint, rng.uniform(10, 22)])
    away = np.array([np.sin(azimuth) * np.cos(elevation), -np.cos(azimuth) * np.cos(elevation), np.sin(elevation)])
    eye = away * rng.uniform(0.57, 0.63)
    ahead = rng.uniform(-0.004, 0.004, 3) - eye
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    level = np.column_stack([right, np.cross(ahead, right), ahead])
    return pose(level @ rotation_zyx(rng.uniform(-0.15, 0.15)), eye)


def _before_facade(viewpoint: float, rng: np.random.Generator) -> Floats:
    angle, heading = np.radians(viewpoint), np.pi / 2 + rng.uniform(-0.3, 0.3)
    return _tripod([14 * np.sin(angle), -16 - 5 * np.cos(angle), 1.7], heading, rng)


def _in_room(viewpoint: float, rng: np.random.Generator) -> Floats:
    angle = np.radians(viewpoint)
    return _tripod([1.3 * np.sin(angle), -1.0 * np.cos(angle), 1.4], rng.uniform(-np.pi, np.pi), rng)


def _tripod(position: list[float], heading: float, rng: np.random.Generator) -> Floats:
    """A tripod that is level to about a degree."""
    return pose(rotation_zyx(heading, *rng.normal(size=2) * 0.015), position)


def _on_street(viewpoint: float, _: np.random.Generator) -> Floats:
    """On the roof of a car that sways on its suspension and in its lane, the same for every seed."""
    sway = np.sin(np.array([0.21, 0.13, 0.37, 0.29]) * viewpoint + [0.4, 1.0, 2.0, 3.0])
    local = pose(rotation_zyx(0.02 * sway[0], *0.012 * sway[2:]), [0, 0.35 * sway[0], 1.75 + 0.02 * sway[1]])
    return scenes.street_pose(viewpoint) @ local


def _body(build: Callable[[int], Surface]) -> ScanSetup:
    cached = lru_cache(maxsize=4)(build)
    camera = Sensor("pinhole", (-0.26, 0.26), (-0.26, 0.26), max_incidence=80)
    return ScanSetup(lambda variant, _: cached(variant), _around_body, camera, 40_000, 1e-4, 2.0, 30.0)


@lru_cache(maxsize=4)
def _street(variant: int, stretches: int) -> Surface:
    return scenes.street(variant, STREET_STRETCH * stretches)


_facade = lru_cache(maxsize=4)(scenes.facade)
_room = lru_cache(maxsize=4)(scenes.room)
_PANORAMIC = Sensor("spherical", (-np.pi, np.pi), (np.radians(-62), np.radians(80)), max_incidence=86)
_SECTOR = Sensor("spherical", (np.radians(-80), np.radians(80)), (np.radians(-20), np.radians(60)), max_incidence=86)
_SPINNING = Sensor("spherical", (-np.pi, np.pi), (np.radians(-24.8), np.radians(2.0)), max_incidence=88, channels=64)

SETUPS = {
    "dragon": _body(bodies.dragon),
    "hare": _body(bodies.hare),
    "hand": _body(bodies.hand),
    "casting": _body(bodies.casting),
    "facade": ScanSetup(lambda variant, _: _facade(variant), _before_facade, _SECTOR, 80_000, 4e-3, 60.0, 60.0),
    "room": ScanSetup(lambda variant, _: _room(variant), _in_room, _PANORAMIC, 80_000, 2e-3, 20.0, 40.0),
    "street": ScanSetup(
        lambda variant, farthest: _street(variant, 1 + int(farthest / STREET_STRETCH)),
        _on_street,
        _SPINNING,
        120_000,
        0.02,
        80.0,
        5.0,
    ),
}
