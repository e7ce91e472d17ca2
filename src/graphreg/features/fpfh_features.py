"""FPFH, fast point feature histograms: 33 numbers that describe the surface around a point.

R. B. Rusu, N. Blodow, M. Beetz: Fast point feature histograms (FPFH) for 3D registration. ICRA 2009.

For each neighbour within a radius there are three angles between the two normals and the line that joins the points,
collected in a histogram of eleven bins each (SPFH). The histograms of the neighbours, weighted with the inverse squared
distance, are added to a point's own. Rigid transforms do not change FPFH, provided that the signs of the normals rotate
with the cloud.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import graphreg._core as _core
from graphreg.argument_checks import check_integer, check_positive
from graphreg.clouds import Floats, as_cloud, as_floats
from graphreg.errors import InputError
from graphreg.features.graphs import Graph
from graphreg.features.invariant_features import fit_planes
from graphreg.threads import thread_count

RADIUS_IN_SPACINGS = 5.0
"""Default radius of the neighbourhood, in median nearest-neighbour distances of the cloud (chosen)."""


def fpfh(
    points: Any,
    radius: float | None = None,
    *,
    normals: ArrayLike | None = None,
    k: int = 10,
    max_neighbours: int = 100,
    threads: int | None = None,
) -> Floats:
    """Compute fast point feature histograms (Rusu et al. 2009).

    As in Open3D, a point's own histogram is added with weight one, and those of its neighbours with 1 / distance^2.

    Parameters
    ----------
    points : (N, 3) array_like
        At least k + 1 finite points.
    radius : float, optional
        Radius of the neighbourhood, in the unit of the data. By default five times the median distance between nearest
        neighbours.
    normals : (N, 3) array_like, optional
        Unit normals with consistent signs. By default those of planes fitted to k neighbours, oriented away from the
        cloud's centroid.
    k : int, default 10
        Number of neighbours for the default normals.
    max_neighbours : int, default 100
        Of more neighbours within the radius only the nearest ones are used.
    threads : int, optional
        Number of threads, by default all. The result does not depend on it.

    Returns
    -------
    (N, 33) ndarray of float64
        Three histograms of eleven bins, each with the sum 200. Zero for points without neighbours, NaN for rows that
        are not finite.

    Raises
    ------
    InputError
        Where `radius` is not positive, or `normals` does not have one finite row for each finite point.

    Examples
    --------
    >>> import graphreg, numpy as np
    >>> sphere = np.random.default_rng(0).normal(size=(1000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> histograms = graphreg.fpfh(sphere, 0.3, normals=sphere)
    >>> histograms.shape, bool(np.allclose(histograms.reshape(-1, 3, 11).sum(axis=2), 200))
    ((1000, 33), True)
    """
    workers = thread_count(threads)
    cloud = as_cloud(points, "points", min_points=check_integer("k", k, 2) + 1)
    check_integer("max_neighbours", max_neighbours, 1)
    if radius is not None:
        check_positive("radius", radius, "a positive length")
    if normals is None:
        used = outward_normals(cloud.points, k, workers)
    else:
        rows = as_floats(normals, "normals")
        if rows.shape != (len(cloud.kept), 3):
            raise InputError(f"normals: expected shape {(len(cloud.kept), 3)}, got {rows.shape}")
        used = np.ascontiguousarray(rows[cloud.kept])
        if not np.isfinite(used).all():
            raise InputError("normals: expected finite numbers for all finite points")
    return cloud.restore(fpfh_histograms(cloud.points, used, radius, max_neighbours, workers), np.nan)


def outward_normals(points: Floats, k: int, threads: int) -> Floats:
    """Estimate normals from k neighbours and orient them away from the cloud's centroid.

    Parameters
    ----------
    points : (N, 3) ndarray
    k : int
    threads : int

    Returns
    -------
    (N, 3) ndarray
        Unit normals, zero where no plane is determined.
    """
    tree = _core.Tree(points, threads)
    neighbours, ties = tree.graph_with_ties(k, threads)
    normals, _ = fit_planes(Graph(points, neighbours, tree.order(), threads, ties))
    inward = np.einsum("ij,ij->i", normals, points - points.mean(axis=0)) < 0
    normals[inward] *= -1
    return normals


def fpfh_histograms(points: Floats, normals: Floats, radius: float | None, max_neighbours: int, threads: int) -> Floats:
    """Compute FPFH of finite points with known normals.

    Parameters
    ----------
    points, normals : (N, 3) ndarray
    radius : float or None
        None: `RADIUS_IN_SPACINGS` times the median distance between nearest neighbours.
    max_neighbours : int
    threads : int

    Returns
    -------
    (N, 33) ndarray
    """
    tree = _core.Tree(points, threads)
    if radius is None:
        _, squared = tree.nearest(points, 2, threads)
        radius = RADIUS_IN_SPACINGS * float(np.sqrt(np.median(squared[:, 1])))
    offsets, indices, squared = tree.within(points, radius, threads)
    return _core.feature_histograms(points, normals, offsets, indices, squared, max_neighbours, threads)
