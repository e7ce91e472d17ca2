"""Surfels: one a voxel, with the plane through the points of the voxel and of its neighbours.

Lengths are in voxels: coordinates divided by the voxel size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats, Mask, extent
from graphreg.errors import InputError


@dataclass(frozen=True)
class SurfelParameters:
    """Constants of surfel fitting; all chosen.

    Attributes
    ----------
    neighbours : int
        Neighbouring voxels whose points are pooled for the plane of a surfel.
    curvature_residual : float
        Distance, in voxels, of voxel means from their planes on a curved surface: noise of this size moves a surfel
        halfway to its plane.
    isolation_bits : int
        Bits of the Z-order key (three a doubling) between a voxel and the wide voxel around it: 6, four times as wide.
    isolated_count : int
        Points in a wide voxel up to which they are isolated.
    isolated_share : float
        Isolated points are dropped where more than this share of all points has a wide voxel to itself;
    most_isolated_share : float
        unless more than this share would be dropped: then voxels are too small to tell.
    """

    neighbours: int = 10
    curvature_residual: float = 0.1
    isolation_bits: int = 6
    isolated_count: int = 2
    isolated_share: float = 0.05
    most_isolated_share: float = 0.9


SURFELS = SurfelParameters()


@dataclass(frozen=True, eq=False)
class Surfels:
    """Surface elements of a cloud at one resolution.

    Attributes
    ----------
    points : (N, 3) ndarray
        Mean of the points in each voxel, moved towards its plane by as much as there is noise.
    normals : (N, 3) ndarray
        Unit normals; zero where no plane stands out.
    weights : (N,) ndarray
        Sum of the weights of a voxel's points.
    importance : (N,) ndarray or None
        Mean weight of a voxel's points; None if all points weigh the same.
    roughness : (N,) ndarray
        Root-mean-square distance of the pooled points from the plane.
    neighbours : (N, k) ndarray of int32
        Nearest surfels.
    """

    points: Floats
    normals: Floats
    weights: Floats
    importance: Floats | None
    roughness: Floats
    neighbours: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def grid(self) -> _core.SurfelGrid:
        """The nearest-surfel grid, built once."""
        # Not a cached_property: up to Python 3.11 all instances share its lock, and two grids are built in parallel.
        state = self.__dict__
        if "_grid" not in state:
            state["_grid"] = _core.SurfelGrid(self.points, self.normals, self.neighbours)
        grid: _core.SurfelGrid = state["_grid"]
        return grid


@dataclass(frozen=True, eq=False)
class VoxelMoments:
    """Moments of the points in each occupied voxel, and the nearest-neighbour graph of the voxels.

    Attributes
    ----------
    counts : (N,) ndarray of int64
        Points in a voxel.
    weights : (N,) ndarray
        Sum of their weights.
    means : (N, 3) ndarray
        Their weighted mean.
    second_moments : (N, 6) ndarray
        Their weighted second moments about the mean: xx, yy, zz, xy, xz, yz.
    neighbours : (N, k) ndarray of int32
        Nearest voxels.
    order : (N,) ndarray of int32
        The voxels in an order in which consecutive ones are close in space.
    weighted : bool
        Whether points differ in weight.
    """

    counts: NDArray[np.int64]
    weights: Floats
    means: Floats
    second_moments: Floats
    neighbours: NDArray[np.int32]
    order: NDArray[np.int32]
    weighted: bool

    def __len__(self) -> int:
        return len(self.counts)

    def response(self, threads: int = 1) -> Floats:
        """Return the graph response of each voxel's mean (Definition 1), in squared voxels."""
        return _core.response(self.means, self.neighbours, self.order, threads)

    def merge(self, factor: float, chosen: Mask, k: int = SURFELS.neighbours, threads: int = 1) -> VoxelMoments:
        """Return the moments of voxels `factor` times as large, from the chosen voxels; each goes where its mean is."""
        means = self.means[chosen] / factor
        order, starts, _ = _core.group_by_voxel(means, 1.0, threads)
        weights, second_moments = self.weights[chosen], self.second_moments[chosen] / factor**2
        counts = np.add.reduceat(self.counts[chosen][order], starts[:-1])
        moments = _core.voxel_moments(means, weights, order, starts, threads, second_moments)
        return _with_graph(counts, *moments, k, self.weighted, threads)

    def fit_surfels(self, chosen: Mask | None = None, threads: int = 1) -> Surfels:
        """Return the surfels of all voxels, or of the chosen ones as if there were no others."""
        weights, second_moments = self.weights, self.second_moments
        if chosen is not None:
            weights, second_moments = weights * chosen, second_moments * chosen[:, None]
        normals, roughness, projected = _core.fit_pooled_planes(
            self.means, self.neighbours, self.order, weights, second_moments, threads
        )
        importance = self.weights / self.counts if self.weighted else None
        if chosen is None:
            points = self._denoised(slice(None), normals, projected)
            return Surfels(points, normals, self.weights, importance, roughness, self.neighbours)
        rows = np.flatnonzero(chosen)
        index = np.full(len(self), -1, np.int32)
        own = index[rows] = np.arange(len(rows), dtype=np.int32)
        neighbours = index[self.neighbours[rows]]
        # A voxel itself takes the place of a neighbour that was not chosen.
        neighbours = np.where(neighbours < 0, own[:, None], neighbours)
        return Surfels(
            self._denoised(rows, normals[rows], projected[rows]),
            normals[rows],
            self.weights[rows],
            None if importance is None else importance[rows],
            roughness[rows],
            neighbours,
        )

    def _denoised(self, rows: Any, normals: Floats, projected: Floats) -> Floats:
        """The means, moved towards their projections on the planes by as much as there is noise.

        The spread of a voxel's points along its normal is noise; the distance of its mean from the plane may be the
        curvature of the surface.
        """
        means, (xx, yy, zz, xy, xz, yz), (x, y, z) = self.means[rows], self.second_moments[rows].T, normals.T
        along = xx * x * x + yy * y * y + zz * z * z + 2 * (xy * x * y + xz * x * z + yz * y * z)
        dof = float((self.weights[rows] * (1 - 1 / self.counts[rows])).sum())
        variance = along.sum() / dof if dof > 0 else 0.0
        return np.asarray(means + variance / (variance + SURFELS.curvature_residual**2) * (projected - means))


