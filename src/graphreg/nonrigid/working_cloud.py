"""What both methods work on: a cloud without isolated points, subsampled, with normals of consistent sign."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats, Mask
from graphreg.errors import InputError
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import fit_planes

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class WorkingParameters:
    """Constants of subsampling; all chosen.

    Attributes
    ----------
    least : int
        Points that a surface has at least.
    neighbours : int
        Neighbours in the graph, the paper's k.
    deciding : int
        The neighbour whose distance decides whether a point is isolated:
    isolated : float
        where it is this times as far as that of most points.
    around : int
        Neighbours that tell whether a point is at the boundary of a scan:
    boundary : float
        where their mean is this share of their farthest distance away. Of half a disc it is 0.42; by chance it is more
        than 0.33 for 3 % of the points of a random sample.
    """

    least: int = 20
    neighbours: int = 10
    deciding: int = 5
    isolated: float = 3.0
    around: int = 16
    boundary: float = 0.33


WORKING = WorkingParameters()
# Width of a surface as a share of its length, at least: less is rounding.
THINNEST = 1e-6


@dataclass(frozen=True, eq=False)
class WorkingCloud:
    """A subsampled cloud.

    Attributes
    ----------
    points, normals : (N, 3) ndarray
        Normals agree in sign with their neighbours' along the graph; which sign that is, is arbitrary.
    facing : (N,) ndarray
        1, or -1 where the normal points away from the viewpoint that contradicts fewest neighbours.
    parts : (N,) ndarray of int
        The connected surface that a point is on.
    boundary : (N,) ndarray of bool
        Whether a point is at the boundary of the scan: what was not seen may continue there.
    spacing : float
        Median distance of a point from its nearest neighbour.
    """

    points: Floats
    normals: Floats
    facing: Floats
    parts: Indices
    boundary: Mask
    spacing: float

    def __len__(self) -> int:
        return len(self.points)

    def sample(self, count: int) -> WorkingCloud:
        """Every n-th point, about `count`; consecutive points are close in space."""
        rows = slice(None, None, max(1, -(-len(self) // count)))
        return WorkingCloud(
            np.ascontiguousarray(self.points[rows]),
            np.ascontiguousarray(self.normals[rows]),
            self.facing[rows],
            self.parts[rows],
            self.boundary[rows],
            self.spacing,
        )

    def facing_surface(self, points: Floats, normals: Floats, reach: float, threads: int) -> WorkingCloud:
        """Return the cloud with normals of the sign of a surface that it is near to.

        On a closed surface signs that agree along the graph are right, up to one for each connected part; on a scan
        those that face one viewpoint are. The ones that agree better with the surface are taken.

        Parameters
        ----------
        points, normals : (K, 3) ndarray
            The surface.
        reach : float
            Length over which the weight of a distance falls.
        threads : int

        Returns
        -------
        WorkingCloud
        """
        nearest, squared = _core.Tree(points, threads).nearest(self.points, 1, threads)
        cosine = np.einsum("ij,ij->i", normals[nearest[:, 0]], self.normals) / (squared[:, 0] + reach**2)
        of_parts = np.where(np.bincount(self.parts, cosine) < 0, -1.0, 1.0)[self.parts]
        of_viewpoint = self.facing * (1.0 if (self.facing * cosine).sum() >= 0 else -1.0)
        signs = max((of_parts, of_viewpoint), key=lambda sign: float((sign * cosine).sum()))
        return replace(self, normals=self.normals * signs[:, None])


def without_isolated(points: Floats, name: str, threads: int) -> Floats:
    """Return the points that have neighbours about as near as most points have.

    Parameters
    ----------
    points : (N, 3) ndarray
    name : str
        For error messages.
    threads : int

    Returns
    -------
    (K, 3) ndarray

    Raises
    ------
    InputError
        Where too few are left.
    """
    # Twice: outliers raise the median that they are compared with.
    for _ in range(2):
        k = min(WORKING.deciding, len(points) - 1)
        far = _core.Tree(points, threads).nearest(points, k + 1, threads)[1][:, -1]
        points = np.ascontiguousarray(points[far <= WORKING.isolated**2 * np.median(far)])
        if len(points) < WORKING.least:
            raise InputError(f"{name}: no surface stands out among its points")
    widths = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if not widths[1] > THINNEST * widths[0]:
        raise InputError(f"{name}: all points are on a line, expected a surface")
    return points


def working_cloud(points: Floats, count: int, threads: int) -> WorkingCloud:
    """Subsample a cloud, and compute its normals.

    Parameters
    ----------
    points : (N, 3) ndarray
        Without isolated points.
    count : int
        Number of points, at most.
    threads : int

    Returns
    -------
    WorkingCloud
    """
    chosen = points if len(points) <= count else voxel_means(points, count, threads)
    chosen = np.ascontiguousarray(chosen[_core.Tree(chosen, threads).order()])
    graph = neighbour_graph(chosen, min(WORKING.neighbours, len(chosen) - 1), threads)
    normals = _core.orient_consistently(chosen, fit_planes(graph)[0], graph.neighbours)
    viewpoint = _core.infer_viewpoint(chosen, normals, graph.neighbours, threads)
    facing = np.where(np.einsum("ij,ij->i", normals, viewpoint - chosen) < 0, -1.0, 1.0)
    nearest = np.linalg.norm(chosen[graph.neighbours[:, 0]] - chosen, axis=1)
    boundary = _is_boundary(chosen, normals, threads)
    return WorkingCloud(chosen, normals, facing, _parts(graph.neighbours), boundary, float(np.median(nearest)))


def _is_boundary(points: Floats, normals: Floats, threads: int) -> Mask:
    """Whether the neighbours of a point are on one side of it."""
    k = min(WORKING.around + 1, len(points))
    near, squared = _core.Tree(points, threads).nearest(points, k, threads)
    offset = points[near[:, 1:]].mean(axis=1) - points
    offset -= np.einsum("ij,ij->i", offset, normals)[:, None] * normals
    return np.asarray(np.linalg.norm(offset, axis=1) > WORKING.boundary * np.sqrt(squared[:, -1]))


def _parts(neighbours: NDArray[np.int32]) -> Indices:
    """Number of the connected part of the graph that each point is in."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, k = neighbours.shape
    edges = csr_array((np.ones(count * k), neighbours.ravel(), np.arange(0, count * k + 1, k)), shape=(count, count))
    return np.asarray(connected_components(edges, directed=False)[1], np.intp)


def voxel_means(points: Floats, count: int, threads: int) -> Floats:
    """Return the means of the points in voxels, of a size that leaves at most and about `count`.

    Parameters
    ----------
    points : (N, 3) ndarray
    count : int
    threads : int

    Returns
    -------
    (K, 3) ndarray
    """
    local = np.ascontiguousarray(points - points.min(axis=0))
    low, high = 0.0, 2 * float(local.max())
    best, size = np.asarray(points.mean(axis=0, keepdims=True)), high * (1.0 / count) ** 0.5
    for _ in range(16):
        order, starts, _ = _core.group_by_voxel(local, size, threads)
        if len(starts) - 1 > count:
            low = size
        else:
            high, best = size, _core.voxel_means(points, order, starts, threads)
            if len(best) > 0.9 * count:
                break
        size = (low + high) / 2 if low > 0 else size / 2
    return best
