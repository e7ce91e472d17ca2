"""Voxel-grid downsampling."""

from __future__ import annotations

from typing import Any

import graphreg._core as _core
from graphreg.argument_checks import check_positive
from graphreg.clouds import Floats, as_cloud, extent
from graphreg.errors import InputError
from graphreg.threads import thread_count


def voxel_downsample(points: Any, size: float, threads: int | None = None) -> Floats:
    """Replace the points in each occupied voxel of a cubic grid by their mean.

    Parameters
    ----------
    points : (N, 3) array_like
        Rows with NaN or infinity are left out.
    size : float
        Edge length of a voxel, in the unit of the data. The grid has a corner at the origin, so that scans in one
        frame share their voxels.
    threads : int, optional
        Number of threads, by default all cores; the result does not depend on it.

    Returns
    -------
    (M, 3) ndarray
        One point for each occupied voxel, in the order of a Z-curve.

    Raises
    ------
    InputError
        Where `size` is not a positive length, or so small that the grid would have more voxels along an axis than its
        keys can number.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.1, 0.1, 0.1], [0.3, 0.1, 0.1], [1.5, 0.5, 0.5]])
    >>> voxel_downsample(points, 1.0)
    array([[0.2, 0.1, 0.1],
           [1.5, 0.5, 0.5]])
    """
    cloud = as_cloud(points, "points")
    check_positive("size", size, "a positive length")
    length = extent(cloud.points)
    max_voxels = 2**_core.VOXEL_BITS
    if length / size >= max_voxels - 1:
        raise InputError(
            f"size: {size:g} would divide the cloud's extent of {length:g} into {length / size:.3g} voxels, "
            f"at most {max_voxels} are possible; use a larger size, or first remove outliers (graphreg.inliers)"
        )
    order, starts, _ = _core.group_by_voxel(cloud.points, float(size), thread_count(threads))
    return _core.voxel_means(cloud.points, order, starts, thread_count(threads))
