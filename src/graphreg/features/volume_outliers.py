"""Outliers, distinguished from surfaces by the volume that a point's neighbours fill around it.

On a surface, the ellipsoid of the second moments of the k nearest neighbours about a point is thin, and thinner still
on a scan line; points that fill a volume have a round and larger one. With the distance r to the k-th neighbour and

    M = 1/k sum_j (x_j - x) (x_j - x)^T,    s = det(M + (f r)^2 I)^(1/6)

s is the size of this ellipsoid, with a thickness of at least f r, so that a perfect plane has a size at all. The rules:

- Where the logarithms of s have two groups that are far apart (in a mixture of normal distributions, fitted by
  expectation maximisation), and the points of larger s fill a volume, these are outliers. Compare Byers and Raftery
  1998 (Nearest-neighbor clutter removal for estimating features in spatial point processes), whose mixture is of gamma
  distributions. Then there are outliers near surfaces as well: among the points that are left, those that are too high
  above the planes of their neighbours (below). Where the two groups overlap, many outliers are left at first and
  corrupt these planes, and sparse surfaces are taken for outliers. There, planes are fitted once more, to the points
  that passed, and these and all that have one of them for a neighbour are judged by them.
- Otherwise points far beyond the quartiles of s are outliers (a box plot's fences),
- and points whose s exceeds the median over their neighbours by far.

Density that falls with distance, edges and thin parts do not change s by as much as outliers do.

The height of a point above the planes of its neighbours is, with normal n_j, mean c_j and standard deviation d_j along
n_j of the point x_j and its k nearest neighbours,

    z_i = median over neighbours j of |n_j . (x_i - c_j)| / (d_j + g r_j),    h_i = z_i sqrt(r_i / R)

z is about 1 on a noisy surface, and at most that on edges and wires, which lie in the planes of most of their
neighbours. R is the median of r among the outliers that fill a volume. The root is a weight: the sparser a surface, and
the denser the outliers, the more of them are as near to it as its own points are. The cut is a multiple of the height
that one point in ten exceeds: it follows the noise of the cloud.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats, Mask
from graphreg.features.graphs import Graph, neighbour_graph
from graphreg.features.invariant_features import fit_planes


@dataclass(frozen=True)
class VolumeParameters:
    """Constants of the rule; all chosen. Lengths are compared by their logarithms.

    Attributes
    ----------
    thickness : float
        f, least thickness of an ellipsoid as a share of the distance to the k-th neighbour.
    iterations : int
        Of expectation maximisation.
    sample : int
        Values that the mixture is fitted to, and points that their roundness is computed from, at most.
    initial_quantiles : tuple of pairs
        Where expectation maximisation starts: for as many outliers as surface points, and for few;
    least_deviation : float
        is added to standard deviations, so that none vanishes.
    least_separation : float
        Distance of two means over the sum of the standard deviations;
    least_contrast : float
        and the distance itself: outliers are not much nearer to each other than surface points are.
    least_roundness : float
        Mean share of the smallest variance among the neighbours of points that fill a volume: about 0.2 there, 0 on
        surfaces and lines;
    neighbours : int
        number of these neighbours.
    least_deviation_along_normal : float
        g, added to standard deviations along normals, as a share of the distance to the k-th neighbour.
    overlap : float
        Where the means are nearer than this, over the same sum, planes are fitted once more, without the outliers that
        were found.
    least_height, usual_height : float
        Where there are outliers, those near surfaces are higher above the planes of their neighbours (h) than the
        first, and than the second times
    usual_share : float
        the height that this share of the points does not exceed.
    quartiles : float
        Where there are none, single points are beyond the upper quartile by this times the distance of the quartiles,
    least_spread : float
        which is at least this: on a raster all points have the same neighbours,
    far_excess : float
        or exceed their neighbours by this.
    """

    thickness: float = 0.1
    iterations: int = 60
    sample: int = 20_000
    initial_quantiles: tuple[tuple[float, float], ...] = ((0.1, 0.9), (0.5, 0.98))
    least_deviation: float = 0.02
    least_separation: float = 1.2
    least_contrast: float = 1.0
    least_roundness: float = 0.12
    neighbours: int = 16
    least_deviation_along_normal: float = 0.01
    overlap: float = 2.0
    least_height: float = 0.5
    usual_height: float = 1.5
    usual_share: float = 0.9
    quartiles: float = 3.0
    least_spread: float = 0.15
    far_excess: float = 1.0


VOLUME = VolumeParameters()


def volume_inliers(graph: Graph) -> Mask:
    """Return which points of a neighbour graph are not outliers by the volume that their neighbours fill.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    (N,) ndarray of bool
    """
    size = neighbourhood_size(graph)
    limit, separation = _largest_on_surfaces(size)
    filling = size > limit
    if not filling.any() or _roundness(graph.points, size, filling, graph.threads) < VOLUME.least_roundness:
        quarter, half_range = _quartiles(size)
        return (size <= quarter + VOLUME.quartiles * half_range) & (_excess(graph, size) <= VOLUME.far_excess)
    kept = ~filling
    if np.count_nonzero(kept) <= graph.k:
        return kept
    reach = float(np.median(_reach(graph, filling)))
    rest = neighbour_graph(graph.points[kept], graph.k, graph.threads)
    heights = height_above_planes(rest, reach)
    low = heights <= _largest_height(heights)
    kept[kept] = low
    if separation >= VOLUME.overlap or np.count_nonzero(kept) <= graph.k:
        return kept
    surface = neighbour_graph(graph.points[kept], graph.k, graph.threads)
    near = kept | kept[graph.neighbours].any(axis=1)
    heights = height_above_planes(surface, reach, graph.points[near])
    near[near] = heights <= _largest_height(heights[kept[near]])
    return near


def neighbourhood_size(graph: Graph) -> Floats:
    """Return log s of all points, s being the size of the ellipsoid of their neighbours; -inf where these coincide."""
    sizes = np.empty(len(graph.points))
    for rows in _blocks(len(sizes)):
        offsets, reach = _offsets(graph, rows)
        # In units of the distance to the k-th neighbour, so that nothing overflows or vanishes.
        offsets /= np.where(reach > 0, reach, 1.0)[:, None, None]
        moments = np.swapaxes(offsets, 1, 2) @ offsets / graph.k + VOLUME.thickness**2 * np.eye(3)
        with np.errstate(divide="ignore"):
            sizes[rows] = np.log(reach) + np.log(np.linalg.det(moments)) / 6
    return sizes


def height_above_planes(graph: Graph, outlier_reach: float, points: Floats | None = None) -> Floats:
    """Return h, heights above the planes of the nearest points of a graph; 0 where these determine no plane.

    Parameters
    ----------
    graph : Graph
        Of the points that planes are fitted to.
    outlier_reach : float
        R, distance from an outlier to its k-th neighbour: positive, in units of the data.
    points : (M, 3) ndarray, optional
        Those whose heights are asked for, by default the graph's own. No point is its own neighbour.

    Returns
    -------
    (M,) or (N,) ndarray
    """
    normals, centres, deviations = _planes(graph)
    queries, nearest = (graph.points, graph.neighbours) if points is None else (points, _nearest(graph, points))
    heights = np.empty(len(queries))
    for rows in _blocks(len(queries)):
        neighbours = nearest[rows]
        offsets = graph.points[neighbours] - queries[rows, None]
        above = np.abs(np.einsum("nki,nki->nk", offsets, normals[neighbours]) + centres[neighbours])
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = np.nan_to_num(above / deviations[neighbours], nan=0.0)
        heights[rows] = np.median(ratios, axis=1) * np.sqrt(np.linalg.norm(offsets[:, -1], axis=1) / outlier_reach)
    return heights


def _planes(graph: Graph) -> tuple[Floats, Floats, Floats]:
    """Of each point and its neighbours: the normal, the mean's height above the point along it, and d + g r."""
    normals, variations = fit_planes(graph)
    centres, deviations = np.empty(len(normals)), np.empty(len(normals))
    for rows in _blocks(len(normals)):
        offsets, reach = _offsets(graph, rows)
        units = np.where(reach > 0, reach, 1.0)
        offsets /= units[:, None, None]
        means = offsets.sum(axis=1) / (graph.k + 1)  # the point itself is one of them, at offset 0
        variances = np.einsum("nki,nki->n", offsets, offsets) / (graph.k + 1) - np.einsum("ni,ni->n", means, means)
        spread = np.sqrt(variations[rows] * np.maximum(variances, 0.0))
        deviations[rows] = (spread + VOLUME.least_deviation_along_normal) * reach
        centres[rows] = np.einsum("ni,ni->n", means, normals[rows]) * units
    return normals, centres, deviations


