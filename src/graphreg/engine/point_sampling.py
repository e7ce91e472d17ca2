"""Random samples that belong to the cloud: the same points, wherever it is and however its rows are sorted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats


@dataclass(frozen=True)
class SamplingParameters:
    """Constants of sampling; all chosen. The radius of a cloud is the median distance of its points from their median.

    Attributes
    ----------
    farthest : float
        Points farther from the median than this times the radius are no part of the scan.
    medians : int
        Rows that the medians are computed from.
    cell : float
        Size of the cells, over the standard deviation of the points: so small that few points share one, so large that
        rounding moves few points to another.
    """

    farthest: float = 50.0
    medians: int = 5_000
    cell: float = 2.0**-11


SAMPLING = SamplingParameters()


def sample_points(points: Floats, size: int, seed: int = 0) -> NDArray[np.int32]:
    """Sample distinct points at random, without those that are far from all others.

    The points are ordered by a hash of the cell that each is in, and the first ones are taken. The cells are those of a
    grid in the cloud's principal axes, so that the sample moves with the cloud.

    Parameters
    ----------
    points : (N, 3) ndarray
        Rows that are not finite are not sampled.
    size : int
        Points to sample at most.
    seed : int, default 0

    Returns
    -------
    (K,) ndarray of int
        Rows, in the order of the hash: also the first of them are a random sample.
    """
    parameters = SAMPLING
    middle, radius, (count, *sums) = _core.near_moments(points, parameters.farthest, parameters.medians)
    x, y, z, xx, yy, zz, xy, xz, yz = np.array(sums) / count
    covariance = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - np.outer((x, y, z), (x, y, z))
    variances, axes = np.linalg.eigh(covariance)
    cell = parameters.cell * radius * float(np.sqrt(variances.sum().clip(0)))
    # Without an extent there is a single cell.
    scaled = axes.T / cell if cell > np.finfo(float).tiny else np.zeros((3, 3))
    centre = middle + radius * np.array([x, y, z])
    limit = parameters.farthest * radius
    return _core.sample_by_cell(points, centre, limit, np.ascontiguousarray(scaled), size, seed)
