"""Where could the source lie? Poses that many matches agree on, ranked by how well the surfaces then meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg import _core
from graphreg.clouds import Floats
from graphreg.signatures import Matches, Signatures, matches
from graphreg.surfaces import Surface

# Lengths in coarse cells. Two matches agree if their distances do within this.
TOLERANCE = 1.5
# Matches looked at, poses proposed by them, poses refined.
MOST_MATCHES = 1024
MOST_POSES = 64
MOST_REFINED = 6
# How near is near: when poses are proposed, and after refinement.
FIRST_REACH, LAST_REACH = 2.0, 1.0
# Widths of the weights in the steps of refinement.
SCALES = np.array([2.0, 2.0, 1.5, 1.5, 1.2, 1.0, 1.0, 0.8, 0.7, 0.7])
# Poses are the same if they move no point of the source farther apart than this.
SAME = 2.0


@dataclass(frozen=True, eq=False)
class Candidates:
    """Poses, best first, each different from those before it.

    poses     (P, 4, 4)
    scores    (P,), 0 to 1: how much of the source meets the target
    matches   pairs of indices that look alike
    proposed  how many poses the matches proposed
    """

    poses: Floats
    scores: Floats
    matches: Matches
    proposed: int


def search(
    source: Surface,
    target: Surface,
    signatures: tuple[Signatures, Signatures],
    freedom: _core.Freedom,
    threads: int = 1,
) -> Candidates:
    """Find poses that lay the source on the target. Both have outward normals."""
    pairs = matches(*signatures, threads)
    step = -(-len(pairs[0]) // MOST_MATCHES) or 1
    i, j = pairs[0][::step], pairs[1][::step]
    proposed, _ = _core.hypotheses(
        source.points[i],
        source.normals[i],
        target.points[j],
        target.normals[j],
        TOLERANCE,
        MOST_POSES,
        freedom,
        threads,
    )
    first = target.field.score(proposed, source.points, source.normals, FIRST_REACH, threads)
    chosen = proposed[np.argsort(-first, kind="stable")[:MOST_REFINED]]
    refined = target.field.refine(chosen, source.points, source.normals, None, SCALES, freedom, threads)
    scores = target.field.score(refined, source.points, source.normals, LAST_REACH, threads)
    ranked = np.argsort(-scores, kind="stable")
    kept = _different(refined[ranked], source)
    return Candidates(refined[ranked][kept], scores[ranked][kept], pairs, len(proposed))


def _different(poses: Floats, source: Surface) -> list[int]:
    """Of poses in their order, those that differ from all before them."""
    corners = _corners(source.points)
    placed = [pose[:3, :3] @ corners + pose[:3, 3:] for pose in poses]
    kept: list[int] = []
    for number, here in enumerate(placed):
        if all(np.linalg.norm(here - placed[other], axis=0).max() > SAME for other in kept):
            kept.append(number)
    return kept


def _corners(points: Floats) -> Floats:
    """(3, 8) of a box that holds most of the points."""
    low, high = np.quantile(points, (0.05, 0.95), axis=0)
    return np.array([[(low, high)[bit >> axis & 1][axis] for bit in range(8)] for axis in range(3)])
