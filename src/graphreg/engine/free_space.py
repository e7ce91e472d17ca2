"""Free space: what a scan saw through, and where the other scan cannot have a surface.

From the viewpoint of a scan every surfel is seen in some direction, and nothing is in front of it. At a wrong pose
surfels of the other scan are. On a closed body, whose viewpoint is inferred inside it, the same holds: no surface is
inside it either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.poses import inverse, transform


@dataclass(frozen=True)
class FreeSpaceParameters:
    """Constants of the comparison; chosen.

    Attributes
    ----------
    cells : int
        Directions are compared in the cells of a cube around the viewpoint, so many along an edge: 2.8 degrees.
    distance, share : float
        A surfel is in front of what the other scan saw in its direction and next to it if it is this much nearer, in
        coarse voxels, and by this share of its range.
    usual : float
        Surfels that are added to the denominator of the share: few say little.
    """

    cells: int = 32
    distance: float = 2.0
    share: float = 0.03
    usual: float = 20.0


FREE_SPACE = FreeSpaceParameters()


def seen_through(source: SurfelPyramid, target: SurfelPyramid, T: Floats) -> float:
    """Return the share of surfels in front of what the other scan saw, of these and those that coincide with it.

    The larger share of the two: source seen from the target's viewpoint, and target seen from the source's.

    Parameters
    ----------
    source, target : SurfelPyramid
    T : (4, 4) ndarray
        Between the pyramids, translation in coarse voxels.
    """
    return max(
        _share_in_front(target, transform(T, source.coarse.points)),
        _share_in_front(source, transform(inverse(T), target.coarse.points)),
    )


def _share_in_front(scan: SurfelPyramid, others: Floats) -> float:
    viewpoint = scan.orientation.viewpoint / scan.coarse_voxel
    seen, ranges = _cells(scan.coarse.points - viewpoint)
    n = FREE_SPACE.cells
    nearest = np.full((6, n + 2, n + 2), np.inf)
    np.minimum.at(nearest, seen, ranges)
    # A surface that is seen at a grazing angle spans several cells.
    around = np.min([nearest[:, i : i + n, j : j + n] for i in range(3) for j in range(3)], axis=0)
    (face, row, column), ranges = _cells(others - viewpoint)
    here, front = nearest[face, row, column], around[face, row - 1, column - 1]
    slack = FREE_SPACE.distance + FREE_SPACE.share * ranges
    visible = np.isfinite(here)
    in_front = np.count_nonzero(visible & (ranges < front - slack))
    coincident = np.count_nonzero(np.abs(ranges[visible] - here[visible]) < slack[visible])
    return float(in_front / (in_front + coincident + FREE_SPACE.usual))


def _cells(offsets: Floats) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]], Floats]:
    """The cell of each direction, as face of a cube, row and column from 1 on, and the distances."""
    axis = np.abs(offsets).argmax(axis=1)
    rows = np.arange(len(offsets))
    along = offsets[rows, axis]
    length = np.maximum(np.abs(along), 1e-12)
    # Angles instead of tangents: cells of equal size.
    u, v = (np.arctan(offsets[rows, (axis + step) % 3] / length) / (np.pi / 2) + 0.5 for step in (1, 2))
    row, column = (np.clip((value * FREE_SPACE.cells).astype(np.intp), 0, FREE_SPACE.cells - 1) + 1 for value in (u, v))
    return (2 * axis + (along > 0), row, column), np.linalg.norm(offsets, axis=1)
