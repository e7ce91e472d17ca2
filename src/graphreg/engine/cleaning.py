"""Outlier removal: the X84 rule on the graph response (Def. 1, Sec. III-C), for voxels and for single points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.engine.preprocessing import PreprocessedCloud, map_pair, strided_sample
from graphreg.engine.surfels import VoxelMoments, voxel_moments
from graphreg.errors import InputError
from graphreg.features.response import median_absolute_deviation, response_intensity


@dataclass(frozen=True)
class CleaningParameters:
    """Constants of outlier removal; all chosen.

    Attributes
    ----------
    most_single : float
        Where more than this share of the points is alone in a voxel, voxels tell little: there may be as many outliers
        as surface points, or few points of any kind. Then outliers are found by the response of each point.
    most_occupied : float
        Where points are in more than this share of the voxels of the bounding box, they may fill it.
    widest_deviation : float
        Where MAD exceeds this times the lowest tenth of the response, it is that of the outliers;
    usual_deviation : float
        on surfaces it is about this times the lowest tenth.
    """

    most_single: float = 0.2
    most_occupied: float = 0.25
    widest_deviation: float = 40.0
    usual_deviation: float = 3.0


CLEANING = CleaningParameters()


def robust_x84_limit(response: Floats, alpha: float, rounding: float = 0.0) -> float:
    """Return the limit of the X84 rule, I <= alpha * MAD(I), which also holds where most points are outliers.

    There MAD is that of the outliers, and the lowest tenth of the response tells the deviation on the surface.

    Parameters
    ----------
    response : (N,) ndarray
        Response intensities I.
    alpha : float
    rounding : float, default 0
        Rounding error of the coordinates; a response below its square is zero.
    """
    finite = response[np.isfinite(response)]
    positive = finite[finite > rounding**2]
    if not len(positive):
        return rounding**2
    deviation, lowest = median_absolute_deviation(finite), float(np.quantile(positive, 0.1))
    if deviation > CLEANING.widest_deviation * lowest:
        deviation = CLEANING.usual_deviation * lowest
    # On a regular grid nearly all points respond alike, and MAD is close to zero.
    return max(alpha * max(deviation, lowest), rounding**2)


def inlier_voxels(
    cloud: PreprocessedCloud, voxel: float, k: int, alpha: float, threads: int = 1
) -> tuple[VoxelMoments, Mask]:
    """Return a cloud's voxel moments and which voxels the X84 rule keeps; points respond as their voxel does."""
    voxels = voxel_moments(cloud.local_points, voxel, cloud.weights, k, threads, keep_isolated=False)
    if len(voxels) <= k:
        return voxels, np.ones(len(voxels), bool)
    response = voxels.response(threads)
    of_points = np.repeat(response, voxels.counts)
    return voxels, response <= robust_x84_limit(strided_sample(of_points), alpha, cloud.rounding / voxel)


def inlier_points(cloud: PreprocessedCloud, k: int, alpha: float, threads: int = 1) -> PreprocessedCloud:
    """Return a cloud without the points that the X84 rule drops by their own response."""

    def compute() -> PreprocessedCloud:
        response = response_intensity(cloud.neighbour_graph(k, threads))
        kept = response <= robust_x84_limit(response, alpha, cloud.rounding)
        _require_surface(cloud, kept, k)
        return cloud.select(kept)

    return cloud.cached(("inlier points", k, alpha), compute)


def clean_voxels(
    clouds: tuple[PreprocessedCloud, PreprocessedCloud], voxel: float, k: int, alpha: float, threads: int
) -> tuple[tuple[VoxelMoments, Mask], tuple[VoxelMoments, Mask]]:
    """Return `inlier_voxels` of source and target, computed once a cloud and voxel size."""

    def clean(cloud: PreprocessedCloud, workers: int) -> tuple[VoxelMoments, Mask]:
        def compute() -> tuple[VoxelMoments, Mask]:
            voxels, kept = inlier_voxels(cloud, voxel, k, alpha, workers)
            if len(voxels) > k:
                _require_surface(cloud, kept, k)
            return voxels, kept

        return cloud.cached(("inlier voxels", voxel, k, alpha), compute)

    return map_pair(clean, clouds, threads)


def single_point_share(voxels: VoxelMoments, kept: Mask) -> float:
    """Return the share of the kept points that are alone in their voxels."""
    counts = voxels.counts[kept]
    return float(np.count_nonzero(counts == 1) / counts.sum())


def occupied_share(voxels: VoxelMoments) -> float:
    """Return the share of the voxels of the bounding box that hold points."""
    return float(len(voxels) / np.prod(np.ptp(voxels.means, axis=0) + 1))


def _require_surface(cloud: PreprocessedCloud, kept: Mask, k: int) -> None:
    if np.count_nonzero(kept) <= k:
        raise InputError(f"{cloud.name}: no surface stands out among its points")
