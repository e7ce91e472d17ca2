"""What goes wrong with points, on purpose: outliers and noise as the paper adds them to clean scans."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphreg.clouds import Floats, Mask, as_cloud
from graphreg.errors import InputError


def add_outliers(points: Any, ratio: float, kind: str = "gaussian", seed: int = 0) -> tuple[Floats, Mask]:
    """Append points that belong to nothing, `ratio` x as many as there are points; also which ones they are.

    "gaussian"  normal, with the sides of the bounding box as standard deviations
    "uniform"   uniform in the bounding box

    As in the paper's "Investigation of the X84 Principle". There the Gaussian has zero mean, for scans about
    the origin; here it has the cloud's mean, which says the same for a cloud anywhere.
    """
    cloud = as_cloud(points, "points").points
    share = number("ratio", ratio, 0, 1000)
    whole("seed", seed)
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
    """Move each point by a Gaussian, its standard deviations `sigma_relative` x the bounding box's sides."""
    cloud = as_cloud(points, "points").points
    sigma = number("sigma_relative", sigma_relative, 0, 1000)
    whole("seed", seed)
    rng = np.random.default_rng(seed)
    return np.asarray(cloud + rng.normal(size=cloud.shape) * np.ptp(cloud, axis=0) * sigma)


def thin_by_distance(points: Any, rim: float, seed: int = 0) -> Floats:
    """Drop points so that the density falls off from the middle, to a share of `rim` at the farthest point.

    The chance to stay falls by equal ratios over equal distances from the centroid.
    """
    cloud = as_cloud(points, "points").points
    share = number("rim", rim, 1e-6, 1)
    whole("seed", seed)
    away = np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)
    # All in one place: none is farther out than another.
    away /= away.max() or 1.0
    return np.ascontiguousarray(cloud[np.random.default_rng(seed).random(len(cloud)) < share**away])


def number(name: str, value: Any, low: float, high: float) -> float:
    """`value` as a float, or an error that names the argument."""
    if isinstance(value, (int, float, np.number)) and low <= value <= high:
        return float(value)
    raise InputError(f"{name}: is {value!r}, expected a number from {low:g} to {high:g}")


def whole(name: str, value: Any, low: int = 0) -> None:
    """An error that names the argument unless `value` is a whole number, `low` or more."""
    if not isinstance(value, (int, np.integer)) or value < low:
        raise InputError(f"{name}: is {value!r}, expected a whole number from {low} on")
