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
from graphreg.engine.free_space import seen_through
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
    seen_through : float
        It is refuted too if so much more is seen through, as a share.
    """

    height: float = 1.0
    height_per_roughness: float = 4.0
    reach: float = 2.4
    border: float = 0.35
    step: float = 3.0
    least: float = 8.0
    deviations: float = 4.0
    share: float = 0.5
    seen_through: float = 0.1


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
        With those that the details refute.
    """
    # A wrong pose may overlap far more than the right one: what overlaps less is compared as well.
    ratios = evaluation.information / max(float(evaluation.information[0]), 1.0)
    ratios[0] = 1.0  # the others are compared with it, however little information it has
    similar = np.flatnonzero(ratios >= EVIDENCE.ambiguous_similarity)
    if len(similar) < 2:
        return poses, evaluation
    poses = poses.copy()
    details: dict[int, PoseDetails] = {}
    for number in similar.tolist():
        poses[number] = refine.surfel_steps(poses[number], threads)
        details[number] = details_at(evidence, poses[number], threads)
    better = [number for number in details if details[number].refute(details[0])]
    first = min([0, *better], key=lambda number: details[number].share)
    refuted = np.array([n in details and details[first].refute(details[n]) for n in range(len(poses))])
    evaluation = replace(evaluation, refuted=refuted)
    order = np.concatenate([[first], np.delete(np.arange(len(poses)), first)])
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


@dataclass(frozen=True)
class PoseDetails:
    """How the details of two clouds agree at a pose.

    Attributes
    ----------
    off : tuple of int
        Number of surfels of both clouds that are close to the other cloud but off its surface: of the fine ones, which
        show small features, and of the coarse ones, which show those that are too high for the fine resolution.
    compared : tuple of int
        Number of surfels of both clouds that have a surface of the other one above or below them, fine and coarse.
    seen_through : float
        As in `Evidence`.
    """

    off: tuple[int, int]
    compared: tuple[int, int]
    seen_through: float

    @property
    def share(self) -> float:
        """Surfels off the surface, as a share of those compared."""
        off, compared = self.total
        return off / max(compared, 1)

    def refute(self, other: PoseDetails) -> bool:
        """Return whether the details refute the other pose: something speaks against it, and nothing against this one.

        Significantly more of its surfels are off the surface, or more is seen through; neither holds for this one, nor
        are more of its fine or of its coarse surfels alone.
        """
        against = _are_more(other.total, self.total) or other.seen_through > self.seen_through + AMBIGUITY.seen_through
        levels = zip(self.off, self.compared, other.off, other.compared, strict=True)
        contradicted = any(_are_more((off, compared), (others_off, all)) for off, compared, others_off, all in levels)
        contradicted |= self.seen_through > other.seen_through + AMBIGUITY.seen_through
        return against and not contradicted and not _are_more(self.total, other.total)

    @property
    def total(self) -> tuple[int, int]:
        """Surfels off the surface and surfels compared, fine and coarse."""
        return sum(self.off), sum(self.compared)


def _are_more(here: tuple[int, int], there: tuple[int, int]) -> bool:
    """Whether significantly more surfels are off the surface than elsewhere, in number and as a share."""
    off, compared = here
    others_off, others_compared = there
    # Where more overlaps, more is off the surface as well.
    expected = others_off * max(compared / max(others_compared, 1), 1.0)
    return off > expected + least_difference(expected)


def details_at(evidence: PairEvidence, T: Floats, threads: int = 1) -> PoseDetails:
    """Return how the details of both clouds agree at a pose."""
    source, target = evidence.source, evidence.target
    levels = (source.fine, target.fine, in_fine_voxels(T, target)), (source.coarse, target.coarse, T)
    counts = [
        np.add(_off_surface(x, y, pose, threads), _off_surface(y, x, inverse(pose), threads)) for x, y, pose in levels
    ]
    (fine_off, fine), (coarse_off, coarse) = ((int(off), int(compared)) for off, compared in counts)
    return PoseDetails((fine_off, coarse_off), (fine, coarse), seen_through(source, target, T))


def surfels_off_the_surface(evidence: PairEvidence, T: Floats, threads: int = 1) -> int:
    """Return the number of surfels of both clouds, fine and coarse, that are close to the other cloud but off it."""
    return sum(details_at(evidence, T, threads).off)


def _off_surface(moving: Surfels, fixed: Surfels, T: Floats, threads: int) -> tuple[int, int]:
    """How many surfels are off the surface, and how many were compared."""
    roughness = float(np.median(np.concatenate([moving.roughness, fixed.roughness])))
    height = max(AMBIGUITY.height, AMBIGUITY.height_per_roughness * roughness)
    moved = transform(T, moving.points)
    nearest = fixed.grid.nearest(moved, AMBIGUITY.reach, threads)
    close = nearest >= 0
    nearest = nearest[close]
    offset = moved[close] - fixed.points[nearest]
    above = np.abs(np.einsum("ij,ij->i", offset, fixed.normals[nearest]))
    opposite = np.einsum("ij,ij->i", offset, offset) - above**2 <= 1
    off = nearest[(above > height) & opposite]
    return int(np.count_nonzero(~_at_border(fixed, off))), int(np.count_nonzero(opposite))


def _at_border(surfels: Surfels, rows: NDArray[np.int32]) -> Mask:
    """Which of the surfels are at the border of what the scan saw."""
    offsets = surfels.points[surfels.neighbours[rows]] - surfels.points[rows][:, None]
    mean, normals = offsets.mean(axis=1), surfels.normals[rows]
    along = mean - np.einsum("ij,ij->i", mean, normals)[:, None] * normals
    distance = np.linalg.norm(offsets, axis=2).mean(axis=1)
    return np.asarray(np.linalg.norm(along, axis=1) > AMBIGUITY.border * distance)
