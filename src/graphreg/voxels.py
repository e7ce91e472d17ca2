"""Fewer points, evenly spread: one for each cell of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, as_cloud
from graphreg.errors import InputError
from graphreg.threads import thread_count


def voxel_downsample(points: Any, size: float, threads: int | None = None) -> Floats:
    """(M, 3): the mean of the points in each occupied cell of a cubic grid, cells in the order of a Z-curve.

    size  the side of a cell, in the unit of the data. The grid has a corner at the origin, so that scans in one frame
          share their cells.
    """
    cloud = as_cloud(points, "points")
    if not (isinstance(size, (int, float, np.integer, np.floating)) and 0 < size < np.inf):
        raise InputError(f"size: expected a positive length, got {size!r}")
    extent = float(np.ptp(cloud.points, axis=0).max())
    most = 2**_core.VOXEL_BITS
    if extent / size >= most - 1:
        raise InputError(
            f"size: {size:g} would cut the cloud's extent of {extent:g} into {extent / size:.3g} cells, "
            f"at most {most} are possible; take a larger size, or first drop points far away (graphreg.inliers)"
        )
    order, starts, _ = _core.group_by_voxel(cloud.points, float(size), thread_count(threads))
    return _core.voxel_means(cloud.points, order, starts, thread_count(threads))
