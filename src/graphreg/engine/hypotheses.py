"""Where could the source lie? Poses that many matches agree on, ranked by how well the surfaces then meet."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats, extent
from graphreg.engine.descriptors import Correspondences, Descriptors, mutual_correspondences
from graphreg.engine.surfels import Surfels
from graphreg.paper.forces import ForceLaw, Particles, pair_forces
from graphreg.poses import fit_rigid_transform, pose, transform

# Lengths in coarse cells. Two matches agree if their distances do within this.
TOLERANCE = 1.5
# Correspondences looked at, poses proposed by them, poses refined.
MOST_MATCHES = 1024
MOST_POSES = 64
MOST_REFINED = 6
# Pieces of the source that they are refined by; all are scored.
MOST_PIECES = 1_000
# Fewer matches than this in the best proposal may agree by chance: then a population of starts proposes as well.
WEAK = 8
PARTICLES, STEPS, SOFTENING = 256, 20, (0.3, 0.02)
# How near is near: when poses are proposed, and after refinement.
FIRST_REACH, LAST_REACH = 2.0, 1.0
# Widths of the weights in the steps of refinement: from far off, and from so near that wide steps could lead astray.
WIDE = np.array([2.0, 2.0, 1.5, 1.2, 1.0, 0.8, 0.7])
NARROW = np.array([0.8, 0.7, 0.7])
# Pairs that look alike meet if a pose brings them this near, their normals within 45 degrees.
MEETING = 2.0
FACING = np.cos(np.radians(45))
# Poses that put no corner of the source farther apart than this are one proposal; one result, if not farther than that.
SAME, DIFFERENT = 2.0, 6.0


@dataclass(frozen=True, eq=False)
class PoseCandidates:
    """Poses, best first, each different from those before it.

    poses     (P, 4, 4)
    scores    (P,), 0 to 1: how much of the source meets the target
    matches   pairs of indices that look alike
    proposed  how many poses the matches proposed
    """

    poses: Floats
    scores: Floats
    matches: Correspondences
    proposed: int


def find_candidates(
    source: Surfels,
    target: Surfels,
    descriptors: tuple[Descriptors, Descriptors],
    freedom: _core.DegreesOfFreedom,
    free: bool = True,
    threads: int = 1,
) -> PoseCandidates:
    """Find poses that lay the source on the target. Both have orient_outward normals.

    free  whether the motion is free to turn and shift in any direction; else `freedom` says how
    """
    pairs = mutual_correspondences(*descriptors, threads)
    step = -(-len(pairs[0]) // MOST_MATCHES) or 1
    i, j = pairs[0][::step], pairs[1][::step]
    proposed, support = _core.hypotheses(
        source.points[i],
        source.normals[i],
        target.points[j],
        target.normals[j],
        TOLERANCE,
        MOST_POSES,
        freedom,
        threads,
    )
    if support.max(initial=0) < WEAK:
        proposed = np.concatenate([proposed, coulomb_proposals(source, target, threads) if free else np.eye(4)[None]])
    first = target.grid.score(proposed, source.points, source.normals, FIRST_REACH, threads)
    ranked = proposed[np.argsort(-first, kind="stable")]
    chosen = ranked[_different(ranked, source, SAME, MOST_REFINED)]
    some = slice(None, None, -(-len(source) // MOST_PIECES))
    points, normals = np.ascontiguousarray(source.points[some]), np.ascontiguousarray(source.normals[some])
    importance = None if source.importance is None else np.ascontiguousarray(source.importance[some])
    refined = np.concatenate(
        [target.grid.refine(chosen, points, normals, importance, scales, freedom, threads) for scales in (WIDE, NARROW)]
    )
    scores = target.grid.score(refined, source.points, source.normals, LAST_REACH, threads)
    order = np.argsort(-scores, kind="stable")
    kept = order[_different(refined[order], source, DIFFERENT, MOST_REFINED)]
    return PoseCandidates(refined[kept], scores[kept], pairs, len(proposed))


def coulomb_proposals(source: Surfels, target: Surfels, threads: int = 1) -> Floats:
    """(24, 4, 4): where the source comes to rest from each of the 24 turns of a cube, drawn by the paper's potential.

    For clouds on which few places look alike. The softened Coulomb law (Eq. 13) lets every particle feel every other;
    its quadratic bound gives each a place to rest at, and one weighted fit of all moves the body. The softening
    falls from a third of the clouds' size to little, as the temperature does in annealing.
    """
    x, y = (surface.points[:: -(-len(surface) // PARTICLES)] for surface in (source, target))
    size = max(extent(x), extent(y))
    field = Particles(y, np.ones(len(y)), np.empty((len(y), 0)))
    found = []
    for turn in cube_rotations():
        motion = pose(turn, y.mean(axis=0) - turn @ x.mean(axis=0))
        for softening in np.geomspace(*SOFTENING, STEPS) * size:
            body = Particles(transform(motion, x), np.ones(len(x)), np.empty((len(x), 0)))
            pairs = pair_forces(body, field, ForceLaw.INVERSE_SQUARE, float(softening), threads)
            motion = fit_rigid_transform(body.points, pairs.weighted_means(body.points), pairs.weights) @ motion
        found.append(motion)
    return np.array(found)


def cube_rotations() -> list[Floats]:
    """The 24 rotations that carry a cube onto itself."""
    signed = (
        np.diag(signs) @ np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    )
    return [turn for turn in signed if np.linalg.det(turn) > 0]


def inlier_correspondences(
    source: Surfels, target: Surfels, motion: Floats, pairs: Correspondences
) -> NDArray[np.int64]:
    """Which of the pairs that look alike a pose brings together, face to face."""
    i, j = pairs
    apart = transform(motion, source.points[i]) - target.points[j]
    facing = np.einsum("ij,ij->i", source.normals[i] @ motion[:3, :3].T, target.normals[j])
    return np.flatnonzero((np.einsum("ij,ij->i", apart, apart) <= MEETING**2) & (facing >= FACING))


def are_distinct(a: Floats, b: Floats, source: Surfels) -> bool:
    """Whether two poses are two results, not one."""
    return len(_different(np.array([a, b]), source, DIFFERENT, 2)) == 2


def _different(poses: Floats, source: Surfels, apart: float, most: int) -> list[int]:
    """Of poses in their order, those that differ from all before them, up to so many."""
    placed = poses[:, :3, :3] @ _corners(source.points) + poses[:, :3, 3:]
    kept: list[int] = []
    for number, here in enumerate(placed):
        off = here - placed[kept]
        if np.all(np.einsum("nij,nij->nj", off, off).max(axis=1) > apart**2):
            kept.append(number)
        if len(kept) == most:
            break
    return kept


def _corners(points: Floats) -> Floats:
    """(3, 8) of a box that holds most of the points."""
    low, high = np.quantile(points, (0.05, 0.95), axis=0)
    return np.array([[(low, high)[bit >> axis & 1][axis] for bit in range(8)] for axis in range(3)])
