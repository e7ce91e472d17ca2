"""Whether surfaces determine the scale between two clouds: the covariance with it, and what the verdict says of it.

A scale is not determined by surfaces that scaling about some point leaves unchanged: by one plane, or by three that
meet in a corner, but also by any other cone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.ambiguity import AMBIGUITY, least_difference, surfels_off_the_surface
from graphreg.engine.evidence import PairEvidence, in_fine_voxels
from graphreg.engine.observability import OBSERVABILITY, Observability, inflation_of, median_roughness
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.engine.similarity_refinement import OrientedPoints, SimilarityEquations, similarity_equations
from graphreg.engine.verdict import VERDICT, Verdict
from graphreg.poses import pose, rotation_from_vector, transform

SCALE = "scale"
"""The scale among degenerate directions."""


@dataclass(frozen=True)
class ScaleObservabilityParameters:
    """Constants of the covariance with a scale.

    Attributes
    ----------
    patch : float
        Edge of the cubes within which residuals may be alike, in root mean square distances from the centre; chosen.
    correlated : float
        Factor of the covariance that follows from such residuals; fitted on pairs of synthetic scans and of synthetic
        photogrammetric clouds and scans. `graphreg bench scale` prints the fit, and tries it on real scans.
    """

    patch: float = 0.5
    correlated: float = 5.0


SCALE_OBSERVABILITY = ScaleObservabilityParameters()
# Distinct numbers for cubes less than 1000 apart.
CUBE_STRIDES = np.array([1, 2_000, 4_000_000])


def judge_scale(verdict: Verdict, source: SurfelPyramid, target: SurfelPyramid, T: Floats, threads: int = 1) -> Verdict:
    """Return the verdict on a pose of a scaled source, with the covariance of pose and scale.

    Parameters
    ----------
    verdict : Verdict
        On the pose.
    source, target : SurfelPyramid
        Of the scaled source and the target.
    T : (4, 4) ndarray
        Rigid, between the pyramids; translation in coarse voxels.
    threads : int, default 1

    Returns
    -------
    Verdict
        No success where the surfaces do not determine the scale.
    """
    observability = verdict.observability
    if observability is None:
        return verdict
    independent, correlated = _covariances(source, target, T, verdict.evidence.overlap, observability, threads)
    covariance = independent + SCALE_OBSERVABILITY.correlated * correlated
    directions = observability.degenerate_directions
    if not _scale_is_determined(source, target, T, observability.centre, threads):
        directions = (*directions, SCALE)
    observability = replace(
        observability, covariance=covariance, degenerate_directions=directions, correlated=correlated
    )
    if SCALE not in directions:
        return replace(verdict, observability=observability)
    reason, confidence = verdict.reason, min(verdict.confidence, VERDICT.ambiguous_share * verdict.probability)
    finding, _, rest = reason.partition(": ")
    if verdict.success or finding == "not determined":
        rest = rest if verdict.success else rest.partition("; ")[2]
        reason = f"not determined: unconstrained {', '.join(directions)}; {rest}"
    return replace(verdict, success=False, confidence=confidence, reason=reason, observability=observability)


def _covariances(
    source: SurfelPyramid,
    target: SurfelPyramid,
    T: Floats,
    overlap: float,
    observability: Observability,
    threads: int,
) -> tuple[Floats, Floats]:
    """(7, 7) each: rotations, translations, log scale about the centre of the overlap.

    The first is that of independent residuals, inflated as that of a rigid transform; the second that of residuals
    which neighbours share.
    """
    voxel = target.fine_voxel
    centre = transform(target.T_local_cloud, observability.centre[None])[0] / voxel
    x, y = OrientedPoints.of_surfels(source.fine), OrientedPoints.of_surfels(target.fine)
    equations = similarity_equations(x, y, in_fine_voxels(T, target), OBSERVABILITY.kernel, centre, threads)
    information = equations.information
    floor = max(float(np.trace(information)), np.finfo(float).tiny) * 1e-12
    count = max(overlap * len(source.fine), 1.0)
    inverse_information = np.linalg.inv(information + floor * np.eye(7))
    axes = np.eye(7)
    axes[:3, :3] = axes[3:6, 3:6] = target.T_local_cloud[:3, :3].T
    axes *= np.array([1.0] * 3 + [voxel] * 3 + [1.0])[:, None]
    inflation = inflation_of(median_roughness(source, target), OBSERVABILITY.inflation)
    independent = inverse_information * (equations.squared / count) * inflation
    correlated = inverse_information @ sum_over_patches(equations) @ inverse_information
    return np.asarray(axes @ independent @ axes.T), np.asarray(axes @ correlated @ axes.T)


def sum_over_patches(equations: SimilarityEquations) -> Floats:
    r"""Return the covariance (7, 7) of the gradient where residuals of a patch may be alike.

    :math:`\sum_p g_p g_p^T`, :math:`g_p` the sum of the gradients of the correspondences of patch p: the middle of the
    cluster-robust ("sandwich") covariance :math:`A^{-1} (\sum_p g_p g_p^T) A^{-1}`. If residuals are independent, it is
    as large as that of single correspondences; scanners that bend a surface, and smoothing, make it larger. It is the
    mean of two divisions into cubes, the second shifted by half an edge.
    """
    radius = float(np.sqrt((equations.positions**2).sum(axis=1).mean())) if len(equations.positions) else 1.0
    total = np.zeros((7, 7))
    for shift in (0.0, 0.5):
        cubes = np.floor(equations.positions / (SCALE_OBSERVABILITY.patch * radius) + shift).astype(np.int64)
        patch = np.unique(cubes @ CUBE_STRIDES, return_inverse=True)[1].reshape(-1)
        sums = np.stack([np.bincount(patch, column) for column in equations.gradients.T], axis=1)
        total += 0.5 * sums.T @ sums
    return total


def _scale_is_determined(
    source: SurfelPyramid, target: SurfelPyramid, T: Floats, centre_in_target: Floats, threads: int
) -> bool:
    """Whether the coarse surfels have information on the scale, whatever the pose, or else details have."""
    centre = transform(target.T_local_cloud, centre_in_target[None])[0] / target.coarse_voxel
    x, y = OrientedPoints.of_surfels(source.coarse), OrientedPoints.of_surfels(target.coarse)
    equations = similarity_equations(x, y, T, OBSERVABILITY.kernel, centre, threads)
    if not equations.weight > 0:
        return True  # of no contacts, the verdict on the pose says what there is to say
    moved = transform(T, source.coarse.points)
    overlap = moved[target.coarse.grid.nearest(moved, 1.0, threads) >= 0]
    radius = float(np.sqrt(((overlap - centre) ** 2).sum(axis=1).mean())) if len(overlap) else 1.0
    lengths = np.array([1 / radius] * 3 + [1.0] * 3 + [1 / radius])
    relative = equations.information * np.outer(lengths, lengths) / equations.weight
    # Scale the source by a unit, and let the pose follow: what remains is the information on the scale alone.
    follow = -np.linalg.pinv(relative[:6, :6], rcond=1e-6, hermitian=True) @ relative[:6, 6]
    direction = np.append(follow, 1.0)
    information = float(direction @ relative @ direction) / float(direction @ direction)
    residual = float(np.sqrt(equations.squared / equations.weight))
    if information >= OBSERVABILITY.least_information + OBSERVABILITY.information_of_noise * residual**4:
        return True
    here = surfels_off_the_surface(PairEvidence(source, target, threads), T, threads)
    limit = here + least_difference(here)
    for sign in (1.0, -1.0):
        step = sign * AMBIGUITY.step * direction / np.linalg.norm(direction) * lengths
        scale, rotation = float(np.exp(step[6])), rotation_from_vector(step[:3])
        changed = source.scaled(scale)
        # x -> c + s R (x - c) + t after T; the scale goes into the source.
        moved_pose = pose(rotation @ T[:3, :3], scale * rotation @ (T[:3, 3] - centre) + centre + step[3:6])
        if surfels_off_the_surface(PairEvidence(changed, target, threads), moved_pose, threads) <= limit:
            return False
    return True
