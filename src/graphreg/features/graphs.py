"""The k-nearest-neighbour graph of a cloud: weights, shift, Laplacian, filters (Eq. 1 and 2, Sec. III-A, III-B).

An edge leads from each point x_i to its k nearest neighbours x_j. tau_i is the distance to the farthest of them, and

    W_ij = exp(-|x_i - x_j|^2 / sigma_i^2)  where |x_i - x_j| < tau_i,  sigma_i^2 = tau_i^2 / 2;  0 otherwise.

tau is a property of each point, so W is not symmetric. As printed, the farthest neighbour itself has weight zero:
whichever of several points at the same distance tau_i is taken as the k-th neighbour, W is the same. Distances count as
equal where they differ by no more than 1e-9 of their length, or than rounding of the coordinates can cause: otherwise
rounding would tell the neighbours on a raster apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import graphreg._core as _core
from graphreg.argument_checks import check_integer
from graphreg.clouds import Floats, as_cloud
from graphreg.errors import InputError
from graphreg.threads import thread_count

if TYPE_CHECKING:
    from scipy.sparse import csr_array

HAAR = (1.0, -1.0)
"""Coefficients of the Haar-like high-pass filter h(A) = I - A."""


@dataclass(frozen=True)
class Graph:
    """The k-nearest-neighbour graph of a cloud, as `neighbour_graph` returns it.

    Attributes
    ----------
    points : (N, 3) ndarray of float64
        The vertices x_i.
    neighbours : (N, k) ndarray of int32
        The k nearest neighbours of each point, nearest first. A point is not its own neighbour.
    order : (N,) ndarray of int32
        The points along a space-filling order, in which loops over the graph use the processor's cache best.
    threads : int
        Number of threads for computations on this graph. Results do not depend on it.
    ties : (T, 2) ndarray of int32, default none
        Pairs (i, j) of points where x_j is as far from x_i as its k-th neighbour, up to rounding, but not among its k.
        They belong to the neighbourhood that a plane is fitted to.

    Examples
    --------
    >>> import graphreg, numpy as np
    >>> grid = np.stack(np.meshgrid(range(5), range(5), [0]), axis=-1).reshape(-1, 3)
    >>> graph = graphreg.neighbour_graph(grid, k=8)
    >>> graph.weights.shape
    (25, 8)
    >>> bool(np.allclose(graph.shift().sum(axis=1), 1))
    True
    >>> height = graph.filter(grid[:, 0])  # (I - A) s: zero where s is linear on a symmetric neighbourhood
    >>> bool(abs(height[12]) < 1e-12)
    True
    """

    points: Floats
    neighbours: NDArray[np.int32]
    order: NDArray[np.int32]
    threads: int
    ties: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), np.int32))

    def __post_init__(self) -> None:
        # The kernels do not check indices: one out of range would read foreign memory.
        count = len(self.points)
        for name, indices in (("neighbours", self.neighbours), ("order", self.order)):
            if len(indices) != count or indices.size == 0 or indices.min() < 0 or indices.max() >= count:
                raise InputError(f"{name}: expected indices of {count} points, a row for each")
        if self.ties.shape[1:] != (2,) or (self.ties.size and (self.ties.min() < 0 or self.ties.max() >= count)):
            raise InputError(f"ties: expected pairs of indices of {count} points")

    @property
    def k(self) -> int:
        """Number of neighbours of each point."""
        return int(self.neighbours.shape[1])

    @cached_property
    def weights(self) -> Floats:
        """Edge weights W_ij (Eq. 1), (N, k): one for each entry of `neighbours`."""
        return _core.edge_weights(self.points, self.neighbours, self.order, self.threads)

    @cached_property
    def degrees(self) -> Floats:
        """Out-degrees d_i = sum_j W_ij, (N,): the diagonal of D."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def isolated(self) -> NDArray[np.bool_]:
        """Mask (N,) of the points without a neighbour nearer than tau_i. Their rows of A are zero."""
        return np.asarray(self.degrees == 0)

    def adjacency(self) -> csr_array[Any]:
        """Return the weighted adjacency matrix W (Eq. 1).

        Returns
        -------
        (N, N) scipy.sparse.csr_array
        """
        return self._sparse(self.weights)

    def shift(self) -> csr_array[Any]:
        """Return the graph shift A = D^-1 W.

        Returns
        -------
        (N, N) scipy.sparse.csr_array
            Rows sum to one; those of isolated points are zero.
        """
        return self._sparse(self._shift_weights)

    def laplacian(self) -> csr_array[Any]:
        """Return the graph Laplacian L = D - W.

        Returns
        -------
        (N, N) scipy.sparse.csr_array
        """
        from scipy.sparse import csr_array, diags_array

        return csr_array(diags_array(self.degrees) - self.adjacency())

    def filter(self, signal: ArrayLike, coefficients: Sequence[float] = HAAR) -> Floats:
        """Apply the graph filter h(A) = sum_l h_l A^l (Eq. 2) to a signal.

        Parameters
        ----------
        signal : (N,) or (N, F) array_like
            A graph signal s, or F of them: one row for each point.
        coefficients : sequence of float, default (1, -1)
            h_0, h_1, ..., at least one. The default is the Haar-like filter I - A.

        Returns
        -------
        ndarray of float64
            h(A) s, of the shape of `signal`.

        Raises
        ------
        InputError
            Where `signal` does not have a row for each point, or `coefficients` is empty.
        """
        values = np.asarray(signal, np.float64)
        if values.ndim not in (1, 2) or len(values) != len(self.points):
            raise InputError(f"signal: expected shape ({len(self.points)},) or (N, F), got {values.shape}")
        if len(coefficients) == 0:
            raise InputError("coefficients: a filter needs at least one")
        # Horner's scheme: h_0 s + A (h_1 s + A (h_2 s + ...)).
        table = np.ascontiguousarray(values.reshape(len(values), -1))
        result = coefficients[-1] * table
        for coefficient in reversed(coefficients[:-1]):
            shifted = _core.shift(self.points, self.neighbours, self.order, self._shift_weights, result, self.threads)
            result = coefficient * table + shifted
        return result.reshape(values.shape)

    @cached_property
    def _shift_weights(self) -> Floats:
        """A_ij = W_ij / d_i, (N, k)."""
        return self.weights / np.where(self.isolated, 1.0, self.degrees)[:, None]

    def _sparse(self, weights: Floats) -> csr_array[Any]:
        from scipy.sparse import csr_array

        count, k = self.neighbours.shape
        rows = np.arange(0, count * k + 1, k)
        matrix = csr_array((weights.ravel(), self.neighbours.ravel(), rows), shape=(count, count), copy=True)
        matrix.eliminate_zeros()
        return matrix


