"""Parts and scenes at one resolution: descriptors that depend on a surfel's surroundings alone, and an index of them.

What a part shows of a scene says nothing of the rest, so that normals cannot be oriented by the centroid. Here they
have one sign on each connected surface, but which one is arbitrary: a part is looked for with both. Lengths are in
voxels unless they are said to be in the unit of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.descriptors import compute_descriptors
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.surfels import Surfels, voxel_moments
from graphreg.features.edge_descriptors import Descriptors

SHELLS, SIGNALS, BINS = 3, 4, 8
"""A descriptor is a histogram of each signal in each shell."""
ODD_SIGNALS = slice(0, 2)
"""Of the signals, those that change their sign with the normals."""
CELL = 8.0
"""Points are found by place in cells of this size, in voxels; chosen."""


@dataclass(frozen=True, eq=False)
class DescribedSurfels:
    """Surfels with descriptors.

    Attributes
    ----------
    surfels : Surfels
        With normals of one sign on each connected surface.
    descriptors : (N, 96) ndarray of uint8
    """

    surfels: Surfels
    descriptors: Descriptors

    def __len__(self) -> int:
        return len(self.surfels)


@dataclass(frozen=True, eq=False)
class SceneIndex:
    """A scene at one resolution: its surfels by likeness, its surfels and points by place.

    Attributes
    ----------
    cloud : PreprocessedCloud
        All points of the scene.
    voxel : float
        Voxel size, in the unit of the data.
    described : DescribedSurfels
    by_likeness : DescriptorIndex
    by_place : Tree
    cells : (C, 3) ndarray
        Centres of the cells that hold points.
    cell_order, cell_starts : (N,) and (C + 1,) ndarray
        The points, cell by cell, and where each cell begins among them.
    """

    cloud: PreprocessedCloud
    voxel: float
    described: DescribedSurfels
    by_likeness: _core.DescriptorIndex
    by_place: _core.Tree
    cells: Floats
    cell_order: NDArray[np.int32]
    cell_starts: NDArray[np.int64]

    def surfels_around(self, centre: Floats, radius: float, threads: int = 1) -> NDArray[np.int32]:
        """Return the surfels within a radius of a place, ascending."""
        return np.sort(self.by_place.within(np.ascontiguousarray(centre[None]), radius, threads)[1])

    def points_around(self, centre: Floats, radius: float) -> Floats:
        """Return the points within a radius of a place; lengths in voxels, points in the unit of the data."""
        near = np.linalg.norm(self.cells - centre, axis=1) <= radius + CELL * np.sqrt(3) / 2
        ranges = zip(self.cell_starts[:-1][near], self.cell_starts[1:][near], strict=True)
        rows = np.concatenate([np.empty(0, np.int32), *(self.cell_order[begin:end] for begin, end in ranges)])
        points = self.cloud.local_points[rows]
        return np.asarray(points[np.linalg.norm(points - centre * self.voxel, axis=1) <= radius * self.voxel])


def index_scene(cloud: PreprocessedCloud, voxel: float, threads: int = 1) -> SceneIndex:
    """Return the index of a scene at a resolution, computed once."""

    def compute() -> SceneIndex:
        described = describe(fit_unsigned_surfels(cloud, voxel, threads), threads)
        _ = described.surfels.grid  # built now, and not by the first search
        order, starts, _ = _core.group_by_voxel(cloud.local_points, CELL * voxel, threads)
        cells = np.floor(cloud.local_points[order[starts[:-1]]] / (CELL * voxel))
        return SceneIndex(
            cloud,
            voxel,
            described,
            _core.DescriptorIndex(described.descriptors, threads),
            _core.Tree(described.surfels.points, threads),
            CELL * (cells + 0.5),
            order,
            starts,
        )

    return cloud.cached(("scene index", voxel), compute)


def fit_unsigned_surfels(cloud: PreprocessedCloud, voxel: float, threads: int = 1) -> Surfels:
    """Return the surfels of a cloud, without isolated points; the signs of their normals are arbitrary."""

    def compute() -> Surfels:
        voxels = voxel_moments(cloud.local_points, voxel, threads=threads, keep_isolated=False)
        return voxels.fit_surfels(threads=threads)

    return cloud.cached(("unsigned surfels", voxel), compute)


def describe(surfels: Surfels, threads: int = 1) -> DescribedSurfels:
    """Return the surfels with normals of one sign on each connected surface, and their descriptors."""
    normals = _core.orient_consistently(surfels.points, surfels.normals, surfels.neighbours)
    oriented = replace(surfels, normals=normals)
    return DescribedSurfels(oriented, compute_descriptors(oriented, threads))


def flipped(descriptors: Descriptors) -> Descriptors:
    """Return the descriptors of the same surfels with all normals reversed."""
    signals = descriptors.reshape(-1, SHELLS, SIGNALS, BINS).copy()
    signals[:, :, ODD_SIGNALS] = signals[:, :, ODD_SIGNALS, ::-1]
    return np.asarray(signals.reshape(descriptors.shape))
