"""Correspondences that a deformation may have: descriptors that match, and neighbours that keep their distances.

Descriptors of the engine are invariant under rigid motion, and around a point a deformation is nearly one. They are
compared between all points of both clouds, or, once the source is about where it belongs, between points that are near
each other: then far fewer have a similar one. A deformation that hardly stretches keeps the distances between a point
and its surroundings. A correspondence is supported by others nearby whose distance from it is the same in both clouds,
and whose normals form the same angle with its own. A wrong one rarely finds support.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.features.edge_descriptors import Descriptors, mutual_correspondences
from graphreg.nonrigid.working_cloud import Indices, WorkingCloud


@dataclass(frozen=True)
class CorrespondenceParameters:
    """Constants of matching; all chosen. Lengths are in extents of the source.

    Attributes
    ----------
    points : int
        Points of a cloud that are described and matched, at most.
    radii : tuple of float
        Of the outermost shell of descriptors near each other, each of which is matched;
    far_radius : float
        and of those that are matched from any pose.
    radius : float
        How far apart correspondences support each other.
    tolerance : float
        How much their distances may differ.
    cosine : float
        How much the cosines between their normals may differ.
    least : int
        Correspondences with fewer supporters are dropped.
    """

    points: int = 2000
    radii: tuple[float, ...] = (0.2, 0.3)
    far_radius: float = 0.3
    radius: float = 0.15
    tolerance: float = 0.025
    cosine: float = 0.3
    least: int = 3


CORRESPONDENCES = CorrespondenceParameters()


@dataclass(frozen=True, eq=False)
class Correspondences:
    """Pairs of points, and their charges.

    Attributes
    ----------
    source, target : (C, 3) ndarray
    charges : (C,) ndarray
        From 0 to 1: the share of the correspondences around that support it.
    tried : int
        Number of correspondences before those without support were dropped.
    """

    source: Floats
    target: Floats
    charges: Floats
    tried: int

    def __len__(self) -> int:
        return len(self.source)


NO_CORRESPONDENCES = Correspondences(np.empty((0, 3)), np.empty((0, 3)), np.empty(0), 0)


@dataclass(frozen=True, eq=False)
class DescribedCloud:
    """The points (N, 3) of a cloud that are matched, with normals, and descriptors (N, 96) of each radius."""

    points: Floats
    normals: Floats
    descriptors: tuple[Descriptors, ...]


def describe(cloud: WorkingCloud, radii: tuple[float, ...], threads: int) -> DescribedCloud:
    """Compute the descriptors of a cloud, which depend on the signs of its normals.

    Parameters
    ----------
    cloud : WorkingCloud
        Lengths in extents of the source.
    radii : tuple of float
    threads : int

    Returns
    -------
    DescribedCloud
    """
    few = cloud.sample(CORRESPONDENCES.points)
    return DescribedCloud(
        few.points, few.normals, tuple(_core.descriptors(few.points, few.normals, radius, threads) for radius in radii)
    )


def supported_correspondences(source: WorkingCloud, target: WorkingCloud, threads: int) -> Correspondences:
    """Match two clouds from any pose, and keep what neighbours support.

    Parameters
    ----------
    source, target : WorkingCloud
        Lengths in extents of the source.
    threads : int

    Returns
    -------
    Correspondences
        With the signs of the target's normals that give most support: those that agree along the surface, or those
        that face one viewpoint, or their opposites.
    """
    radii = (CORRESPONDENCES.far_radius,)
    x, found = describe(source, radii, threads), []
    for signs in (np.ones(len(target)), target.facing):
        for side in (1.0, -1.0):
            y = describe(replace(target, normals=target.normals * (side * signs)[:, None]), radii, threads)
            i, j = mutual_correspondences(x.descriptors[0], y.descriptors[0], threads)
            found.append(_supported(x, y, i, j.astype(np.intp), threads))
    return max(found, key=lambda each: float(each.charges.sum()))


def correspondences_within(
    source: DescribedCloud, moved: Floats, target: DescribedCloud, window: float, threads: int
) -> Correspondences:
    """Match points that are near each other at present, and keep what neighbours support.

    Parameters
    ----------
    source, target : DescribedCloud
        With descriptors of the same radii.
    moved : (N, 3) ndarray
        Where the source's points are at present.
    window : float
        Distance within which points are compared.
    threads : int

    Returns
    -------
    Correspondences
        Of points that are most alike, each to the other, among those in the window.
    """
    tree = _core.Tree(target.points, threads)
    offsets, near, _ = tree.within(np.ascontiguousarray(moved), window, threads)
    found = []
    for mine, others in zip(source.descriptors, target.descriptors, strict=True):
        of_source, of_target = _core.match_near_descriptors(mine, others, offsets, near)
        i = np.flatnonzero(of_source >= 0)
        i = i[of_target[of_source[i]] == i]
        found.append(_supported(source, target, i, of_source[i].astype(np.intp), threads))
    return joined(*found)


def joined(*found: Correspondences) -> Correspondences:
    """All of several correspondences."""
    return Correspondences(
        np.concatenate([each.source for each in found]),
        np.concatenate([each.target for each in found]),
        np.concatenate([each.charges for each in found]),
        sum(each.tried for each in found),
    )


def _supported(x: DescribedCloud, y: DescribedCloud, i: Indices, j: Indices, threads: int) -> Correspondences:
    """The correspondences (i, j) that others support."""
    constants = CORRESPONDENCES
    points, others = np.ascontiguousarray(x.points[i]), y.points[j]
    if not len(i):
        return Correspondences(points, others, np.zeros(0), 0)
    offsets, near, squared = _core.Tree(points, threads).within(points, constants.radius, threads)
    own = np.repeat(np.arange(len(points)), np.diff(offsets))
    length = np.sqrt(squared)
    agrees = np.abs(np.linalg.norm(others[own] - others[near], axis=1) - length) < constants.tolerance
    normals, other_normals = x.normals[i], y.normals[j]
    angle = np.einsum("ij,ij->i", normals[own], normals[near])
    agrees &= np.abs(np.einsum("ij,ij->i", other_normals[own], other_normals[near]) - angle) < constants.cosine
    # A correspondence does not support itself, nor do those so near that every distance agrees.
    distinct = length > constants.tolerance
    count = np.bincount(own[distinct], minlength=len(points))
    support = np.bincount(own[agrees & distinct], minlength=len(points))
    kept = support >= constants.least
    return Correspondences(points[kept], others[kept], support[kept] / count[kept], len(i))