def _nearest(graph: Graph, points: Floats) -> NDArray[np.int32]:
    """Indices of the k nearest points of a graph, without the point itself where it is one of them."""
    tree = _core.Tree(graph.points, graph.threads)
    indices, squared = tree.nearest(points, graph.k + 1, graph.threads)
    return np.where(squared[:, :1] == 0, indices[:, 1:], indices[:, :-1])


def _largest_height(heights: Floats) -> float:
    """Height above which a point is an outlier, from those of all points that planes were fitted to."""
    return max(VOLUME.least_height, VOLUME.usual_height * float(np.quantile(heights, VOLUME.usual_share)))


def _blocks(count: int) -> Iterator[slice]:
    """Rows in blocks, so that a table of neighbours' coordinates stays small."""
    return (slice(start, start + 65_536) for start in range(0, count, 65_536))


def _offsets(graph: Graph, rows: slice) -> tuple[Floats, Floats]:
    """From points to their neighbours, and the distances of the k-th."""
    offsets = graph.points[graph.neighbours[rows]] - graph.points[rows, None]
    return offsets, np.sqrt(np.einsum("ni,ni->n", offsets[:, -1], offsets[:, -1]))


def _reach(graph: Graph, chosen: Mask) -> Floats:
    """Return the distances of the k-th neighbours of the chosen points."""
    return np.asarray(np.linalg.norm(graph.points[graph.neighbours[chosen, -1]] - graph.points[chosen], axis=1))


