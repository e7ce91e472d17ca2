"""A scanner: rays in the sensor's pattern, noise along them, and returns that never come back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.datasets.shapes import Surface

# Rays of the first look that finds out how large a share of them comes back.
TRIAL = 2000


@dataclass(frozen=True)
class Sensor:
    """The pattern of a sensor's rays: a grid over two coordinates of direction.

    kind     "camera": z ahead, x right, y down, a grid over x/z and y/z;
             "angles": x ahead, y left, z up, a grid over azimuth and elevation in radians
    wide     from, to of the first coordinate
    tall     from, to of the second
    grazing  degrees between ray and normal beyond which too little light comes back
    rings    how many lines the grid has; None for as many as make it square
    """

    kind: str
    wide: tuple[float, float]
    tall: tuple[float, float]
    grazing: float
    rings: int | None = None

    def rays(self, count: float) -> Floats:
        """About `count` unit directions (N, 3) in the sensor's frame, line by line."""
        width, height = self.wide[1] - self.wide[0], self.tall[1] - self.tall[0]
        lines = self.rings or max(2, round(np.sqrt(count * height / width)))
        across = np.linspace(*self.wide, max(2, round(count / lines)), endpoint=self.kind == "camera")
        first, second = (axis.ravel() for axis in np.meshgrid(across, np.linspace(*self.tall, lines)))
        if self.kind == "camera":
            rays = np.stack([first, second, np.ones_like(first)], axis=1)
            return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))
        level = np.cos(second)
        return np.stack([level * np.cos(first), level * np.sin(first), np.sin(second)], axis=1)

    def covers(self, rays: Floats) -> Mask:
        """Which of these directions the pattern spans."""
        if self.kind == "camera":
            first, second = rays[:, 0] / rays[:, 2], rays[:, 1] / rays[:, 2]
        else:
            first, second = np.arctan2(rays[:, 1], rays[:, 0]), np.arcsin(rays[:, 2])
        across = (first >= self.wide[0]) & (first <= self.wide[1])
        return np.asarray(across & (second >= self.tall[0]) & (second <= self.tall[1]))

    def aimed(self, rays: Floats) -> Sensor:
        """The same camera with its window cut down to `rays`, and a margin."""
        bounds = []
        for axis, (low, high) in ((0, self.wide), (1, self.tall)):
            place = rays[:, axis] / rays[:, 2]
            margin = 1.5 * (high - low) / np.sqrt(TRIAL)
            bounds.append((max(low, float(place.min()) - margin), min(high, float(place.max()) + margin)))
        return replace(self, wide=bounds[0], tall=bounds[1])


@dataclass(frozen=True)
class Losses:
    """What does not come back.

    dropout  share of all returns
    fading   share of the returns at `reach`; less in proportion to the square of the range
    reach    range beyond which nothing is seen
    """

    dropout: float
    fading: float
    reach: float


def sweep(
    surface: Surface,
    sensor: Sensor,
    pose: Floats,
    points: int,
    noise: float,
    losses: Losses,
    rng: np.random.Generator,
) -> Floats:
    """About `points` points on what the sensor sees from `pose` (sensor to world), in its own frame.

    The range of each has a Gaussian error of standard deviation `noise`.
    """
    trial = sensor.rays(TRIAL)
    back = np.isfinite(returns(surface, sensor, trial, pose, losses, np.random.default_rng(0)))
    if sensor.kind == "camera" and back.any():
        sensor = sensor.aimed(trial[back])
    share = back.sum() / sensor.covers(trial).sum()
    rays = sensor.rays(points / max(share, 0.01))
    ranges = returns(surface, sensor, rays, pose, losses, rng)
    back = np.isfinite(ranges)
    measured = ranges[back] + noise * rng.normal(size=int(back.sum()))
    return np.ascontiguousarray(measured[:, None] * rays[back])


def returns(
    surface: Surface,
    sensor: Sensor,
    rays: Floats,
    pose: Floats,
    losses: Losses,
    rng: np.random.Generator,
) -> Floats:
    """The true range along each ray, infinite where nothing comes back."""
    directions = rays @ pose[:3, :3].T
    ranges, normals = surface.cast(pose[:3, 3], directions, losses.reach)
    facing = -np.einsum("ij,ij->i", directions, normals)
    far = np.where(np.isfinite(ranges), ranges, 0.0) / losses.reach
    lost = rng.random(len(rays)) < losses.dropout
    lost |= rng.random(len(rays)) < losses.fading * far**2
    lost |= facing < np.cos(np.radians(sensor.grazing))
    return np.where(lost, np.inf, ranges)
