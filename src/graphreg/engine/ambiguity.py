"""Ambiguity: poses that fit equally well at the coarse resolution are compared at the fine one.

A boss on a plate, a mark on a cylinder: what breaks a symmetry may be far smaller than what is symmetric. At a wrong
pose such a feature is off the other cloud's surface, and so is what it should have coincided with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats, Mask
from graphreg.engine.evidence import EVIDENCE, PairEvidence, PoseEvaluation, in_fine_voxels
from graphreg.engine.hypotheses import SEARCH
from graphreg.engine.observability import degenerate_steps
from graphreg.engine.pose_sets import box_corners, distinct_poses
from graphreg.engine.refinement import FineRefinement
from graphreg.engine.surfels import Surfels
from graphreg.poses import inverse, transform


@dataclass(frozen=True)
class AmbiguityParameters:
    """Constants of the comparison; all chosen.

    Attributes
    ----------
    height : float
        A surfel this far above or below the other cloud's surface is off it, in voxels;
    height_per_roughness : float
        and in units of the median roughness, if that is more.
    reach : float
        Farther away it may be where the other scan saw nothing, in voxels.
    border : float
        Surfels whose neighbours lie to one side are where the scan ends, and say nothing: the mean of the neighbours is
        this far away along the surface, as a share of their mean distance.
    step : float
        Distance that a pose is moved along a degenerate direction, in coarse voxels.
    least, deviations, share : float
        A pose is refuted by another one with fewer surfels off the surface if the difference exceeds this number plus
        so many standard deviations of the count, and this share of it.
    """

    height: float = 1.0
    height_per_roughness: float = 4.0
    reach: float = 2.4
    border: float = 0.35
    step: float = 3.0
    least: float = 8.0
    deviations: float = 4.0
    share: float = 0.5


AMBIGUITY = AmbiguityParameters()


def compare_similar_poses(
    evidence: PairEvidence,
    poses: Floats,
    evaluation: PoseEvaluation,
    refine: FineRefinement,
    threads: int = 1,
) -> tuple[Floats, PoseEvaluation]:
    """Refine poses that fit as well as the first one, and put the one first that explains most of the details.

    Parameters
    ----------
    evidence : PairEvidence
    poses : (P, 4, 4) ndarray
        Best first; translations in coarse voxels.
    evaluation : PoseEvaluation
        Of the poses.
    refine : FineRefinement
        Of the two clouds.
    threads : int, default 1

    Returns
    -------
    poses : (P, 4, 4) ndarray
        In their new order.
    evaluation : PoseEvaluation
        With what is unexplained at each of them.
    """
    similar = np.flatnonzero(evaluation.similarities() >= EVIDENCE.ambiguous_similarity)
    if len(similar) < 2:
        return poses, evaluation
    poses = poses.copy()
    unexplained = np.zeros(len(poses))
    for number in similar:
        poses[number] = refine.surfel_steps(poses[number], threads)
        unexplained[number] = surfels_off_the_surface(evidence, poses[number], threads)
    evaluation = replace(evaluation, unexplained=unexplained, limit=least_difference(unexplained[similar].min()))
    order = np.arange(len(poses))
    best = similar[np.argmin(unexplained[similar])]
    if unexplained[0] > unexplained[best] + evaluation.limit:
        order = np.concatenate([[best], np.delete(order, best)])
    # Fine refinement may lead several to the same pose.
    corners = box_corners(evidence.source.coarse.points)
    order = order[distinct_poses(poses[order], corners, SEARCH.converged, len(order))]
    return poses[order], evaluation.select(order)


def details_determine(evidence: PairEvidence, T: Floats, free: tuple[bool, ...], threads: int = 1) -> bool:
    """Return whether details constrain a pose in all directions that the surfaces as a whole do not.

    Moved along such a direction, forwards or backwards, the pose leaves significantly more surfels unexplained.
    """
    here = surfels_off_the_surface(evidence, T, threads)
    limit = here + least_difference(here)
    steps = degenerate_steps(evidence.source, evidence.target, T, free, AMBIGUITY.step, threads)
    return all(surfels_off_the_surface(evidence, moved, threads) > limit for both in steps for moved in both)


def least_difference(count: float) -> float:
    """Return how many more surfels than these have to be off the surface for a pose to be refuted."""
    return float(max(AMBIGUITY.least + AMBIGUITY.deviations * np.sqrt(count), AMBIGUITY.share * count))


def surfels_off_the_surface(evidence: PairEvidence, T: Floats, threads: int = 1) -> int:
    """Return the number of surfels of both clouds, fine and coarse, that are close to the other cloud but off it.

    Fine ones show small features, coarse ones those that are too high for the fine resolution.
    """
    source, target = evidence.source, evidence.target
    levels = (source.fine, target.fine, in_fine_voxels(T, target)), (source.coarse, target.coarse, T)
    return sum(_off_surface(x, y, pose, threads) + _off_surface(y, x, inverse(pose), threads) for x, y, pose in levels)


def _off_surface(moving: Surfels, fixed: Surfels, T: Floats, threads: int) -> int:
    roughness = float(np.median(np.concatenate([moving.roughness, fixed.roughness])))
    height = max(AMBIGUITY.height, AMBIGUITY.height_per_roughness * roughness)
    moved = transform(T, moving.points)
    nearest = fixed.grid.nearest(moved, AMBIGUITY.reach, threads)
    close = nearest >= 0
    nearest = nearest[close]
    offset = moved[close] - fixed.points[nearest]
    above = np.abs(np.einsum("ij,ij->i", offset, fixed.normals[nearest]))
    beside = np.sqrt(np.maximum(np.einsum("ij,ij->i", offset, offset) - above**2, 0))
    off = nearest[(above > height) & (beside <= 1)]
    return int(np.count_nonzero(~_at_border(fixed, off)))


def _at_border(surfels: Surfels, rows: NDArray[np.int32]) -> Mask:
    """Which of the surfels are at the border of what the scan saw."""
    offsets = surfels.points[surfels.neighbours[rows]] - surfels.points[rows][:, None]
    mean, normals = offsets.mean(axis=1), surfels.normals[rows]
    along = mean - np.einsum("ij,ij->i", mean, normals)[:, None] * normals
    distance = np.linalg.norm(offsets, axis=2).mean(axis=1)
    return np.asarray(np.linalg.norm(along, axis=1) > AMBIGUITY.border * distance)
