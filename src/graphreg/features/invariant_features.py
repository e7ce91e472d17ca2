"""Features that no rigid transform changes: normals, curvature and graph variation (Eq. 5 and 6, Thm. 2, Sec. III-D).

    V_g(x_i) = sum_j W_ij |s_i - s_j|^2,    s = (n, c) = (normal, curvature)

is the variation of the signal s on the graph. A plane has two unit normals, n and -n, and the cloud does not determine
which one to take. Normals are therefore compared up to sign: |n_i - n_j| is the smaller of the two distances. Then V_g
does not change under any rigid transform, as Theorem 2 states.

The plane of a point is fitted to all points no farther than its k-th neighbour, up to rounding: on a raster or lattice
rounding would choose among those at one distance. For the same reason there is no normal where two eigenvalues are
equal up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import graphreg._core as _core
from graphreg.clouds import Floats, as_cloud, as_floats
from graphreg.errors import InputError
from graphreg.features.graphs import Graph, neighbour_graph

FEATURES = ("variation", "normal_variation", "curvature")
"""Names of the columns of `invariants`."""
RANKED_DECIMALS = 9
"""Decimals that features are rounded to before they are ranked (chosen): on a perfect plane features differ by rounding
only, and have equal ranks."""


def invariants(points: Any, k: int = 10, threads: int | None = None) -> Floats:
    """Compute three features of each point that no rigid transform changes.

    The columns are named by `FEATURES`:

    - variation: V_g = sum_j W_ij (|n_i - n_j|^2 + (c_i - c_j)^2), Theorem 2
    - normal_variation: sum_j sqrt(W_ij) |n_i - n_j|^2, one of the two features of the authors' program
    - curvature: c = l_0 / (l_0 + l_1 + l_2), the smallest eigenvalue of the covariance of the neighbourhood over the
      sum of all three: 0 on a plane, at most 1/3

    Parameters
    ----------
    points : (N, 3) array_like
    k : int, default 10
        Number of neighbours in the graph.
    threads : int, optional
        Number of threads, by default all. The result does not depend on it.

    Returns
    -------
    (N, 3) ndarray of float64
        NaN for rows that are not finite.

    Examples
    --------
    >>> import graphreg, numpy as np
    >>> plane = np.random.default_rng(0).uniform(size=(500, 3)) * [1, 1, 0]
    >>> features = graphreg.invariants(plane)
    >>> features.shape, bool(np.allclose(features, 0, atol=1e-12))
    ((500, 3), True)
    """
    cloud = as_cloud(points, "points")
    return cloud.restore(graph_invariants(neighbour_graph(cloud, k, threads)), np.nan)


def normals(points: Any, k: int = 10, *, viewpoint: ArrayLike | None = None, threads: int | None = None) -> Floats:
    """Estimate unit normals: of the plane fitted to each point and its k nearest neighbours, ties included.

    Parameters
    ----------
    points : (N, 3) array_like
    k : int, default 10
        Number of neighbours.
    viewpoint : (3,) array_like, optional
        Position of the sensor. Normals are oriented towards it; without it their sign is arbitrary.
    threads : int, optional
        Number of threads, by default all. The result does not depend on it.

    Returns
    -------
    (N, 3) ndarray of float64
        Zero where the neighbourhood does not determine a plane (points on a line, or scattered equally in two
        directions), NaN for rows that are not finite.

    Raises
    ------
    InputError
        Where `viewpoint` is not three finite numbers.

    Examples
    --------
    >>> import graphreg, numpy as np
    >>> plane = np.random.default_rng(0).uniform(size=(500, 3)) * [1, 1, 0]
    >>> normals = graphreg.normals(plane, viewpoint=[0, 0, 5])
    >>> bool(np.allclose(normals, [0, 0, 1]))
    True
    """
    cloud = as_cloud(points, "points")
    found, _ = fit_planes(neighbour_graph(cloud, k, threads))
    if viewpoint is not None:
        sensor = as_floats(viewpoint, "viewpoint", "three finite numbers")
        if sensor.shape != (3,) or not np.isfinite(sensor).all():
            raise InputError(f"viewpoint: expected three finite numbers, got {viewpoint!r}")
        away = np.einsum("ij,ij->i", found, sensor - cloud.points) < 0
        found[away] *= -1
    return cloud.restore(found, np.nan)


def fit_planes(graph: Graph) -> tuple[Floats, Floats]:
    """Fit a plane to each point, its neighbours, and all others as far as the k-th.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    normals : (N, 3) ndarray
        Unit normals n of arbitrary sign, zero where no plane is determined.
    curvatures : (N,) ndarray
        Surface variation c = l_0 / (l_0 + l_1 + l_2).
    """
    return _core.fit_planes(graph.points, graph.neighbours, graph.order, graph.threads, graph.ties)


def graph_invariants(graph: Graph) -> Floats:
    """Compute the features of `invariants` for the points of a graph.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    (N, 3) ndarray
        The columns are named by `FEATURES`.
    """
    found, curvature = fit_planes(graph)
    variation = _core.variation(graph.points, graph.neighbours, graph.order, found, curvature, graph.threads)
    return np.column_stack([variation, curvature])


def rank_features(features: Floats) -> Floats:
    """Replace each feature by its rank: the share of points with a smaller value.

    The authors' program divides by the largest value, which makes the features of almost all points nearly zero, and
    equal.

    Parameters
    ----------
    features : (N, F) ndarray

    Returns
    -------
    (N, F) ndarray
        From 0 to below 1.
    """
    columns = np.round(features, RANKED_DECIMALS).T
    return np.column_stack([np.searchsorted(np.sort(column), column) / len(column) for column in columns])