def _excess(graph: Graph, size: Floats) -> Floats:
    """How much larger log s is than the median over the neighbours; 0 where all coincide."""
    around = np.median(size[graph.neighbours], axis=1)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(size - around, nan=0.0)


def _quartiles(size: Floats) -> tuple[float, float]:
    finite = size[np.isfinite(size)]
    if not len(finite):
        return np.inf, 0.0
    low, high = np.quantile(finite, (0.25, 0.75))
    return float(high), max(float(high - low), VOLUME.least_spread)


def _largest_on_surfaces(size: Floats) -> tuple[float, float]:
    """Fit two normal distributions to log s; above the limit the one of larger s is more likely. Infinite for one.

    With the limit, return the distance of the two means over the sum of the standard deviations.
    """
    finite = np.sort(size[np.isfinite(size)])
    if len(finite) < 2 or finite[0] == finite[-1]:
        return np.inf, np.inf
    values = finite[:: -(-len(finite) // VOLUME.sample)]
    limit, separation = np.inf, VOLUME.least_separation
    for start in VOLUME.initial_quantiles:
        _, means, deviations = mixture = _fit_mixture(values, np.quantile(values, start))
        contrast = means[1] - means[0]
        if contrast >= max(VOLUME.least_contrast, separation * deviations.sum()):
            separation = contrast / deviations.sum()
            between = np.linspace(means[0], means[1], 400)
            below, above = _log_likelihoods(between, *mixture).T
            limit = float(between[np.argmax(above > below)])
    return limit, float(separation)


def _fit_mixture(values: Floats, means: Floats) -> tuple[Floats, Floats, Floats]:
    """Shares, means and standard deviations of two normal distributions by expectation maximisation."""
    deviations, shares = np.full(2, values.std() / 2), np.full(2, 0.5)
    for _ in range(VOLUME.iterations):
        below, above = _log_likelihoods(values, shares, means, deviations).T
        upper = 1 / (1 + np.exp(np.clip(below - above, -50, 50)))
        weights = np.stack([1 - upper, upper])
        totals = weights.sum(axis=1) + 1e-9
        shares = totals / totals.sum()
        means = weights @ values / totals
        squares = (weights * (values - means[:, None]) ** 2).sum(axis=1)
        deviations = np.sqrt(squares / totals) + VOLUME.least_deviation
    return shares, means, deviations


def _log_likelihoods(values: Floats, shares: Floats, means: Floats, deviations: Floats) -> Floats:
    """Of each value and distribution, up to a constant."""
    return np.asarray(np.log(shares / deviations) - 0.5 * ((values[:, None] - means) / deviations) ** 2)


def _roundness(points: Floats, size: Floats, chosen: Mask, threads: int) -> float:
    """Mean share of the smallest variance of the neighbours, among the chosen points: 0 on surfaces and lines."""
    rows = np.flatnonzero(chosen)
    # Ordered by s, so that the sample does not depend on the order of the rows.
    rows = rows[np.argsort(size[rows], kind="stable")][:: -(-len(rows) // VOLUME.sample)]
    if len(rows) <= VOLUME.neighbours:
        return 0.0
    return float(fit_planes(neighbour_graph(points[rows], VOLUME.neighbours, threads))[1].mean())