def voxel_moments(
    points: Floats,
    voxel: float,
    weights: Floats | None = None,
    k: int = SURFELS.neighbours,
    threads: int = 1,
    keep_isolated: bool = True,
) -> VoxelMoments:
    """Return the moments of the voxels that points occupy.

    Parameters
    ----------
    points : (N, 3) ndarray
    voxel : float
        Voxel size, in the unit of the points.
    weights : (N,) ndarray, optional
    k : int, default 10
        Neighbours in the graph of the voxels.
    threads : int, default 1
    keep_isolated : bool, default True
        Whether to keep voxels whose few points are far from all others, where many points are isolated.

    Raises
    ------
    InputError
        If the voxels are too small for the extent of the cloud.
    """
    longest = extent(points)
    # Compared by a product: the quotient may be too large for a float.
    if longest >= voxel * (2**_core.VOXEL_BITS - 1):
        raise InputError(
            f"voxel: {voxel:g} would divide the cloud's extent of {longest:g} into more than 2^{_core.VOXEL_BITS} "
            "voxels; choose a larger one"
        )
    scaled = points / voxel
    order, starts, keys = _core.group_by_voxel(scaled, 1.0, threads)
    counts = np.diff(starts)
    if not keep_isolated:
        kept = ~_isolated(counts, keys)
        order, counts = order[np.repeat(kept, counts)], counts[kept]
        starts = np.concatenate([[0], np.cumsum(counts)])
    moments = _core.voxel_moments(scaled, weights, order, starts, threads)
    return _with_graph(counts, *moments, k, weights is not None, threads)


def fit_surfels(points: Floats, voxel: float, weights: Floats | None = None, threads: int = 1) -> Surfels:
    """Return the surfels of a cloud at one resolution."""
    return voxel_moments(points, voxel, weights, threads=threads).fit_surfels(threads=threads)


def _isolated(counts: NDArray[np.int64], keys: NDArray[np.uint64]) -> Mask:
    """Which voxels hold isolated points, where there are many of these."""
    wide = keys >> np.uint64(SURFELS.isolation_bits)
    first = np.flatnonzero(np.concatenate([[True], wide[1:] != wide[:-1]]))
    around = np.add.reduceat(counts, first)
    few, points = around <= SURFELS.isolated_count, counts.sum()
    if not (
        SURFELS.isolated_share * points < np.count_nonzero(around == 1)
        and around[few].sum() < SURFELS.most_isolated_share * points
    ):
        return np.zeros(len(counts), bool)
    return np.repeat(few, np.diff(np.append(first, len(counts))))


def _with_graph(
    counts: NDArray[np.int64],
    weights: Floats,
    means: Floats,
    second_moments: Floats,
    k: int,
    weighted: bool,
    threads: int,
) -> VoxelMoments:
    if len(means) < 2:
        raise InputError("voxel: all points are in one voxel, and no surface can be seen; choose a smaller one")
    tree = _core.Tree(means, threads)
    neighbours = tree.graph(min(k, len(means) - 1), threads)
    return VoxelMoments(counts, weights, means, second_moments, neighbours, tree.order(), weighted)
