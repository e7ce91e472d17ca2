"""Corrupted point clouds: outliers and noise as the paper adds them, and a density that falls with distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphreg.argument_checks import check_choice, check_integer, check_number
from graphreg.clouds import Floats, Mask, as_cloud


def add_outliers(points: Any, ratio: float, kind: str = "gaussian", seed: int = 0) -> tuple[Floats, Mask]:
    """Append outliers, as in the paper's "Investigation of the X84 Principle".

    Parameters
    ----------
    points : (N, 3) array_like
    ratio : float
        Number of outliers as a multiple of N, from 0 to 1000.
    kind : {"gaussian", "uniform"}, default "gaussian"
        "gaussian": normal, with the edge lengths of the bounding box as standard deviations. In the paper its mean is
        zero, for scans about the origin; here it is the mean of the cloud, which is the same for a cloud anywhere.
        "uniform": uniform in the bounding box.
    seed : int, default 0

    Returns
    -------
    points : (M, 3) array
        The points, followed by the outliers.
    is_outlier : (M,) array of bool

    Examples
    --------
    >>> corrupted, is_outlier = add_outliers([[0, 0, 0], [1, 2, 3]], 1.5, "uniform")
    >>> corrupted.shape, int(is_outlier.sum())
    ((5, 3), 3)
    """
    cloud = as_cloud(points, "points").points
    share = check_number("ratio", ratio, 0, 1000)
    check_integer("seed", seed)
    rng = np.random.default_rng(seed)
    count = int(len(cloud) * share)
    low, extent = cloud.min(axis=0), np.ptp(cloud, axis=0)
    if check_choice("kind", kind, ("gaussian", "uniform")) == "gaussian":
        outliers = cloud.mean(axis=0) + rng.normal(size=(count, 3)) * extent
    else:
        outliers = low + rng.random((count, 3)) * extent
    return np.vstack([cloud, outliers]), np.arange(len(cloud) + count) >= len(cloud)


def add_noise(points: Any, sigma_relative: float, seed: int = 0) -> Floats:
    """Add Gaussian noise to every point.

    Parameters
    ----------
    points : (N, 3) array_like
    sigma_relative : float
        Standard deviation along each axis, as a multiple of the edge length of the bounding box, from 0 to 1000.
    seed : int, default 0

    Returns
    -------
    (N, 3) array

    Examples
    --------
    >>> add_noise([[0, 0, 0], [1, 2, 3]], 0.01).shape
    (2, 3)
    """
    cloud = as_cloud(points, "points").points
    sigma = check_number("sigma_relative", sigma_relative, 0, 1000)
    check_integer("seed", seed)
    rng = np.random.default_rng(seed)
    return np.asarray(cloud + rng.normal(size=cloud.shape) * np.ptp(cloud, axis=0) * sigma)


def thin_by_distance(points: Any, rim: float, seed: int = 0) -> Floats:
    """Subsample so that the density falls exponentially with the distance from the centroid.

    Parameters
    ----------
    points : (N, 3) array_like
    rim : float
        Density at the farthest point relative to that at the centroid, from 1e-6 to 1.
    seed : int, default 0

    Returns
    -------
    (M, 3) array
        The points that are kept, in their order.

    Examples
    --------
    >>> len(thin_by_distance([[0, 0, 0], [1, 2, 3]], 1.0))
    2
    """
    cloud = as_cloud(points, "points").points
    share = check_number("rim", rim, 1e-6, 1)
    check_integer("seed", seed)
    distance = np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)
    # If all points coincide, none is farther from the centroid than another.
    distance /= distance.max() or 1.0
    return np.ascontiguousarray(cloud[np.random.default_rng(seed).random(len(cloud)) < share**distance])
