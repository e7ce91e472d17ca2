"""Coincident clusters: many points where a surface can have few, as the returns of a lidar at the sensor itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import CloudRows, Floats, Mask, sample_rows


@dataclass(frozen=True)
class CoincidenceParameters:
    """Constants of the search for coincident clusters; all chosen. The radius of a cloud is the median distance of its
    points from their median.

    Attributes
    ----------
    sample : int
        Points that clusters are looked for with.
    any_density : float
        The density of a voxel of size s is its share of the points over (s / radius)². On objects, in rooms, in streets
        and in terrestrial scans it is at most about 4, for a scan among twice as many outliers some 200. A voxel as
        dense as this is a cluster. So is one with
    density : float
        this density, if its points are spread in a volume and the others are on surfaces.
    least_count : int
        Points of the sample in the smallest cluster.
    levels : int
        Voxel sizes, each half of the one before, from the largest at which a share below 1 can be dense.
    farthest : float
        Points farther from the median than this times the radius are no part of the scan; or else
    least_rest : float
        they are the scan, where they are at least this share of all points, on surfaces, and the points within are
        spread in a volume. Then
    reach : float
        those up to this times the radius are a cluster.
    volume, surface : float
        Plane fits to neighbours leave more than the first share of the variance where points are spread in a volume,
        and up to the second on surfaces, in the mean; in a ball it is 0.14.
    volume_sample : int
        Points that planes are fitted to, and
    neighbours : int
        neighbours of each.
    """

    sample: int = 2_000
    any_density: float = 1_000.0
    density: float = 20.0
    least_count: int = 10
    levels: int = 11
    farthest: float = 50.0
    least_rest: float = 0.1
    reach: float = 4.0
    volume: float = 0.115
    surface: float = 0.1
    volume_sample: int = 500
    neighbours: int = 10


COINCIDENCE = CoincidenceParameters()


def without_coincident(cloud: CloudRows) -> CloudRows:
    """Return the cloud without coincident clusters, whose rows count as not kept."""
    balls = _clusters(cloud.take(sample_rows(len(cloud), COINCIDENCE.sample)))
    if not balls:
        return cloud
    coincident = _in_clusters(cloud.points, balls)
    kept = cloud.kept.copy()
    kept[kept] = ~coincident
    return CloudRows(cloud.points[~coincident], kept, cloud.mesh)


def coincident_points(points: Floats, threads: int = 1) -> Mask | None:
    """Return which points are in coincident clusters; None where there are none.

    Clusters are found in a sample, and are balls around the voxels that are too dense. What would leave less than a
    tenth of the sample is no cluster, but the cloud.

    Parameters
    ----------
    points : (N, 3) ndarray
        Finite points.
    threads : int, default 1

    Returns
    -------
    (N,) ndarray of bool or None
    """
    balls = _clusters(points[sample_rows(len(points), COINCIDENCE.sample)])
    return _in_clusters(points, balls, threads) if balls else None


def _clusters(sample: Floats) -> list[tuple[Floats, float]]:
    """The coincident clusters of a sample as balls, each with centres and a radius."""
    sample = np.ascontiguousarray(sample[_core.unique_points(np.ascontiguousarray(sample))])
    if not _may_have_clusters(sample):
        return []
    balls, rest = _remove_clusters(sample, certain=True)
    others, remaining = _remove_clusters(rest, certain=False)
    if others and _unevenness(remaining) <= COINCIDENCE.surface:
        balls, rest = balls + others, remaining
    return balls if len(rest) >= COINCIDENCE.least_rest * len(sample) else []


def _in_clusters(points: Floats, balls: list[tuple[Floats, float]], threads: int = 1) -> Mask:
    coincident = np.zeros(len(points), bool)
    for centres, radius in balls:
        coincident |= _within(points, centres, radius, threads)
    return coincident


def _remove_clusters(points: Floats, certain: bool) -> tuple[list[tuple[Floats, float]], Floats]:
    """Clusters as balls, each with centres and a radius, and the points that are in none."""
    balls: list[tuple[Floats, float]] = []
    while len(points) > COINCIDENCE.least_count and (found := _find_clusters(points, certain)):
        for centres, radius in found:
            points = np.ascontiguousarray(points[~_within(points, centres, radius)])
        balls += found
    return balls, points


def _find_clusters(points: Floats, certain: bool) -> list[tuple[Floats, float]]:
    parameters = COINCIDENCE
    centre, radius, near = _middle(points)
    if _has_far_part(near) and _unevenness(points[near]) > parameters.volume:
        return [] if certain else [(centre[None], parameters.reach * radius)]
    local = points[near] - centre
    least_density = parameters.any_density if certain else parameters.density
    clusters: list[tuple[Floats, float]] = []
    found = np.zeros(len(local), bool)
    for size, order, starts, densities in _voxel_densities(local, radius):
        centres = []
        for voxel in np.flatnonzero(densities >= least_density):
            rows = order[starts[voxel] : starts[voxel + 1]]
            if not found[rows].any() and (certain or _unevenness(local[rows]) > parameters.volume):
                centres.append(local[rows].mean(axis=0) + centre)
                found[rows] = True
        if centres:  # twice the size covers the voxel, wherever in it the mean is
            clusters.append((np.array(centres), 2 * size))
    return clusters


def _may_have_clusters(points: Floats) -> bool:
    centre, radius, near = _middle(points)
    return _has_far_part(near) or any(
        (densities >= COINCIDENCE.density).any() for *_, densities in _voxel_densities(points[near] - centre, radius)
    )


def _middle(points: Floats) -> tuple[Floats, float, Mask]:
    """The median of points, their median distance from it, and which of them are not far from it."""
    centre = np.array([np.median(points[:, axis]) for axis in range(3)])
    distances = np.sqrt(((points - centre) ** 2).sum(axis=1))
    radius = float(np.median(distances))
    return centre, radius, distances <= COINCIDENCE.farthest * radius


def _has_far_part(near: Mask) -> bool:
    return bool(np.count_nonzero(~near) >= COINCIDENCE.least_rest * len(near))


def _voxel_densities(
    points: Floats, radius: float
) -> Iterator[tuple[float, NDArray[np.int32], NDArray[np.int64], Floats]]:
    """For each voxel size, largest first: the size, the points voxel by voxel, where each begins, and its density.

    It ends where no voxel holds enough points for a cluster: none of a smaller size will.
    """
    parameters = COINCIDENCE
    finest = radius / np.sqrt(parameters.density) / 2 ** (parameters.levels - 1)
    if not finest > 0 or not np.isfinite(np.abs(points).max() / finest):
        return
    order, starts, keys = _core.group_by_voxel(np.ascontiguousarray(points), finest, 1)
    for level in range(parameters.levels - 1, -1, -1):
        size = finest * 2**level
        wide = keys >> np.uint64(3 * level)
        ends = np.append(np.flatnonzero(wide[1:] != wide[:-1]) + 1, len(keys))
        of_level = np.concatenate([[0], starts[ends]])
        counts = np.diff(of_level)
        if counts.max() < parameters.least_count:
            return
        densities = counts * ((radius / size) ** 2 / len(points))
        yield size, order, of_level, np.where(counts >= parameters.least_count, densities, 0.0)


def _unevenness(points: Floats) -> float:
    """The share of the variance that planes through neighbours leave, in the mean; zero for few points."""
    parameters = COINCIDENCE
    sample = np.ascontiguousarray(points[sample_rows(len(points), parameters.volume_sample)])
    if len(sample) <= parameters.neighbours:
        return 0.0
    tree = _core.Tree(sample, 1)
    _, curvature = _core.fit_planes(sample, tree.graph(parameters.neighbours, 1), tree.order(), 1)
    return float(curvature.mean())


def _within(points: Floats, centres: Floats, radius: float, threads: int = 1) -> Mask:
    """Which points are in a ball around one of the centres."""
    inside = np.zeros(len(points), bool)
    tree = _core.Tree(np.ascontiguousarray(centres), 1)
    for begin in range(0, len(points), 1 << 20):  # in blocks, so that a large cloud needs little memory
        block = np.ascontiguousarray(points[begin : begin + (1 << 20)])
        inside[begin : begin + len(block)] = tree.nearest(block, 1, threads)[1][:, 0] <= radius**2
    return inside
