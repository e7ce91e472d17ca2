"""The verdict on a deformation: how much of the clouds it explains, and at what strain.

A deformation is judged by four figures: the share of the target that it explains, the share of the source that overlaps
the target, the number of correspondences that agree with it, and its strain. Other bodies can be bent onto a target as
well, but at a higher strain, and without correspondences that agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.nonrigid.local_correspondences import Correspondences
from graphreg.nonrigid.working_cloud import WorkingCloud


@dataclass(frozen=True)
class DeformationVerdictParameters:
    """Constants of the verdict. Lengths are in point spacings.

    Attributes
    ----------
    reach : float
        Distance within which points overlap (chosen);
    across : float
        and that across the surface (chosen).
    agreement : float
        Distance within which a correspondence agrees, in extents of the source (chosen).
    least_cosine : float
        Of the normals of points that overlap (chosen).
    logit : tuple of float
        A constant, and weights of the features in the order of `Evidence.features` (chosen; the experiment on
        deformation prints those that fit its runs).
    success : float
        Least confidence of a success (chosen).
    least_explained : float
        Share of the target that a success explains at least (chosen): a hand with a wrong finger explains most of it;
    sure_agreeing : float
        unless this share of the correspondences agrees (chosen): what the source does not show, it cannot explain.
    """

    reach: float = 2.5
    across: float = 1.0
    agreement: float = 0.03
    least_cosine: float = 0.5
    logit: tuple[float, ...] = (-15.0, 14.0, 4.0, 0.7, 1.0, -10.0)
    success: float = 0.9
    least_explained: float = 0.85
    sure_agreeing: float = 0.85


VERDICT = DeformationVerdictParameters()


@dataclass(frozen=True)
class Evidence:
    """What the verdict follows from.

    Attributes
    ----------
    explained : float
        Share of the target that the deformed source overlaps.
    overlap : float
        Share of the source that overlaps the target.
    agreeing, tried : int
        Correspondences that agree with the deformation, and all that were matched.
    strain : float
        Root mean square over the source.
    inlier_rmse : float
        Of the overlap, across the surface, in the unit of the clouds; NaN without overlap.
    """

    explained: float
    overlap: float
    agreeing: int
    tried: int
    strain: float
    inlier_rmse: float

    @property
    def share_agreeing(self) -> float:
        """Share of the correspondences that agree with the deformation."""
        return self.agreeing / max(self.tried, 1)

    def features(self) -> dict[str, float]:
        """Return the features of the logistic model."""
        return {
            "explained": self.explained,
            "overlap": self.overlap,
            "log agreeing": float(np.log1p(self.agreeing)),
            "share agreeing": self.share_agreeing,
            "strain": min(self.strain, 1.0),
        }


def gather_evidence(
    moved: Floats,
    normals: Floats,
    target: WorkingCloud,
    spacing: float,
    ends: Floats,
    correspondences: Correspondences,
    strain: Floats,
    threads: int,
) -> Evidence:
    """Compare a deformed source with the target.

    Parameters
    ----------
    moved, normals : (N, 3) ndarray
        The deformed source.
    target : WorkingCloud
    spacing : float
        The larger point spacing of both clouds.
    ends : (C, 3) ndarray
        Where the deformation takes the source's points of the correspondences.
    correspondences : Correspondences
    strain : (N,) ndarray
    threads : int

    Returns
    -------
    Evidence
    """
    reach, across = VERDICT.reach * spacing, VERDICT.across * spacing
    target = target.facing_surface(moved, normals, spacing, threads)
    tree = _core.Tree(moved, threads)
    near = tree.nearest(target.points, 1, threads)[0][:, 0]
    explained, _ = _overlapping(moved[near], normals[near], target.points, target.normals, reach, across)
    near = _core.Tree(target.points, threads).nearest(moved, 1, threads)[0][:, 0]
    overlaps, distance = _overlapping(moved, normals, target.points[near], target.normals[near], reach, across)
    agreeing = np.linalg.norm(ends - correspondences.target, axis=1) < VERDICT.agreement
    rmse = float(np.sqrt((distance[overlaps] ** 2).mean())) if overlaps.any() else float("nan")
    return Evidence(
        float(explained.mean()),
        float(overlaps.mean()),
        int(np.count_nonzero(agreeing)),
        correspondences.tried,
        float(np.sqrt((strain**2).mean())),
        rmse,
    )


def _overlapping(
    points: Floats, normals: Floats, others: Floats, directions: Floats, reach: float, across: float
) -> tuple[Floats, Floats]:
    """Whether points overlap others, row by row, and the distances across the others' surface."""
    offset = points - others
    distance = np.abs(np.einsum("ij,ij->i", offset, directions))
    agree = np.einsum("ij,ij->i", normals, directions) > VERDICT.least_cosine
    return agree & (distance < across) & ((offset**2).sum(axis=1) < reach**2), distance


def judge_deformation(evidence: Evidence) -> tuple[bool, float, str]:
    """Return success, confidence and the reason in one sentence.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    success : bool
    confidence : float
    reason : str
    """
    constant, *weights = VERDICT.logit
    logit = constant + float(np.dot(weights, list(evidence.features().values())))
    confidence = float(1 / (1 + np.exp(-np.clip(logit, -50, 50))))
    complete = evidence.explained >= VERDICT.least_explained or evidence.share_agreeing >= VERDICT.sure_agreeing
    success = confidence >= VERDICT.success and complete
    figures = (
        f"overlap {100 * evidence.overlap:.0f} %, {100 * evidence.explained:.0f} % of the target explained, "
        f"{evidence.agreeing} of {evidence.tried} correspondences agree, strain {100 * evidence.strain:.0f} %"
    )
    if success:
        return True, confidence, f"deformed: {figures}"
    why = "the clouds may be of different bodies, or too much may have changed"
    return False, confidence, f"not deformed: {figures}; {why}"
