"""Clutter: points that fill a volume evenly, distinguished from surfaces by how near their neighbours are.

Where points fill a volume at random, the volume of the ball that reaches to the k-th neighbour has a gamma
distribution; on a surface these balls are much smaller. A mixture of two such distributions is fitted by expectation
maximisation (Byers and Raftery 1998: Nearest-neighbor clutter removal for estimating features in spatial point
processes). Surfaces can still be found where ten points of clutter come with each point of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats, Mask, with_unit_scale
from graphreg.engine.preprocessing import PreprocessedCloud, strided_sample
from graphreg.features.graphs import Graph


@dataclass(frozen=True)
class ClutterParameters:
    """Constants of the removal of clutter; all chosen.

    Attributes
    ----------
    iterations : int
        Of expectation maximisation.
    least_share : float
        Fewer points than this share of all are not taken for clutter.
    least_contrast : float
        Points are as much denser on surfaces: a single surface, split in two, has less contrast.
    most_variation : float
        Standard deviation over mean of the volumes around clutter: k^-1/2 where it is uniform, and more than this
        where the density of a scan varies.
    points_per_cell : int
        The bounding box is divided into cells that hold as many points of clutter on average, if it fills the box;
    min_cells, max_cells : int
        at least and at most so many along each axis, an even number.
    least_dimension : float
        Occupied cells grow in number by this power of 2 at least when cells are halved: by 3 in a volume, by 2 on
        surfaces.
    """

    iterations: int = 40
    least_share: float = 0.25
    least_contrast: float = 3.0
    most_variation: float = 0.75
    points_per_cell: int = 2
    min_cells: int = 6
    max_cells: int = 16
    least_dimension: float = 2.35


CLUTTER = ClutterParameters()


def without_clutter(cloud: PreprocessedCloud, k: int, threads: int = 1) -> PreprocessedCloud:
    """Return a cloud without the points that fill its volume; the cloud itself where there are few of them."""

    def compute() -> PreprocessedCloud | None:
        clutter = find_clutter(cloud.neighbour_graph(k, threads))
        kept = ~clutter
        return cloud.select(kept) if clutter.any() and np.count_nonzero(kept) > k else None

    # Not the cloud itself: it would be in its own cache, a cycle of references.
    return cloud.cached(("without clutter", k), compute) or cloud


def find_clutter(graph: Graph) -> Mask:
    """Return which points of a neighbour graph are clutter: none, unless there are many and they fill the volume."""
    points, k = graph.points, graph.k
    none = np.zeros(len(points), bool)
    offsets = with_unit_scale(points - points[graph.neighbours[:, -1]])
    volumes = np.einsum("ij,ij->i", offsets, offsets) ** 1.5
    median = float(np.median(volumes))
    if median == 0:
        return none
    volumes = np.maximum(volumes / median, 1e-9)
    limit = _largest_volume_on_surfaces(strided_sample(volumes), k)
    clutter = volumes > limit
    if np.mean(clutter) < CLUTTER.least_share:
        return none
    around = volumes[clutter]
    if around.std() > CLUTTER.most_variation * around.mean():
        return none
    return clutter if _dimension(points[clutter]) >= CLUTTER.least_dimension else none


def _largest_volume_on_surfaces(volumes: Floats, k: int) -> float:
    """Fit a mixture of two gamma distributions of shape k; above the limit the one of larger volumes is more likely."""
    small, large = k / np.quantile(volumes, (0.1, 0.9))  # rates of the two
    share = 0.5
    for _ in range(CLUTTER.iterations):
        log_odds = np.log(share / (1 - share)) + k * np.log(small / large) - (small - large) * volumes
        on_surface = 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))
        share = float(np.clip(on_surface.mean(), 1e-3, 1 - 1e-3))
        small = k * on_surface.sum() / (on_surface * volumes).sum()
        large = k * (1 - on_surface).sum() / ((1 - on_surface) * volumes).sum()
    if small < CLUTTER.least_contrast * large:
        return float("inf")
    return float((np.log(share / (1 - share)) + k * np.log(small / large)) / (small - large))


def _dimension(points: Floats) -> float:
    """How points fill space: about 3 in a volume, 2 on surfaces; 0 where they are too few to tell."""
    per_axis = min(int(np.cbrt(len(points) / CLUTTER.points_per_cell)) // 2 * 2, CLUTTER.max_cells)
    if per_axis < CLUTTER.min_cells:
        return 0.0
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    shares = (points - low) / np.where(size > 0, size, 1.0)

    def occupied(cells: int) -> int:
        numbers = np.minimum(cells * shares, cells - 1).astype(int) @ cells ** np.arange(3)
        return len(np.unique(numbers))

    return float(np.log2(occupied(per_axis) / occupied(per_axis // 2)))
