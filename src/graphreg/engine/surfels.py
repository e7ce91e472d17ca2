"""A cloud as pieces of surface: one point a cell, with the plane through all points around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats, Mask, extent
from graphreg.errors import InputError

# VoxelMoments whose points together make the plane through a cell.
NEIGHBOURS = 10
# Of so many points the number of occupied cells is counted; it changes little with more.
SAMPLE = 12_000
LEVELS = 16
# Points that cells of a sample hold on average where they are counted; sizes below that one.
MANY, FINER = 4, 8
# Where more than the first share of all points have a cell four times as wide for themselves, points that share it with
# no more than a few are strays; unless these were more than the second share: then cells are too small to tell.
WIDE_BITS, FEW = 6, 2
MANY_STRAYS, MOST_STRAYS = 0.05, 0.9
# How far means lie off their planes where the surface is curved, in cells: noise of that size moves them halfway.
CURVED = 0.1


@dataclass(frozen=True, eq=False)
class Surfels:
    """Pieces of surface, in cells: lengths are in units of the cell's side.

    points      (N, 3), the mean of the points in each cell, laid on its plane
    normals     (N, 3) of the plane through the points of the cell and of its neighbours; zero where there is none
    weights     (N,), the sum of the weights of a cell's points
    importance  (N,), their mean, or None where all weigh the same
    spread      (N,), how far the points lie off that plane
    neighbours  (N, k), the nearest cells
    """

    points: Floats
    normals: Floats
    weights: Floats
    importance: Floats | None
    spread: Floats
    neighbours: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def grid(self) -> _core.SurfelGrid:
        """For every place near the surface the nearest piece of it; built once."""
        # Not a cached_property: up to Python 3.11 one lock holds for all surfaces, and two are built side by side.
        kept = self.__dict__
        if "_grid" not in kept:
            kept["_grid"] = _core.SurfelGrid(self.points, self.normals, self.neighbours)
        built: _core.SurfelGrid = kept["_grid"]
        return built


@dataclass(frozen=True, eq=False)
class VoxelMoments:
    """What the cells that hold points say of them, and the graph that joins each cell to those nearest to it.

    counts            (N,), how many points a cell holds
    sums              (N,), the sum of their weights
    means, moments    (N, 3) and (N, 6): their mean, and their second moments about it; in cells
    neighbours, walk  (N, k), the nearest cells; and an order in which cells that follow each other are near
    weighted          whether points differ in weight
    """

    counts: NDArray[np.int64]
    sums: Floats
    means: Floats
    moments: Floats
    neighbours: NDArray[np.int32]
    walk: NDArray[np.int32]
    weighted: bool

    def __len__(self) -> int:
        return len(self.counts)

    def response(self, threads: int = 1) -> Floats:
        """How far each cell's mean stands off those around it (Definition 1), squared, in cells."""
        return _core.response(self.means, self.neighbours, self.walk, threads)

    def coarser(self, times: float, chosen: Mask, k: int = NEIGHBOURS, threads: int = 1) -> VoxelMoments:
        """VoxelMoments so many times as wide, made of the chosen ones of these: each lies where its mean does."""
        means = self.means[chosen] / times
        order, starts, _ = _core.group_by_voxel(means, 1.0, threads)
        sums, moments = self.sums[chosen], self.moments[chosen] / times**2
        counts = np.add.reduceat(self.counts[chosen][order], starts[:-1])
        told = _core.voxel_moments(means, sums, order, starts, threads, moments)
        return _joined(counts, *told, k, self.weighted, threads)

    def surface(self, chosen: Mask | None = None, threads: int = 1) -> Surfels:
        """The surface that the cells make, or only the chosen ones, as if there were no others."""
        sums, moments = self.sums, self.moments
        if chosen is not None:
            sums, moments = sums * chosen, moments * chosen[:, None]
        normals, spread, laid = _core.fit_pooled_planes(self.means, self.neighbours, self.walk, sums, moments, threads)
        importance = self.sums / self.counts if self.weighted else None
        if chosen is None:
            points = self._smoothed(slice(None), normals, laid)
            return Surfels(points, normals, self.sums, importance, spread, self.neighbours)
        kept = np.flatnonzero(chosen)
        place = np.full(len(self), -1, np.int32)
        own = place[kept] = np.arange(len(kept), dtype=np.int32)
        around = place[self.neighbours[kept]]
        # In place of a neighbour that was not chosen, each cell has itself.
        around = np.where(around < 0, own[:, None], around)
        return Surfels(
            self._smoothed(kept, normals[kept], laid[kept]),
            normals[kept],
            self.sums[kept],
            None if importance is None else importance[kept],
            spread[kept],
            around,
        )

    def _smoothed(self, rows: Any, normals: Floats, laid: Floats) -> Floats:
        """The means, moved towards their planes by as much as there is noise.

        What points of one cell lie off its mean, along the normal, is noise; what means lie off their planes may be the
        curvature of the surface.
        """
        means, (xx, yy, zz, xy, xz, yz), (x, y, z) = self.means[rows], self.moments[rows].T, normals.T
        along = xx * x * x + yy * y * y + zz * z * z + 2 * (xy * x * y + xz * x * z + yz * y * z)
        free = float((self.sums[rows] * (1 - 1 / self.counts[rows])).sum())
        noise = along.sum() / free if free > 0 else 0.0
        return np.asarray(means + noise / (noise + CURVED**2) * (laid - means))


