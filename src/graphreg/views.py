"""Two clouds made ready: cleaned, and seen as pieces of surface at a coarse and a fine resolution, in common cells."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from graphreg import _core
from graphreg.clouds import Floats, Mask
from graphreg.errors import InputError
from graphreg.graphs import neighbour_graph
from graphreg.poses import inverse, own_frame, pose, transform
from graphreg.response import median_absolute_deviation, response_of, rounding_of
from graphreg.signatures import Signatures, outward, signatures_of
from graphreg.surfaces import Surface, cell_for, surface_of

# Coarse pieces of the smaller cloud; the larger one may have twice as many. Fine cells are this much smaller.
COARSE_PIECES = 2_000
FINE_PER_COARSE = 2.5
# Where the response is spread this much wider than its lowest tenth, that spread is the outliers', not the surface's;
# on surfaces it is about so many times the lowest tenth. (Scans of all kinds: 1 to 14. Most points outliers: 150 up.)
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
class Cleaned:
    """Points that lie on surfaces, and their weights."""

    points: Floats
    weights: Floats | None = None


def clean(
    points: Floats, name: str, weights: Floats | None, most: int, k: int, alpha: float, seed: int, threads: int
) -> Cleaned:
    """At most so many points, drawn at random, each once, without those that belong to no surface."""
    if len(points) > most:
        drawn = np.unique(np.random.default_rng(seed).integers(len(points), size=most))
        points, weights = points[drawn], None if weights is None else weights[drawn]
    once = _core.distinct(np.ascontiguousarray(points))
    points, weights = points[once], None if weights is None else weights[once]
    if len(points) <= k:
        raise InputError(f"{name}: holds {len(points)} different points, but at least {k + 1} are needed")
    graph = neighbour_graph(points, k, threads)
    kept = on_surface(response_of(graph), alpha, rounding_of(points))
    if np.count_nonzero(kept) <= k:
        raise InputError(f"{name}: no surface stands out among its points")
    return Cleaned(points[kept], None if weights is None else weights[kept])


def on_surface(response: Floats, alpha: float, rounding: float = 0.0) -> Mask:
    """The X84 rule I <= alpha * MAD(I), which also holds where most points are outliers.

    There MAD is theirs. The lowest tenth of the response then tells how wide that of the surface is.
    """
    finite = np.isfinite(response)
    some = response[finite & (response > rounding**2)]
    if not len(some):
        return finite
    spread, lowest = median_absolute_deviation(response[finite]), float(np.quantile(some, 0.1))
    if spread > WIDEST_SPREAD * lowest:
        spread = USUAL_SPREAD * lowest
    return finite & (response <= max(alpha * spread, rounding**2))


def views_of(
    source: Cleaned, target: Cleaned, voxel: float | None = None, common_axes: bool = False, threads: int = 1
) -> tuple[View, View]:
    """Both clouds in cells of one size.

    voxel        side of the fine cells, by default one that suits the clouds
    common_axes  whether both keep their axes and are seen from the target's centroid
    """
    shared = pose(np.eye(3), -target.points.mean(axis=0)) if common_axes else None
    homes = [own_frame(cloud.points) if shared is None else shared for cloud in (source, target)]
    placed = [transform(home, cloud.points) for home, cloud in zip(homes, (source, target), strict=True)]
    sizes = at_once(lambda points, _: cell_for(points, COARSE_PIECES, 2 * COARSE_PIECES), placed, threads)
    cell = max(min(size[0] for size in sizes), max(size[1] for size in sizes))
    fine = voxel if voxel is not None else cell / FINE_PER_COARSE

    def view(number: int, workers: int) -> View:
        points, weights = placed[number], (source, target)[number].weights
        coarse = outward(surface_of(points, cell, weights, workers))
        return View(
            coarse,
            outward(surface_of(points, fine, weights, workers)),
            signatures_of(coarse, workers),
            homes[number],
            cell,
            fine,
        )

    first, second = at_once(view, (0, 1), threads)
    return first, second


def at_once(work: Callable[[Any, int], T], items: Any, threads: int) -> list[T]:
    """work(item, threads) for both clouds side by side, each with its share of the threads."""
    if threads == 1:
        return [work(item, 1) for item in items]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda item: work(item, threads // 2), items))
