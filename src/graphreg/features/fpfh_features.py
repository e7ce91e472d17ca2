"""FPFH: fast point feature histograms, what the surface around a point looks like in 33 numbers.

R. B. Rusu, N. Blodow, M. Beetz: Fast point feature histograms (FPFH) for 3D registration. ICRA 2009.

For each neighbour within a radius, three angles between the two normals and the line that joins the points, a histogram
of eleven bins each; then the neighbours' histograms are mixed in. No rigid motion changes them, as long as the signs of
the normals move with the cloud.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import graphreg._core as _core
from graphreg.clouds import Floats, as_cloud
from graphreg.errors import InputError
from graphreg.features.graphs import Graph
from graphreg.features.invariant_features import planes_of
from graphreg.threads import thread_count

# The default radius, in spacings of the cloud.
REACH = 5.0


def fpfh(
    points: Any,
    radius: float | None = None,
    *,
    normals: ArrayLike | None = None,
    k: int = 10,
    max_neighbours: int = 100,
    threads: int | None = None,
) -> Floats:
    """(N, 33): three histograms of eleven bins side by side, each summing up to 200.

    radius          how far neighbours are taken from; by default five times the median distance of nearest points
    normals         (N, 3) unit normals, their signs consistent; by default of planes through k neighbours, turned away
                    from the cloud's centroid
    max_neighbours  only the nearest so many

    The neighbours' histograms are weighted with 1 / distance^2, and a point's own is added in full, as Open3D does it.
    Zero for points without neighbours, NaN for rows that are not finite.
    """
    workers = thread_count(threads)
    cloud = as_cloud(points, "points", at_least=k + 1)
    if radius is not None and not 0 < radius < np.inf:
        raise InputError(f"radius: expected a positive length, got {radius!r}")
    if normals is None:
        found = outward_normals(cloud.points, k, workers)
    else:
        given = np.asarray(normals, np.float64)
        if given.shape != (len(cloud.kept), 3):
            raise InputError(f"normals: expected shape {(len(cloud.kept), 3)}, got {given.shape}")
        found = np.ascontiguousarray(given[cloud.kept])
        if not np.isfinite(found).all():
            raise InputError("normals: expected finite numbers for all finite points")
    return cloud.restore(histograms_of(cloud.points, found, radius, max_neighbours, workers), np.nan)


def outward_normals(points: Floats, k: int, threads: int) -> Floats:
    """Normals of planes through k neighbours, turned away from the cloud's centroid."""
    tree = _core.Tree(points, threads)
    normals, _ = planes_of(Graph(points, tree.graph(k, threads), tree.order(), threads))
    inward = np.einsum("ij,ij->i", normals, points - points.mean(axis=0)) < 0
    normals[inward] *= -1
    return normals


def histograms_of(points: Floats, normals: Floats, radius: float | None, max_neighbours: int, threads: int) -> Floats:
    """`fpfh` of finite points."""
    tree = _core.Tree(points, threads)
    if radius is None:
        _, squared = tree.nearest(points, 2, threads)
        radius = REACH * float(np.sqrt(np.median(squared[:, 1])))
    offsets, indices, squared = tree.within(points, radius, threads)
    return _core.feature_histograms(points, normals, offsets, indices, squared, max_neighbours, threads)
