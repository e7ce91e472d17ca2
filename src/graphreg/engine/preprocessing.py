"""Two clouds made ready: cleaned, and seen as pieces of surface at a coarse and a fine resolution, in common cells."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, Mask, sample_rows
from graphreg.engine.descriptors import Descriptors, compute_descriptors, orient_outward
from graphreg.engine.surfels import NEIGHBOURS, Surfels, VoxelMoments, voxel_moments, voxel_sizes_for
from graphreg.errors import InputError
from graphreg.features.graphs import neighbour_graph
from graphreg.features.response import median_absolute_deviation, response_intensity, rounding_error
from graphreg.poses import inverse, pose, principal_frame, transform

# Coarse pieces of the smaller cloud, about; the larger one may have twice as many. Fine cells are this much smaller, as
# far as there are points to fill them.
COARSE_PIECES = 1_600
FINE_PER_COARSE = 2.5
# From one size of cells to the next, where clouds share them.
LADDER = 1.2
# Of what was made of a cloud: cells and views at three sizes.
MADE_KEPT = 6
# What lies so many times as far from the middle as half of the points do is no part of a scan.
FAR_OFF = 50.0
# Where more points than this are alone in their cells, cells say little of them: there may be as many outliers as
# points on surfaces, or few points of any kind. Then each is looked at on its own.
MOST_ALONE = 0.2
# Rows that are enough to tell a median or an axis by.
SAMPLE = 5_000
# Where the response is spread this much wider than its lowest tenth, that spread is the outliers', not the surface's;
# on surfaces it is about so many times the lowest tenth.
WIDEST_SPREAD, USUAL_SPREAD = 40.0, 3.0

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SurfelPyramid:
    """A cloud as the engine sees it, in a frame of its own, so that it looks the same wherever it lies.

    coarse, fine  pieces of surface with orient_outward normals; lengths are in coarse or fine cells
    descriptors    of the coarse pieces
    cells, kept   the fine cells, and which of them belong to a surface
    points        (N, 3), the points themselves, in the unit of the data
    home          (4, 4), the motion from the cloud's frame into this one
    cell, fine_cell  sides of the cells, in the unit of the data
    """

    coarse: Surfels
    fine: Surfels
    descriptors: Descriptors
    cells: VoxelMoments
    kept: Mask
    points: Floats
    home: Floats
    cell: float
    fine_cell: float

    @property
    def unevenness(self) -> float:
        """How many points a point has around it on the mean, over how many are usual in a cell: little more than 1 on
        objects, many where the scanner stood among what it saw."""
        held = self.coarse.weights
        return float((held**2).sum() / held.sum() / np.median(held))

    def surface(self, side: float, threads: int = 1) -> Surfels:
        """Pieces of that size; lengths are in cells of that size."""
        if side == self.fine_cell:
            return self.fine
        return orient_outward(
            self.cells.coarser(side / self.fine_cell, self.kept, threads=threads).surface(threads=threads)
        )


def to_cloud_frames(motion: Floats, source: SurfelPyramid, target: SurfelPyramid) -> Floats:
    """A motion between views, its shift in coarse cells, as one between the clouds."""
    return inverse(target.home) @ pose(motion[:3, :3], motion[:3, 3] * target.cell) @ source.home


def to_pyramid_frames(motion: Floats, source: SurfelPyramid, target: SurfelPyramid) -> Floats:
    """The other way: a motion between the clouds as one between views, its shift in coarse cells."""
    between = target.home @ motion @ inverse(source.home)
    return pose(between[:3, :3], between[:3, 3] / target.cell)


@dataclass(frozen=True, eq=False)
class PreprocessedCloud:
    """What is looked at of a cloud, and what was made of it: a cloud that meets several others is described once.

    name      for messages
    local     (N, 3), each point once, in a frame of their own
    weights   (N,), or None where all are alike
    home      (4, 4), the motion from the cloud's frame into that one
    rounding  of the cloud's coordinates, in the unit of the data
    dropped   rows of the cloud that were not finite
    """

    name: str
    local: Floats
    weights: Floats | None
    home: Floats
    rounding: float
    dropped: int = 0
    _made: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.local)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": {}}

    @property
    def points(self) -> Floats:
        """(N, 3), in the cloud's own frame."""
        return transform(inverse(self.home), self.local)

    def only(self, chosen: Mask) -> PreprocessedCloud:
        """Some of the points."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, local=self.local[chosen], weights=weights, _made={})

    def thinned(self, side: float, threads: int = 1) -> PreprocessedCloud:
        """One point in each cell of that size."""
        order, starts, _ = _core.group_by_voxel(self.local, side, threads)
        chosen = np.zeros(len(self), bool)
        chosen[order[starts[:-1]]] = True
        return self.only(chosen)

    def seen_from(self, home: Floats) -> PreprocessedCloud:
        """The same points in another frame, `home` being the motion into it."""
        return replace(self, local=transform(home @ inverse(self.home), self.local), home=home, _made={})

    @property
    def sides(self) -> tuple[float, ...]:
        """Of cells that cut the surface into as many coarse pieces as are wanted, into twice as many, and into as many
        as there are points."""
        wanted = COARSE_PIECES, 2 * COARSE_PIECES, sys.maxsize
        return self.once(("sides",), lambda: voxel_sizes_for(self.local, *wanted))

    def once(self, how: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` gives, made once for each `how`; the last few are kept."""
        if how in self._made:
            return cast(T, self._made[how])
        made = self._made[how] = make()
        for oldest in list(self._made)[:-MADE_KEPT]:
            self._made.pop(oldest, None)
        return made


