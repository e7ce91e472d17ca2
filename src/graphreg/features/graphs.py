"""The nearest-neighbour graph of a cloud: weights, shift, Laplacian, filters (Eq. 1 and 2, Sec. III-A, III-B).

An edge leads from each point to its k nearest neighbours. tau_i is the distance to the farthest of them, and

    W_ij = exp(-|x_i - x_j|^2 / sigma_i^2)  where |x_i - x_j| < tau_i,  sigma_i^2 = tau_i^2 / 2;  0 otherwise.

tau belongs to each point, so W is not symmetric. As printed, the farthest neighbour itself has no weight: whichever of
several points at the same distance tau_i is taken as the last neighbour, W stays the same.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import graphreg._core as _core
from graphreg.clouds import Floats, as_cloud
from graphreg.errors import InputError
from graphreg.threads import thread_count

if TYPE_CHECKING:
    from scipy.sparse import csr_array

HAAR = (1.0, -1.0)
"""Coefficients of the Haar-like high-pass filter h(A) = I - A."""


@dataclass(frozen=True)
class Graph:
    """A cloud and who is near whom. Made by `neighbour_graph`.

    points      (N, 3) float64
    neighbours  (N, k) int32, nearest first, a point is not its own neighbour
    order       (N,) int32, the points in an order in which neighbours in space are near in memory
    threads     how many threads the work on this graph may use
    """

    points: Floats
    neighbours: NDArray[np.int32]
    order: NDArray[np.int32]
    threads: int

    def __post_init__(self) -> None:
        # The kernels trust these: an index out of range would read memory that is not ours.
        count = len(self.points)
        for name, indices in (("neighbours", self.neighbours), ("order", self.order)):
            if len(indices) != count or indices.size == 0 or indices.min() < 0 or indices.max() >= count:
                raise InputError(f"{name}: expected indices of {count} points, a row for each")

    @property
    def k(self) -> int:
        return int(self.neighbours.shape[1])

    @cached_property
    def weights(self) -> Floats:
        """(N, k): W_ij for the neighbours of each point (Eq. 1)."""
        return _core.edge_weights(self.points, self.neighbours, self.order, self.threads)

    @cached_property
    def degrees(self) -> Floats:
        """(N,): d_i, the sum of the weights of each point."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def isolated(self) -> NDArray[np.bool_]:
        """(N,): points with no neighbour nearer than tau_i: they have no row in A."""
        return np.asarray(self.degrees == 0)

    def adjacency(self) -> csr_array[Any]:
        """W as a sparse matrix."""
        return self._sparse(self.weights)

    def shift(self) -> csr_array[Any]:
        """The graph shift A = D^-1 W as a sparse matrix. Rows sum to one; those of isolated points are zero."""
        return self._sparse(self._shift_weights)

    def laplacian(self) -> csr_array[Any]:
        """D - W as a sparse matrix."""
        from scipy.sparse import csr_array, diags_array

        return csr_array(diags_array(self.degrees) - self.adjacency())

    def filter(self, signal: ArrayLike, coefficients: Sequence[float] = HAAR) -> Floats:
        """Apply the filter h(A) = sum_l h_l A^l (Eq. 2) to a signal.

        signal        (N,) or (N, F): one number, or F, for each point
        coefficients  h_0, h_1, ... of any length; the default is the Haar-like filter I - A
        """
        values = np.asarray(signal, np.float64)
        if values.ndim not in (1, 2) or len(values) != len(self.points):
            raise InputError(f"signal: expected shape ({len(self.points)},) or (N, F), got {values.shape}")
        if len(coefficients) == 0:
            raise InputError("coefficients: a filter needs at least one")
        table = np.ascontiguousarray(values.reshape(len(values), -1))
        result = coefficients[-1] * table
        for coefficient in reversed(coefficients[:-1]):
            shifted = _core.shift(self.points, self.neighbours, self.order, self._shift_weights, result, self.threads)
            result = coefficient * table + shifted
        return result.reshape(values.shape)

    @cached_property
    def _shift_weights(self) -> Floats:
        return self.weights / np.where(self.isolated, 1.0, self.degrees)[:, None]

    def _sparse(self, weights: Floats) -> csr_array[Any]:
        from scipy.sparse import csr_array

        count, k = self.neighbours.shape
        rows = np.arange(0, count * k + 1, k)
        matrix = csr_array((weights.ravel(), self.neighbours.ravel(), rows), shape=(count, count), copy=True)
        matrix.eliminate_zeros()
        return matrix


def neighbour_graph(points: Any, k: int = 10, threads: int | None = None) -> Graph:
    """The graph that joins each point to its k nearest neighbours, of equal distances the lower index first.

    points   (N, 3), at least k + 1; rows that are not finite are left out (`as_cloud` says which)
    threads  how many threads to use, by default all; the result is the same for any number
    """
    try:
        k = operator.index(k)
    except TypeError:
        raise InputError(f"k: expected a whole number, got {k!r}") from None
    if k < 2:
        raise InputError(f"k: expected at least 2 neighbours, got {k}")
    cloud = as_cloud(points, "points")
    if len(cloud) <= k:
        raise InputError(
            f"points: holds {len(cloud)} finite points, but a graph with k = {k} neighbours needs at least {k + 1}"
        )
    workers = thread_count(threads)
    tree = _core.Tree(cloud.points, workers)
    return Graph(cloud.points, tree.graph(k, workers), tree.order(), workers)
