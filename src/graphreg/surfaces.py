"""A cloud as pieces of surface: one point a cell, with the plane through all points around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphreg import _core
from graphreg.clouds import Floats, extent
from graphreg.errors import InputError

# Cells whose points together make the plane through a cell.
NEIGHBOURS = 10
# Of so many points the number of occupied cells is counted; it changes little with more.
SAMPLE = 12_000
LEVELS = 12


@dataclass(frozen=True, eq=False)
class Surface:
    """Pieces of surface, in cells: lengths are in units of the cell's side.

    points      (N, 3), the mean of the points in each cell
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

    @cached_property
    def field(self) -> _core.Field:
        """For every place near the surface the nearest piece of it; built once."""
        return _core.Field(self.points, self.normals, self.neighbours)


def surface_of(points: Floats, cell: float, weights: Floats | None = None, threads: int = 1, reach: int = 2) -> Surface:
    """The surface of a cloud at one resolution."""
    longest = extent(points)
    # Compared by a product: the quotient may be too large for a float.
    if longest >= cell * (2**_core.VOXEL_BITS - 1):
        raise InputError(
            f"voxel: {cell:g} would cut the cloud's extent of {longest:g} into more than {2**_core.VOXEL_BITS} cells; "
            "take a larger one"
        )
    scaled = points / cell
    order, starts = _core.voxel_cells(scaled, 1.0, threads)
    sums, means, moments = _core.cell_moments(scaled, weights, order, starts, threads)
    tree = _core.Tree(means, threads)
    neighbours = tree.graph(min(NEIGHBOURS, len(means) - 1), threads)
    normals, spread = _core.fit_pooled_planes(means, neighbours, tree.order(), sums, moments, threads)
    importance = None if weights is None else sums / np.diff(starts)
    return Surface(means, normals, sums, importance, spread, neighbours)


def cell_for(points: Floats, *wanted: int) -> tuple[float, ...]:
    """Sides of cells of which about so many are occupied, one for each number wanted."""
    finest = extent(points) / (2 ** (LEVELS - 1) - 1)
    sample = np.ascontiguousarray(points[:: -(-len(points) // SAMPLE)])
    counts = _core.occupied_cells(sample, finest, LEVELS)
    # Between two sizes the number of cells is taken to follow a power law, as it does on any surface.
    level = np.interp(-np.log(wanted), -np.log(counts), np.arange(LEVELS))
    return tuple(float(finest * 2**exponent) for exponent in level)
