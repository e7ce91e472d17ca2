"""The verdict on a deformation: how much of the clouds it explains, and at what strain.

The confidence is a fitted probability that the deformation is right: that nine tenths of the points that the target
shows are within a twentieth of the source's extent of where they belong. Other bodies can be bent onto a target as
well, but at a higher strain, and without correspondences that agree; a wrong finger leaves a patch of the target that
nothing explains. The share of the whole target that is explained hardly tells it: outliers and thin walls lower it too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, Mask
from graphreg.nonrigid.local_correspondences import Correspondences
from graphreg.nonrigid.working_cloud import WorkingCloud


@dataclass(frozen=True)
class DeformationVerdictParameters:
    """Constants of the verdict. Lengths are in point spacings, or in extents of the source.

    Attributes
    ----------
    reach : float
        Distance within which points overlap, in spacings (chosen);
    across : float
        and that across the surface, in spacings (chosen).
    least_cosine : float
        Of the normals of points that overlap (chosen).
    agreement : float
        Distance within which a correspondence agrees, in extents (chosen).
    near_share, near_spacings : float
        A point of the target is explained by one of the source within so many extents, or spacings where that is more
        (chosen),
    candidates : int
        among so many nearest ones (chosen).
    patch : float
        Radius of a patch of the target, in extents (chosen).
    weakest : float
        Share of the patches that are less explained than the figure of the weakest (chosen).
    strains : tuple of float
        Strain below the first is noise, and above the second tells no more: there are bodies that stretch (chosen).
    logit : tuple of float
        A constant, and weights of the features in the order of `Evidence.features`; fitted to the 146
        runs of the experiment on deformation, which prints the constants that fit its own.
    least_agreeing : int
        Correspondences that agree with a success, at least: without them points may slide along the surface (chosen);
    least_margin : float
        and the margin before what a symmetry of the body leads to is so large (chosen):
    undecided : float
        else this is the largest confidence (chosen).
    success : float
        Least confidence of a success: on bodies not fitted to, all runs that are wrong had less.
    """

    reach: float = 2.5
    across: float = 1.0
    least_cosine: float = 0.5
    agreement: float = 0.03
    near_share: float = 0.02
    near_spacings: float = 2.0
    candidates: int = 8
    patch: float = 0.08
    weakest: float = 0.05
    strains: tuple[float, float] = (0.02, 0.05)
    logit: tuple[float, ...] = (-6.36, -5.57, 3.74, 2.71, -2.49)
    least_agreeing: int = 10
    least_margin: float = 0.07
    undecided: float = 0.5
    success: float = 0.97


VERDICT = DeformationVerdictParameters()


@dataclass(frozen=True)
class Evidence:
    """What the verdict follows from.

    Attributes
    ----------
    explained : float
        Share of the target that the deformed source overlaps.
    missing : float
        Share of the target in patches that are not explained for the most part;
    weakest : float
        and the share that is explained of the weakest of its patches.
    overlap : float
        Share of the source that overlaps the target.
    agreeing, tried : int
        Correspondences that agree with the deformation, and all that were matched.
    strain : float
        Root mean square over the source.
    inlier_rmse : float
        Of the overlap, across the surface, in the unit of the clouds; NaN without overlap.
    margin : float
        By what share the energy is higher from where a symmetry of the body takes it, with coherent point drift by how
        much the objective is higher for each point; infinite where the body has none.
    """

    explained: float
    missing: float
    weakest: float
    overlap: float
    agreeing: int
    tried: int
    strain: float
    inlier_rmse: float
    margin: float = np.inf

    def features(self) -> dict[str, float]:
        """Return the features of the logistic model."""
        return {
            "root of missing": float(np.sqrt(self.missing)),
            "weakest patch": self.weakest,
            "share agreeing": self.agreeing / max(self.tried, 1),
            "log strain": float(np.log(np.clip(self.strain, *VERDICT.strains))),
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
    target = target.facing_surface(moved, normals, spacing, threads)
    tree = _core.Tree(moved, threads)
    near = tree.nearest(target.points, 1, threads)[0][:, 0]
    explained, _ = _overlapping(moved[near], normals[near], target.points, target.normals, spacing)
    patches = _explained_patches(moved, normals, target, spacing, threads)
    near = _core.Tree(target.points, threads).nearest(moved, 1, threads)[0][:, 0]
    overlaps, distance = _overlapping(moved, normals, target.points[near], target.normals[near], spacing)
    agreeing = np.linalg.norm(ends - correspondences.target, axis=1) < VERDICT.agreement
    rmse = float(np.sqrt((distance[overlaps] ** 2).mean())) if overlaps.any() else float("nan")
    return Evidence(
        explained=float(explained.mean()),
        missing=float((patches < 0.5).mean()),
        weakest=float(np.quantile(patches, VERDICT.weakest)),
        overlap=float(overlaps.mean()),
        agreeing=int(np.count_nonzero(agreeing)),
        tried=correspondences.tried,
        strain=float(np.sqrt((strain**2).mean())),
        inlier_rmse=rmse,
    )


def _explained_patches(moved: Floats, normals: Floats, target: WorkingCloud, spacing: float, threads: int) -> Floats:
    """Share of the points around each target point that have one of the source near, with a like normal."""
    k = min(VERDICT.candidates, len(moved))
    near, squared = _core.Tree(moved, threads).nearest(target.points, k, threads)
    reach = max(VERDICT.near_share, VERDICT.near_spacings * spacing)
    cosine = np.einsum("nkj,nj->nk", normals[near], target.normals)
    explained = ((cosine > VERDICT.least_cosine) & (squared < reach**2)).any(axis=1).astype(float)
    offsets, around, _ = _core.Tree(target.points, threads).within(target.points, VERDICT.patch, threads)
    # Every point is in its own patch, so that none is empty.
    return np.asarray(np.add.reduceat(explained[around], offsets[:-1]) / np.diff(offsets))


def _overlapping(
    points: Floats, normals: Floats, others: Floats, directions: Floats, spacing: float
) -> tuple[Mask, Floats]:
    """Whether points overlap others, row by row, and the distances across the others' surface."""
    reach, across = VERDICT.reach * spacing, VERDICT.across * spacing
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
    probability = float(1 / (1 + np.exp(-np.clip(logit, -50, 50))))
    figures = (
        f"overlap {100 * evidence.overlap:.0f} %, {100 * evidence.explained:.0f} % of the target explained, "
        f"{evidence.agreeing} of {evidence.tried} correspondences agree, strain {100 * evidence.strain:.0f} %"
    )
    if probability < VERDICT.success:
        why = "the clouds may be of different bodies, or too much may have changed"
    elif evidence.agreeing < VERDICT.least_agreeing:
        probability = min(probability, VERDICT.undecided)
        why = "too few correspondences to tell where points are along the surface"
    elif evidence.margin < VERDICT.least_margin:
        probability = min(probability, VERDICT.undecided)
        why = "ambiguous: rotated by 180°, with its sides exchanged, the body fits nearly as well"
    else:
        return True, probability, f"deformed: {figures}"
    return False, probability, f"not deformed: {figures}; {why}"
