"""Voxel sizes from the cloud's own spacing and size: how many voxels of a size does its surface occupy?"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, extent


@dataclass(frozen=True)
class VoxelSizeParameters:
    """Constants of the choice of voxel sizes; all chosen.

    Attributes
    ----------
    coarse_surfels : int
        Coarse surfels of the smaller cloud, approximately; the larger one may have twice as many.
    fine_per_coarse : float
        Coarse voxel size over fine voxel size, as far as there are points to fill fine voxels.
    ladder : float
        Ratio of consecutive sizes where clouds share voxel sizes.
    sample : int
        Points that occupied voxels are counted with; more change the counts little.
    levels : int
        Voxel sizes that are counted, each twice the size before.
    mean_count : int
        Occupied voxels are counted at the smallest size at which those that are shared hold this many points on
        average, and
    least_shared : float
        hold at least this share of all points: fewer may be coincident points anywhere.
    finer_levels : int
        Levels below that size to which the count of a smooth surface (four times as many a level) is extrapolated.
    points_per_surfel : float
        A part that is looked for in a scene has at least so many points a coarse surfel.
    """

    coarse_surfels: int = 1_600
    fine_per_coarse: float = 2.5
    ladder: float = 1.2
    sample: int = 12_000
    levels: int = 16
    mean_count: int = 4
    least_shared: float = 0.05
    finer_levels: int = 8
    points_per_surfel: float = 1.5


VOXEL_SIZES = VoxelSizeParameters()


class VoxelSizes(NamedTuple):
    """Voxel sizes that suit one cloud, in the unit of the data.

    Attributes
    ----------
    coarse : float
        The surface occupies as many voxels as coarse surfels are wanted.
    smallest_coarse : float
        It occupies twice as many.
    finest : float
        It occupies as many voxels as there are points on it.
    """

    coarse: float
    smallest_coarse: float
    finest: float


class PairVoxelSizes(NamedTuple):
    """Coarse and fine voxel size of a pair of clouds, in the unit of the data."""

    coarse: float
    fine: float


def estimate_voxel_sizes(points: Floats, shuffled: bool = False) -> VoxelSizes:
    """Return the voxel sizes that suit a cloud; `shuffled`: its points are in random order."""
    wanted = VOXEL_SIZES.coarse_surfels
    return VoxelSizes(*sizes_for_counts(points, wanted, 2 * wanted, sys.maxsize, shuffled=shuffled))


def sizes_for_counts(points: Floats, *counts: int, shuffled: bool = False) -> tuple[float, ...]:
    """Return the voxel sizes at which a cloud's surface occupies about `counts` voxels.

    Voxels are counted in a sample, and only those with more than one point: most outliers are alone in theirs. There
    are never more voxels than points on the surface.
    """
    parameters = VOXEL_SIZES
    smallest = extent(points) / (2 ** (parameters.levels - 1) - 1)
    step = -(-len(points) // parameters.sample)
    sample = np.ascontiguousarray(points[: -(-len(points) // step)] if shuffled else points[::step])
    occupied, shared = _core.occupied_voxels(sample, smallest, parameters.levels)
    members = len(sample) - (occupied - shared)
    enough = members >= parameters.least_shared * len(sample)
    first = int(np.argmax(enough & (members >= parameters.mean_count * np.maximum(shared, 1))))
    # Between two sizes the count is taken to follow a power law, as it does on any surface; below the first, that of
    # a smooth one.
    finer = parameters.finer_levels
    levels = np.arange(first - finer, parameters.levels)
    known = np.concatenate([shared[first] * 4.0 ** np.arange(finer, 0, -1), np.maximum(shared[first:], 1)])
    most = members[first] * len(points) / len(sample)
    level = np.interp(-np.log(np.minimum(counts, most)), -np.log(known), levels)
    return tuple(float(smallest * 2**exponent) for exponent in level)


def pair_voxel_sizes(
    source: VoxelSizes, target: VoxelSizes, voxel: float | None = None, shared: bool = False
) -> PairVoxelSizes:
    """Return the coarse and the fine voxel size for two clouds.

    Parameters
    ----------
    source, target : VoxelSizes
    voxel : float, optional
        The fine size, where the caller has chosen it.
    shared : bool, default False
        Whether the clouds are registered to others as well: sizes are then rounded to a ladder of sizes, so that
        the pyramid of a cloud serves for several partners of similar size.
    """
    both = source, target
    coarse = max(min(sizes.coarse for sizes in both), max(sizes.smallest_coarse for sizes in both))
    fine = max(coarse / VOXEL_SIZES.fine_per_coarse, min(sizes.finest for sizes in both))
    if shared:
        coarse, fine = on_ladder(coarse), on_ladder(fine)
    fine = voxel or fine
    return PairVoxelSizes(max(coarse, fine), fine)


def part_voxel_size(part: Floats, count: int, scene: VoxelSizes) -> float:
    """Return the voxel size at which a part that is looked for in a scene has about `count` surfels.

    It is on the ladder of sizes, so that parts of similar size share the index of a scene. Voxels are not so small that
    there would be less than a few points in each.
    """
    most = int(len(part) / VOXEL_SIZES.points_per_surfel)
    return on_part_ladder(max(*sizes_for_counts(part, min(count, most)), scene.finest))


def on_part_ladder(size: float) -> float:
    """Return the nearest of every fourth size of the ladder; few, because an index of a scene is large."""
    return on_ladder(size, VOXEL_SIZES.ladder**4)


def on_ladder(size: float, ladder: float = VOXEL_SIZES.ladder) -> float:
    """Return the nearest size of the ladder that clouds share, whose sizes have the ratio `ladder`."""
    return float(ladder ** float(np.round(np.log(size) / np.log(ladder))))
