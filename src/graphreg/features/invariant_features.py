"""What makes points alike: normals, curvature and the variation V_g of both (Eq. 5 and 6, Thm. 2, Sec. III-D).

    V_g(x_i) = sum_j W_ij |s_i - s_j|^2,    s = (normal, curvature)

A plane through a point has two normals, n and -n, and nothing in the cloud tells which one to take. So normals are
compared without their sign: |n_i - n_j| is the shorter of the two distances. Then V_g does not change under any rigid
motion, as Theorem 2 says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import graphreg._core as _core
from graphreg.clouds import Floats, as_cloud
from graphreg.errors import InputError
from graphreg.features.graphs import Graph, neighbour_graph

FEATURES = ("variation", "turning", "curvature")
"""The columns of `invariants`."""


def invariants(points: Any, k: int = 10, threads: int | None = None) -> Floats:
    """(N, 3): features of each point that no rigid motion changes, the columns being `FEATURES`.

    variation  V_g = sum_j W_ij (|n_i - n_j|^2 + (c_i - c_j)^2), Theorem 2
    turning    sum_j sqrt(W_ij) |n_i - n_j|^2, how much the normals turn (one of two features of the authors' program)
    curvature  c, the smallest eigenvalue of the local covariance over the sum of all three: 0 on a plane, at most 1/3

    NaN for rows that are not finite.
    """
    cloud = as_cloud(points, "points")
    return cloud.restore(invariants_of(neighbour_graph(cloud, k, threads)), np.nan)


def normals(points: Any, k: int = 10, *, viewpoint: ArrayLike | None = None, threads: int | None = None) -> Floats:
    """(N, 3): unit normals of the planes through each point and its k nearest neighbours.

    viewpoint  (3,): where the sensor stood; normals are turned towards it. Without one their sign is arbitrary.

    Zero where no plane stands out (neighbours on a line, or alike in two directions), NaN for rows that are not finite.
    """
    cloud = as_cloud(points, "points")
    found, _ = planes_of(neighbour_graph(cloud, k, threads))
    if viewpoint is not None:
        sensor = np.asarray(viewpoint, np.float64)
        if sensor.shape != (3,) or not np.isfinite(sensor).all():
            raise InputError(f"viewpoint: expected three finite numbers, got {viewpoint!r}")
        away = np.einsum("ij,ij->i", found, sensor - cloud.points) < 0
        found[away] *= -1
    return cloud.restore(found, np.nan)


def planes_of(graph: Graph) -> tuple[Floats, Floats]:
    """Normals (N, 3), their sign arbitrary, and curvatures (N,) of a graph's points."""
    return _core.fit_planes(graph.points, graph.neighbours, graph.order, graph.threads)


def invariants_of(graph: Graph) -> Floats:
    """The features of `invariants` for the points of a graph."""
    found, curvature = planes_of(graph)
    variation = _core.variation(graph.points, graph.neighbours, graph.order, found, curvature, graph.threads)
    return np.column_stack([variation, curvature])