def preprocess(
    points: Floats,
    name: str,
    weights: Floats | None = None,
    most: int = 10**9,
    seed: int = 0,
) -> PreprocessedCloud:
    """At most so many points, drawn at random, each once, without those that are too far off to belong to a scan."""
    rows = sample_rows(len(points), most, seed) if len(points) > most else None
    near, kept = _core.remove_duplicates_and_outliers(np.ascontiguousarray(points), rows, FAR_OFF, SAMPLE)
    if weights is not None:
        weights = (weights if rows is None else weights[rows])[kept]
    home = principal_frame(strided_sample(near))
    return PreprocessedCloud(name, transform(home, near), weights, home, rounding_error(near))


def strided_sample(values: Floats) -> Floats:
    """Some of the rows, evenly spread."""
    return values[:: -(-len(values) // SAMPLE)]


def robust_x84_limit(response: Floats, alpha: float, rounding: float = 0.0) -> float:
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
    # On a grid nearly all respond alike.
    return max(alpha * max(spread, lowest), rounding**2)


def build_pyramids(
    source: PreprocessedCloud,
    target: PreprocessedCloud,
    voxel: float | None = None,
    k: int = NEIGHBOURS,
    alpha: float = 5.2,
    threads: int = 1,
    shared: bool = False,
) -> tuple[SurfelPyramid, SurfelPyramid]:
    """Both clouds in cells of one size, without what belongs to no surface.

    voxel     side of the fine cells, by default one that suits the clouds
    k, alpha  neighbours in the graph of the fine cells; limit of the X84 rule on their response
    shared    whether the clouds meet others too: sizes of cells are then steps of a ladder, so that a cloud beside
              several that are like it is cut in one way
    """
    clouds = [source, target]
    for cloud in clouds:
        if len(cloud) <= k:
            raise InputError(f"{cloud.name}: has {len(cloud)} different points, but at least {k + 1} are needed")
    cell, fine = _sides(clouds, voxel, shared, threads)
    found = map_pair(lambda cloud, workers: _on_surface(cloud, fine, k, alpha, workers), clouds, threads)
    if any(_alone(*cells) > MOST_ALONE for cells in found):
        clouds = map_pair(lambda cloud, workers: _one_by_one(cloud, k, alpha, workers), clouds, threads)
        cell, fine = _sides(clouds, voxel, shared, threads)
        found = map_pair(lambda cloud, workers: _on_surface(cloud, fine, k, np.inf, workers), clouds, threads)

    def view(number: int, workers: int) -> SurfelPyramid:
        return clouds[number].once(
            ("view", cell, fine, k, alpha),
            lambda: _described(*found[number], (source, target)[number], cell, fine, workers),
        )

    first, second = map_pair(view, (0, 1), threads)
    return first, second


def _sides(clouds: list[PreprocessedCloud], voxel: float | None, shared: bool, threads: int) -> tuple[float, float]:
    """The sides of coarse and fine cells that suit both clouds; of the fine ones, the side that was asked for."""
    sides = map_pair(lambda cloud, _: cloud.sides, clouds, threads)
    coarse = max(min(side[0] for side in sides), max(side[1] for side in sides))
    fine = max(coarse / FINE_PER_COARSE, min(side[2] for side in sides))
    if shared:
        coarse, fine = (LADDER ** float(np.round(np.log(side) / np.log(LADDER))) for side in (coarse, fine))
    fine = voxel or fine
    return max(coarse, fine), fine


def _on_surface(cloud: PreprocessedCloud, side: float, k: int, alpha: float, threads: int) -> tuple[VoxelMoments, Mask]:
    """A cloud in cells, and those that the X84 rule keeps. The response of a point is that of its cell."""

    def made() -> tuple[VoxelMoments, Mask]:
        cells = voxel_moments(cloud.local, side, cloud.weights, k, threads, strays=False)
        if len(cells) <= k:
            return cells, np.ones(len(cells), bool)
        response = cells.response(threads)
        of_points = np.repeat(response, cells.counts)
        kept = response <= robust_x84_limit(strided_sample(of_points), alpha, cloud.rounding / side)
        if np.count_nonzero(kept) <= k:
            raise InputError(f"{cloud.name}: no surface stands out among its points")
        return cells, kept

    return cloud.once(("on surface", side, k, alpha), made)


def _alone(cells: VoxelMoments, kept: Mask) -> float:
    """The share of the points kept that are alone in their cells."""
    counts = cells.counts[kept]
    return float(np.count_nonzero(counts == 1) / counts.sum())


def _one_by_one(cloud: PreprocessedCloud, k: int, alpha: float, threads: int) -> PreprocessedCloud:
    """A cloud without the points that the X84 rule drops by their own response."""

    def made() -> PreprocessedCloud:
        response = response_intensity(neighbour_graph(cloud.local, k, threads))
        kept = response <= robust_x84_limit(response, alpha, cloud.rounding)
        if np.count_nonzero(kept) <= k:
            raise InputError(f"{cloud.name}: no surface stands out among its points")
        return cloud.only(kept)

    return cloud.once(("one by one", k, alpha), made)


def _described(
    cells: VoxelMoments, kept: Mask, cloud: PreprocessedCloud, cell: float, fine: float, threads: int
) -> SurfelPyramid:
    coarse = orient_outward(cells.coarser(cell / fine, kept, threads=threads).surface(threads=threads))
    smooth = orient_outward(cells.surface(kept, threads))
    descriptors = compute_descriptors(coarse, threads)
    return SurfelPyramid(coarse, smooth, descriptors, cells, kept, cloud.local, cloud.home, cell, fine)


def map_pair(work: Callable[[Any, int], T], items: Any, threads: int) -> list[T]:
    """work(item, threads) for both clouds side by side, each with its share of the threads."""
    first, second = items
    if threads == 1:
        return [work(first, 1), work(second, 1)]
    with ThreadPoolExecutor(1) as other:
        later = other.submit(work, second, threads // 2)
        return [work(first, threads // 2), later.result()]
