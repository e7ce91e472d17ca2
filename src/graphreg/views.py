"""Two clouds made ready: cleaned, and seen as pieces of surface at a coarse and a fine resolution, in common cells."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from graphreg import _core
from graphreg.clouds import Floats, Mask, rows_drawn
from graphreg.errors import InputError
from graphreg.graphs import neighbour_graph
from graphreg.poses import inverse, own_frame, pose, transform
from graphreg.response import median_absolute_deviation, response_of, rounding_of
from graphreg.signatures import Signatures, outward, signatures_of
from graphreg.surfaces import NEIGHBOURS, Cells, Surface, cell_for, cells_of, surface_of

# Coarse pieces of the smaller cloud, about; the larger one may have twice as many. Fine cells are this much smaller, as
# far as there are points to fill them.
COARSE_PIECES = 1_600
FINE_PER_COARSE = 2.5
# What lies so many times as far from the middle as half of the points do is no part of a scan.
FAR_OFF = 50.0
# Where more points than this are alone in their cells, cells say little of them: there may be as many outliers as
# points on surfaces, or few points of any kind. Then each is looked at on its own.
MOST_ALONE = 0.2
# A point that has a cell of so many fine ones along each side for itself is a stray. There are many if they are the
# first share of all; if they are the second, cells are too small to tell.
STRAY, MANY_STRAYS, MOST_STRAYS = 4.0, 0.05, 0.9
# Rows that are enough to tell a median or an axis by.
SAMPLE = 5_000
# Where the response is spread this much wider than its lowest tenth, that spread is the outliers', not the surface's;
# on surfaces it is about so many times the lowest tenth.
WIDEST_SPREAD, USUAL_SPREAD = 40.0, 3.0

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class View:
    """A cloud as the engine sees it, in a frame of its own, so that it looks the same wherever it lies.

    coarse, fine  pieces of surface with outward normals; lengths are in coarse or fine cells
    signatures    of the coarse pieces
    home          (4, 4), the motion from the cloud's frame into this one
    cell, fine_cell  sides of the cells, in the unit of the data
    """

    coarse: Surface
    fine: Surface
    signatures: Signatures
    home: Floats
    cell: float
    fine_cell: float


def in_users_frame(motion: Floats, source: View, target: View) -> Floats:
    """A motion between views, its shift in coarse cells, as one between the clouds."""
    return inverse(target.home) @ pose(motion[:3, :3], motion[:3, 3] * target.cell) @ source.home


def in_cells(motion: Floats, source: View, target: View) -> Floats:
    """The other way: a motion between the clouds as one between views, its shift in coarse cells."""
    between = target.home @ motion @ inverse(source.home)
    return pose(between[:3, :3], between[:3, 3] / target.cell)


@dataclass(frozen=True, eq=False)
class Drawn:
    """What is looked at of a cloud.

    name      for messages
    points    (N, 3), each once, in a frame of their own
    weights   (N,), or None where all are alike
    home      (4, 4), the motion into that frame
    rounding  of the cloud's coordinates, in the unit of the data
    """

    name: str
    points: Floats
    weights: Floats | None
    home: Floats
    rounding: float

    def only(self, chosen: Mask) -> Drawn:
        return replace(self, points=self.points[chosen], weights=None if self.weights is None else self.weights[chosen])


def drawn(
    points: Floats,
    name: str,
    weights: Floats | None = None,
    most: int = 10**9,
    seed: int = 0,
    home: Floats | None = None,
) -> Drawn:
    """At most so many points, drawn at random, each once, without those that are too far off to belong to a scan.

    home  the motion into the frame that they are seen in, by default to their centroid and principal axes
    """
    if len(points) > most:
        chosen = rows_drawn(len(points), most, seed)
        points, weights = points[chosen], None if weights is None else weights[chosen]
    once = _core.distinct(np.ascontiguousarray(points))
    if len(once) < len(points):
        points, weights = points[once], None if weights is None else weights[once]
    arms = points - np.median(some_of(points), axis=0)
    squared = np.einsum("ij,ij->i", arms, arms)
    near = squared <= FAR_OFF**2 * max(float(np.median(some_of(squared))), np.finfo(float).tiny)
    if not near.all():
        points, weights = points[near], None if weights is None else weights[near]
    where = own_frame(some_of(points)) if home is None else home
    return Drawn(name, transform(where, points), weights, where, rounding_of(points))


def some_of(values: Floats) -> Floats:
    """Some of the rows, evenly spread."""
    return values[:: -(-len(values) // SAMPLE)]


def highest_response(response: Floats, alpha: float, rounding: float = 0.0) -> float:
    """The limit of the X84 rule, I <= alpha * MAD(I), which also holds where most points are outliers.

    There MAD is theirs. The lowest tenth of the response then tells how wide that of the surface is.
    """
    finite = response[np.isfinite(response)]
    some = finite[finite > rounding**2]
    if not len(some):
        return rounding**2
    spread, lowest = median_absolute_deviation(finite), float(np.quantile(some, 0.1))
    if spread > WIDEST_SPREAD * lowest:
        spread = USUAL_SPREAD * lowest
    return max(alpha * spread, rounding**2)


def views_of(
    source: Drawn,
    target: Drawn,
    voxel: float | None = None,
    k: int = NEIGHBOURS,
    alpha: float = 5.2,
    threads: int = 1,
) -> tuple[View, View]:
    """Both clouds in cells of one size, without what belongs to no surface.

    voxel     side of the fine cells, by default one that suits the clouds
    k, alpha  neighbours in the graph of the fine cells; limit of the X84 rule on their response
    """
    clouds = [source, target]
    for cloud in clouds:
        if len(cloud.points) <= k:
            raise InputError(
                f"{cloud.name}: holds {len(cloud.points)} different points, but at least {k + 1} are needed"
            )
    cell, fine = _sides(clouds, voxel, threads)
    clouds = at_once(lambda cloud, workers: _without_strays(cloud, STRAY * fine, workers), clouds, threads)
    cells = at_once(lambda cloud, workers: _on_surface(cloud, fine, k, alpha, workers), clouds, threads)
    if any(_alone(*found) > MOST_ALONE for found in cells):
        clouds = at_once(lambda cloud, workers: _one_by_one(cloud, k, alpha, workers), clouds, threads)
        cell, fine = _sides(clouds, voxel, threads)
        cells = at_once(lambda cloud, workers: _on_surface(cloud, fine, k, np.inf, workers), clouds, threads)

    def view(number: int, workers: int) -> View:
        found, kept = cells[number]
        cloud = clouds[number].only(found.members(kept))
        coarse = outward(surface_of(cloud.points, cell, cloud.weights, workers))
        smooth = outward(found.surface(kept, workers))
        return View(coarse, smooth, signatures_of(coarse, workers), cloud.home, cell, fine)

    first, second = at_once(view, (0, 1), threads)
    return first, second


def _sides(clouds: list[Drawn], voxel: float | None, threads: int) -> tuple[float, float]:
    """The sides of coarse and fine cells that suit both clouds; of the fine ones, the side that was asked for."""
    wanted = COARSE_PIECES, 2 * COARSE_PIECES, sys.maxsize
    sides = at_once(lambda cloud, _: cell_for(cloud.points, *wanted), clouds, threads)
    coarse = max(min(side[0] for side in sides), max(side[1] for side in sides))
    return coarse, voxel or max(coarse / FINE_PER_COARSE, min(side[2] for side in sides))


def _without_strays(cloud: Drawn, side: float, threads: int) -> Drawn:
    """A cloud without the points that are alone in their cells, where they are many: the graph need not see them."""
    order, starts = _core.voxel_cells(cloud.points, side, threads)
    alone = order[starts[:-1][np.diff(starts) == 1]]
    if not MANY_STRAYS < len(alone) / len(order) < MOST_STRAYS:
        return cloud
    kept = np.ones(len(order), bool)
    kept[alone] = False
    return cloud.only(kept)


def _on_surface(cloud: Drawn, side: float, k: int, alpha: float, threads: int) -> tuple[Cells, Mask]:
    """A cloud in cells, and those that the X84 rule keeps. The response of a point is that of its cell."""
    cells = cells_of(cloud.points, side, cloud.weights, k, threads)
    if len(cells.means) <= k:
        return cells, np.ones(len(cells.means), bool)
    response = cells.response(threads)
    kept = response <= highest_response(some_of(cells.of_points(response)), alpha, cloud.rounding / side)
    if np.count_nonzero(kept) <= k:
        raise InputError(f"{cloud.name}: no surface stands out among its points")
    return cells, kept


def _alone(cells: Cells, kept: Mask) -> float:
    """The share of the points kept that are alone in their cells."""
    count = np.diff(cells.starts)[kept]
    return float(np.count_nonzero(count == 1) / count.sum())


def _one_by_one(cloud: Drawn, k: int, alpha: float, threads: int) -> Drawn:
    """A cloud without the points that the X84 rule drops by their own response."""
    if len(cloud.points) > k:
        response = response_of(neighbour_graph(cloud.points, k, threads))
        kept = response <= highest_response(response, alpha, cloud.rounding)
        if np.count_nonzero(kept) > k:
            return cloud.only(kept)
    raise InputError(f"{cloud.name}: no surface stands out among its points")


def at_once(work: Callable[[Any, int], T], items: Any, threads: int) -> list[T]:
    """work(item, threads) for both clouds side by side, each with its share of the threads."""
    if threads == 1:
        return [work(item, 1) for item in items]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda item: work(item, threads // 2), items))
