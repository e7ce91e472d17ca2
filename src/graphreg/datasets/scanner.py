"""Simulated scanners: the pattern of rays, range noise and lost returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.datasets.surfaces import Surface

# Rays of the coarse scan that estimates the share of rays with a return.
TRIAL_RAYS = 2000
# Sectors of azimuth that a moving sensor measures one after another.
SECTORS = 36


@dataclass(frozen=True)
class Sensor:
    """The ray pattern of a sensor: a regular grid over two coordinates of direction.

    Parameters
    ----------
    projection : {"pinhole", "spherical"}
        "pinhole" is a grid over x/z and y/z (z ahead, x right, y down);
        "spherical" a grid over azimuth and elevation in radians (x ahead, y left, z up).
    horizontal, vertical : (float, float)
        Limits of the first and of the second coordinate.
    max_incidence : float
        Degrees between ray and surface normal beyond which there is no return.
    channels : int, optional
        Lines of the grid, as of a spinning LiDAR; by default as many as give the same spacing in both coordinates.
    """

    projection: str
    horizontal: tuple[float, float]
    vertical: tuple[float, float]
    max_incidence: float
    channels: int | None = None

    def rays(self, count: float) -> Floats:
        """About `count` unit directions (N, 3) in the sensor's frame, line by line."""
        width, height = self.horizontal[1] - self.horizontal[0], self.vertical[1] - self.vertical[0]
        lines = self.channels or max(2, round(np.sqrt(count * height / width)))
        across = np.linspace(*self.horizontal, max(2, round(count / lines)), endpoint=self.projection == "pinhole")
        first, second = (axis.ravel() for axis in np.meshgrid(across, np.linspace(*self.vertical, lines)))
        if self.projection == "pinhole":
            rays = np.stack([first, second, np.ones_like(first)], axis=1)
            return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))
        level = np.cos(second)
        return np.stack([level * np.cos(first), level * np.sin(first), np.sin(second)], axis=1)

    def covers(self, rays: Floats) -> Mask:
        """Which directions (N, 3) are within the field of view."""
        if self.projection == "pinhole":
            first, second = rays[:, 0] / rays[:, 2], rays[:, 1] / rays[:, 2]
        else:
            first, second = np.arctan2(rays[:, 1], rays[:, 0]), np.arcsin(rays[:, 2])
        across = (first >= self.horizontal[0]) & (first <= self.horizontal[1])
        return np.asarray(across & (second >= self.vertical[0]) & (second <= self.vertical[1]))

    def cropped_to(self, rays: Floats) -> Sensor:
        """The same pinhole camera with its field of view cropped to `rays`, plus a margin."""
        limits = []
        for axis, (low, high) in ((0, self.horizontal), (1, self.vertical)):
            coordinate = rays[:, axis] / rays[:, 2]
            margin = 1.5 * (high - low) / np.sqrt(TRIAL_RAYS)
            limits.append((max(low, float(coordinate.min()) - margin), min(high, float(coordinate.max()) + margin)))
        return replace(self, horizontal=limits[0], vertical=limits[1])


@dataclass(frozen=True)
class ReturnLoss:
    """Which returns are lost.

    Parameters
    ----------
    dropout : float
        Share of all returns, lost at random.
    range_dropout : float
        Share of the returns at `max_range` lost as well; the share grows with the square of the range.
    max_range : float
        Range beyond which there are no returns, in metres.
    """

    dropout: float
    range_dropout: float
    max_range: float


def simulate_scan(
    surface: Surface,
    sensor: Sensor,
    T_world_sensor: Floats,
    points: int,
    noise: float,
    loss: ReturnLoss,
    rng: np.random.Generator,
) -> Floats:
    """Scan a surface from one pose.

    Parameters
    ----------
    surface : Surface
    sensor : Sensor
    T_world_sensor : (4, 4) array
    points : int
        Approximate number of returns.
    noise : float
        Standard deviation of the range, in metres.
    loss : ReturnLoss
    rng : numpy.random.Generator

    Returns
    -------
    (N, 3) array
        Points in the sensor's frame.
    """
    trial = sensor.rays(TRIAL_RAYS)
    hit = np.isfinite(cast_rays(surface, sensor, trial, T_world_sensor, loss, np.random.default_rng(0)))
    if sensor.projection == "pinhole" and hit.any():
        sensor = sensor.cropped_to(trial[hit])
    share = hit.sum() / sensor.covers(trial).sum()
    rays = sensor.rays(points / max(share, 0.01))
    ranges = cast_rays(surface, sensor, rays, T_world_sensor, loss, rng)
    hit = np.isfinite(ranges)
    measured = ranges[hit] + noise * rng.normal(size=int(hit.sum()))
    return np.ascontiguousarray(measured[:, None] * rays[hit])


def simulate_sweep(
    surface: Surface,
    sensor: Sensor,
    pose_at: Callable[[float], Floats],
    points: int,
    noise: float,
    loss: ReturnLoss,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Scan a surface by a sensor that moves while it rotates once: the frame has motion distortion.

    The azimuths are divided into sectors. Each is measured at one time, from the pose at that time.

    Parameters
    ----------
    surface : Surface
    sensor : Sensor
        With the projection "spherical".
    pose_at : callable
        T_world_sensor at a time from -1/2 to 1/2.
    points, noise, loss, rng
        As for `simulate_scan`.

    Returns
    -------
    points : (N, 3) array
        Each in the sensor's frame at its own time.
    times : (N,) array
        From -1/2 to 1/2.
    """
    trial = sensor.rays(TRIAL_RAYS)
    hit = np.isfinite(cast_rays(surface, sensor, trial, pose_at(0.0), loss, np.random.default_rng(0)))
    rays = sensor.rays(points / max(hit.mean(), 0.01))
    azimuth = np.arctan2(rays[:, 1], rays[:, 0])
    sector = np.minimum(((azimuth / (2 * np.pi) + 0.5) * SECTORS).astype(int), SECTORS - 1)
    measured, times = [], []
    for number in range(SECTORS):
        time = (number + 0.5) / SECTORS - 0.5
        chosen = rays[sector == number]
        ranges = cast_rays(surface, sensor, chosen, pose_at(time), loss, rng)
        hit = np.isfinite(ranges)
        ranges = ranges[hit] + noise * rng.normal(size=int(hit.sum()))
        measured.append(ranges[:, None] * chosen[hit])
        times.append(np.full(len(ranges), time))
    return np.concatenate(measured), np.concatenate(times)


def cast_rays(
    surface: Surface,
    sensor: Sensor,
    rays: Floats,
    T_world_sensor: Floats,
    loss: ReturnLoss,
    rng: np.random.Generator,
) -> Floats:
    """The exact range along each ray (N, 3) of the sensor's frame, infinite where there is no return."""
    directions = rays @ T_world_sensor[:3, :3].T
    ranges, normals = surface.cast(T_world_sensor[:3, 3], directions, loss.max_range)
    cosine = -np.einsum("ij,ij->i", directions, normals)
    relative = np.where(np.isfinite(ranges), ranges, 0.0) / loss.max_range
    lost = rng.random(len(rays)) < loss.dropout
    lost |= rng.random(len(rays)) < loss.range_dropout * relative**2
    lost |= cosine < np.cos(np.radians(sensor.max_incidence))
    return np.where(lost, np.inf, ranges)