def neighbour_graph(points: Any, k: int = 10, threads: int | None = None) -> Graph:
    """Build the graph that connects each point to its k nearest neighbours (Sec. III-A).

    Of neighbours at equal distances the one with the lower index comes first, so that the graph does not depend on the
    search structure.

    Parameters
    ----------
    points : (N, 3) array_like
        At least k + 1 finite points. Rows with NaN or infinity are left out (`as_cloud` reports which).
    k : int, default 10
        Number of neighbours, at least 2.
    threads : int, optional
        Number of threads, by default all. The result does not depend on it.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        Where `points` has fewer than k + 1 finite rows, or `k` is not a whole number from 2 on.

    Examples
    --------
    >>> import graphreg, numpy as np
    >>> graph = graphreg.neighbour_graph([[0, 0, 0], [1, 0, 0], [3, 0, 0], [9, 0, 0]], k=2)
    >>> graph.neighbours.tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    """
    k = check_integer("k", k, 2)
    cloud = as_cloud(points, "points")
    if len(cloud) <= k:
        raise InputError(
            f"points: a graph with k = {k} neighbours needs at least {k + 1} finite points, got {len(cloud)}"
        )
    workers = thread_count(threads)
    tree = _core.Tree(cloud.points, workers)
    neighbours, ties = tree.graph_with_ties(k, workers)
    return Graph(cloud.points, neighbours, tree.order(), workers, ties)
