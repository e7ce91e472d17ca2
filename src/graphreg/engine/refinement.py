"""The last steps of a registration: every point of each cloud on the surface of the other.

Pieces of surface are quick to lay on each other, but where the grid cuts them shows in the pose. Points do not depend
on the grid. Those of one cloud alone would draw the pose to where they happen to lie; both together do not.
"""

from __future__ import annotations

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.preprocessing import SurfelPyramid, map_pair
from graphreg.engine.surfels import Surfels

# Widths of the weights, in cells, while pieces are laid on pieces; where points lie far off their planes, they stay
# wider: so many times that, and at most so wide.
SCALES = np.array([1.5, 1.0, 0.7, 0.5, 0.5])
WIDER_BY_NOISE, WIDEST = 4.0, 1.2
# Pieces are so wide that points lie no farther off them, in cells.
MOST_NOISE = 0.35
# How far off its own surface a point may lie, in cells; steps, and the last that is worth another, in cells and
# radians.
NEAR = 1.5
MOST_STEPS, ENOUGH = 4, 1e-3


def refine_fine(
    source: SurfelPyramid,
    target: SurfelPyramid,
    motion: Floats,
    free: tuple[bool, ...],
    pivot: Floats,
    as_asked: bool,
    threads: int = 1,
) -> Floats:
    """A motion between views that is nearly right, its shift in coarse cells, made as exact as the points allow.

    free, pivot  what it may do: turn about x, y, z through that point, shift along them
    as_asked     whether the fine cells are of a size that was asked for, and stay so
    """
    side = target.fine_cell if as_asked else _side(source, target)

    def smooth(view: SurfelPyramid, workers: int) -> tuple[Surfels, _core.SurfelPoints]:
        surface = view.surface(side, workers)
        return surface, assign_to_surfels(surface, view.points / side, workers)

    (here, of_source), (there, of_target) = map_pair(smooth, (source, target), threads)
    finer = target.cell / side
    freedom = _core.DegreesOfFreedom(free, pivot * finer)
    close = motion.copy()
    close[:3, 3] *= finer
    scales = kernel_widths(here, there)
    close = there.grid.refine(close[None], here.points, here.normals, here.importance, scales, freedom, threads)[0]
    close = _core.refine_symmetric(of_source, of_target, close, float(scales[-1]), MOST_STEPS, ENOUGH, freedom, threads)
    close[:3, 3] /= finer
    return close


def kernel_widths(source: Surfels, target: Surfels) -> Floats:
    """Widths of the weights in the steps that lay pieces on pieces, in cells."""
    noise = float(np.median(np.concatenate([source.spread, target.spread])))
    return np.asarray(np.maximum(SCALES, min(WIDER_BY_NOISE * noise, WIDEST)))


def _side(source: SurfelPyramid, target: SurfelPyramid) -> float:
    """Of cells as small as the noise allows: the fine ones, unless their points lie far off them; then ones on which
    they do not, by how far they lie off the coarse ones."""
    coarse, fine = (
        float(np.median(np.concatenate([here.spread, there.spread])))
        for here, there in ((source.coarse, target.coarse), (source.fine, target.fine))
    )
    if fine < MOST_NOISE:
        return target.fine_cell
    return max(target.fine_cell, coarse * target.cell / MOST_NOISE)


def assign_to_surfels(surface: Surfels, points: Floats, threads: int = 1) -> _core.SurfelPoints:
    """The points of a cloud, in cells, of each the piece of its own surface that it lies on, and what those on each
    count: something between each point counting the same, which is best against noise, and each piece."""
    own = surface.grid.nearest(points, NEAR, threads)
    held = np.bincount(own[own >= 0], minlength=len(surface))
    weights = np.maximum(held, 1) ** -0.5
    if surface.importance is not None:
        weights *= surface.importance
    return _core.SurfelPoints(surface.grid, points, own, weights)
