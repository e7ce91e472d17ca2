"""Evidence for a pose: overlap, residual, and inlier correspondences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.engine.descriptors import Correspondences
from graphreg.engine.hypotheses import inlier_correspondences
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.poses import transform

OVERLAP_DISTANCE = 1.5
"""Fine surfels closer than this overlap, in fine voxels; chosen."""


@dataclass(frozen=True)
class Evidence:
    """What speaks for a pose.

    Attributes
    ----------
    overlap : float
        Share of the source's fine surfels that have a target surfel within 1.5 fine voxels.
    inlier_rmse : float
        Root-mean-square distance of these from the target's surface, in the unit of the data; NaN without overlap.
    correspondences : int
        Putative correspondences.
    inliers : int
        How many of them the pose makes inliers.
    """

    overlap: float
    inlier_rmse: float
    correspondences: int
    inliers: int


def gather_evidence(
    source: SurfelPyramid, target: SurfelPyramid, T: Floats, correspondences: Correspondences, threads: int = 1
) -> tuple[Evidence, Mask]:
    """Return the evidence for a pose, and which fine surfels of the source overlap the target.

    `T` is a transform between the pyramids, its translation in coarse voxels.
    """
    moved = transform(in_fine_voxels(T, target), source.fine.points)
    nearest = target.fine.grid.nearest(moved, OVERLAP_DISTANCE, threads)
    overlapping = nearest >= 0
    overlap = float(overlapping.mean())
    offset = (moved - target.fine.points[nearest])[overlapping]
    residual = np.einsum("ij,ij->i", offset, target.fine.normals[nearest[overlapping]])
    rmse = float(np.sqrt((residual**2).mean())) * target.fine_voxel if overlap else float("nan")
    inliers = len(inlier_correspondences(source.coarse, target.coarse, T, correspondences))
    return Evidence(overlap, rmse, len(correspondences[0]), inliers), overlapping


def in_fine_voxels(T: Floats, target: SurfelPyramid) -> Floats:
    """Return a transform with its translation in fine instead of coarse voxels."""
    fine: Floats = T.copy()
    fine[:3, 3] *= target.coarse_voxel / target.fine_voxel
    return fine
