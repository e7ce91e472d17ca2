"""All scans at once, surfaces on surfaces: the last step from motions between pairs to poses of all.

Every pair is looked at where its scans now lie. What its points and surfaces say there is an edge: the step that they
ask for, and how firmly they are held (the normal equations of the engine's last steps). The poses go where all edges
rest together, and the pairs are looked at again.

Surfaces are not those that pairs were found by. There, in clouds of few points, each point that stands off those around
it is taken for an outlier; on a bent surface these are more often points that noise moved outwards, and what is left
lies too far inwards, by a hundredth of a cell or so. Here outliers do no harm, for no other scan has them in the same
place, and all points take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.descriptors import orient_outward
from graphreg.engine.preprocessing import FINE_PER_COARSE, LADDER, PreprocessedCloud, robust_x84_limit, strided_sample
from graphreg.engine.refinement import assign_to_surfels, kernel_widths
from graphreg.engine.settings import EngineSettings
from graphreg.engine.surfels import Surfels, voxel_moments
from graphreg.multiscan.pose_graph_optimisation import least_squares_poses
from graphreg.poses import PoseGraph, inverse, pose, rotation_from_vector

# Looks at all pairs, at most; none follows where no scan moved farther than this, in cells.
LOOKS, STILL = 8, 2e-3
# Surfaces that lie closer than this are not held the more firmly for it, in cells.
CLOSEST = 0.02


def refine_multiview(
    scans: Sequence[PreprocessedCloud],
    poses: Floats,
    pairs: Sequence[tuple[int, int]],
    voxel: float | None = None,
    threads: int = 1,
) -> Floats:
    """Poses (N, 4, 4), x_world = P x_scan, near those given, in which the surfaces of all pairs rest together.

    pairs  source and target of those that overlap; the first scan of each group that they join stays where it is
    voxel  as in `register`
    """
    if not pairs:
        return poses
    ends = np.array(pairs, np.intp)
    here = poses @ np.array([inverse(scan.home) for scan in scans])
    reaches = np.array([np.sqrt((scan.local**2).sum(axis=1).mean()) for scan in scans])
    cells = [voxel or _cell(scans[source], scans[target]) for source, target in pairs]
    wanted = sorted({(scan, cell) for pair, cell in zip(pairs, cells, strict=True) for scan in pair})
    with ThreadPoolExecutor(threads) as pool:
        made = dict(zip(wanted, pool.map(lambda each: _surface(scans[each[0]], each[1]), wanted), strict=True))
        sides = [(made[s, cell], made[t, cell]) for (s, t), cell in zip(pairs, cells, strict=True)]
        for _ in range(LOOKS):
            motions = [inverse(here[target]) @ here[source] for source, target in pairs]
            told = list(pool.map(_asked_for, sides, cells, motions))
            edges = PoseGraph(
                here, ends, np.array([motion for motion, _ in told]), np.array([firm for _, firm in told])
            )
            before, here = here, least_squares_poses(edges)
            change = here - before
            moved = np.linalg.norm(change[:, :3, 3], axis=1) + reaches * np.linalg.norm(change[:, :3, :3], axis=(1, 2))
            if moved.max() <= STILL * min(cells):
                break
    return np.asarray(here @ np.array([scan.home for scan in scans]))


def _cell(source: PreprocessedCloud, target: PreprocessedCloud) -> float:
    """The side of fine cells that both scans fill, as the engine has it; a step of a ladder, so that pairs share it."""
    side = max(max(scan.sides[1] / FINE_PER_COARSE, scan.sides[2]) for scan in (source, target))
    return float(LADDER ** np.round(np.log(side) / np.log(LADDER)))


def _surface(scan: PreprocessedCloud, cell: float) -> tuple[Surfels, _core.SurfelPoints]:
    """Pieces of surface of the cells that the X84 rule keeps, in cells, and the points that lie on them."""
    usual = EngineSettings()
    cells = voxel_moments(scan.local, cell, scan.weights, usual.k, strays=False)
    response = cells.response()
    highest = robust_x84_limit(strided_sample(np.repeat(response, cells.counts)), usual.alpha, scan.rounding / cell)
    surface = orient_outward(cells.surface(response <= highest))
    return surface, assign_to_surfels(surface, scan.local / cell)


def _asked_for(
    sides: tuple[tuple[Surfels, _core.SurfelPoints], tuple[Surfels, _core.SurfelPoints]], cell: float, motion: Floats
) -> tuple[Floats, Floats]:
    """Where a pair that lies like this would go in one step, and (6, 6) how firmly it is held there.

    Turns are about the middle of the target, in radians, shifts in the unit of the data.
    """
    (source, of_source), (target, of_target) = sides
    close = pose(motion[:3, :3], motion[:3, 3] / cell)
    scale = float(kernel_widths(source, target)[-1])
    equations, slope, weight, squared = _core.symmetric_equations(of_source, of_target, close, scale, 1)
    if not weight > 0:
        return motion, np.zeros((6, 6))
    step = np.linalg.lstsq(equations, slope, rcond=1e-9)[0]
    moved = pose(rotation_from_vector(step[:3]), step[3:]) @ close
    unit = np.repeat([1.0, 1 / cell], 3)
    firm = equations * np.outer(unit, unit) / max(squared / weight, CLOSEST**2)
    return pose(moved[:3, :3], moved[:3, 3] * cell), firm