def voxel_moments(
    points: Floats,
    side: float,
    weights: Floats | None = None,
    k: int = NEIGHBOURS,
    threads: int = 1,
    strays: bool = True,
) -> VoxelMoments:
    """The cells of one size that hold points.

    strays  whether those count too that hold a few points far from all others, where such are many
    """
    longest = extent(points)
    # Compared by a product: the quotient may be too large for a float.
    if longest >= side * (2**_core.VOXEL_BITS - 1):
        raise InputError(
            f"voxel: {side:g} would cut the cloud's extent of {longest:g} into more than {2**_core.VOXEL_BITS} cells; "
            "take a larger one"
        )
    scaled = points / side
    order, starts, keys = _core.group_by_voxel(scaled, 1.0, threads)
    counts = np.diff(starts)
    if not strays:
        kept = ~_strays(counts, keys)
        order, counts = order[np.repeat(kept, counts)], counts[kept]
        starts = np.concatenate([[0], np.cumsum(counts)])
    told = _core.voxel_moments(scaled, weights, order, starts, threads)
    return _joined(counts, *told, k, weights is not None, threads)


def _strays(counts: NDArray[np.int64], keys: NDArray[np.uint64]) -> Mask:
    """Which cells hold points with few others around, where many points have none."""
    wide = keys >> np.uint64(WIDE_BITS)
    first = np.flatnonzero(np.concatenate([[True], wide[1:] != wide[:-1]]))
    around = np.add.reduceat(counts, first)
    few, points = around <= FEW, counts.sum()
    if not (MANY_STRAYS * points < np.count_nonzero(around == 1) and around[few].sum() < MOST_STRAYS * points):
        return np.zeros(len(counts), bool)
    return np.repeat(few, np.diff(np.append(first, len(counts))))


def _joined(
    counts: NDArray[np.int64], sums: Floats, means: Floats, moments: Floats, k: int, weighted: bool, threads: int
) -> VoxelMoments:
    tree = _core.Tree(means, threads)
    neighbours = tree.graph(min(k, len(means) - 1), threads)
    return VoxelMoments(counts, sums, means, moments, neighbours, tree.order(), weighted)


def fit_surfels(points: Floats, side: float, weights: Floats | None = None, threads: int = 1) -> Surfels:
    """The surface of a cloud at one resolution."""
    return voxel_moments(points, side, weights, threads=threads).surface(threads=threads)


def voxel_sizes_for(points: Floats, *wanted: int) -> tuple[float, ...]:
    """Sides of cells of which a cloud's surface fills about so many, one for each number wanted.

    Voxels are counted in a sample, at the smallest size at which those with more than one point hold many on average:
    most outliers are alone in theirs, and not counted. There are no more cells than points on the surface.
    """
    finest = extent(points) / (2 ** (LEVELS - 1) - 1)
    sample = np.ascontiguousarray(points[:: -(-len(points) // SAMPLE)])
    occupied, shared = _core.occupied_voxels(sample, finest, LEVELS)
    members = len(sample) - (occupied - shared)
    first = int(np.argmax(members >= MANY * np.maximum(shared, 1)))
    # Between two sizes the number of cells is taken to follow a power law, as it does on any surface; below the first,
    # that of a smooth one.
    levels = np.arange(first - FINER, LEVELS)
    counts = np.concatenate([shared[first] * 4.0 ** np.arange(FINER, 0, -1), np.maximum(shared[first:], 1)])
    most = members[first] * len(points) / len(sample)
    level = np.interp(-np.log(np.minimum(wanted, most)), -np.log(counts), levels)
    return tuple(float(finest * 2**exponent) for exponent in level)
