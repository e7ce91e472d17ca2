"""Refinement of a similarity: symmetric point-to-plane with seven unknowns, rotation, translation and log scale.

As in `refinement`, every point of each cloud is aligned to the surfels of the other: of one cloud alone, points off
its surfels' planes would make it shrink.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.engine.refinement import REFINEMENT, kernel_widths, refinement_voxel
from graphreg.engine.surfels import Surfels
from graphreg.poses import inverse_similarity, pose, rotation_from_vector, scale_of, transform


@dataclass(frozen=True)
class SimilarityRefinementParameters:
    """Constants of the refinement; chosen.

    Attributes
    ----------
    points : int
        Points of each cloud, evenly spaced ones of more.
    steps : int
        Steps at most;
    convergence : float
        none follows one that moves no point by more than this, in voxels.
    normal_noise : float
        Angles between normals that are noise, as 1 - cos: the weights of larger ones fall; as in rigid refinement.
    degenerate : float
        Directions with a smaller share of the largest eigenvalue of the normal equations are left unchanged.
    """

    points: int = 4_000
    steps: int = 8
    convergence: float = 2e-3
    normal_noise: float = 0.02
    degenerate: float = 1e-9


SIMILARITY_REFINEMENT = SimilarityRefinementParameters()


@dataclass(frozen=True, eq=False)
class OrientedPoints:
    """Points with normals and weights, and the surfels that points of the other cloud are aligned to."""

    points: Floats
    normals: Floats
    weights: Floats
    surfels: Surfels

    @staticmethod
    def of_surfels(surfels: Surfels) -> OrientedPoints:
        """Return the surfels themselves as points."""
        weights = np.ones(len(surfels)) if surfels.importance is None else surfels.importance
        return OrientedPoints(surfels.points, surfels.normals, weights, surfels)

    @staticmethod
    def of_cloud(pyramid: SurfelPyramid, voxel: float, threads: int = 1, most: int | None = None) -> OrientedPoints:
        """Return a cloud's points, in voxels, each with the normal of the surfel that it belongs to.

        With `most`, evenly spaced ones of more.
        """
        surfels = pyramid.surfels(voxel, threads)
        step = 1 if most is None else -(-len(pyramid.points) // most)
        points = np.ascontiguousarray(pyramid.points[::step] / voxel)
        own = surfels.grid.nearest(points, REFINEMENT.association_distance, threads)
        points, own = points[own >= 0], own[own >= 0]
        counts = np.bincount(own, minlength=len(surfels))
        weights = np.maximum(counts, 1) ** -0.5
        if surfels.importance is not None:
            weights *= surfels.importance
        return OrientedPoints(points, surfels.normals[own], weights[own], surfels)


@dataclass(frozen=True, eq=False)
class SimilarityEquations:
    """Normal equations of a small similarity about a centre, in the order rotation, translation, log scale.

    Attributes
    ----------
    information : (7, 7) ndarray
    gradient : (7,) ndarray
    weight, squared : float
        Sum of the weights, and weighted sum of squared residuals.
    positions : (N, 3) ndarray
        Of the correspondences, from the centre.
    gradients : (N, 7) ndarray
        What each of them adds to the gradient.
    """

    information: Floats
    gradient: Floats
    weight: float
    squared: float
    positions: Floats
    gradients: Floats

    def step(self, centre: Floats) -> Floats:
        """Return the similarity (4, 4) that minimises the linearised distances."""
        values, vectors = np.linalg.eigh(self.information)
        constrained = values > SIMILARITY_REFINEMENT.degenerate * max(values[-1], np.finfo(float).tiny)
        directions = vectors[:, constrained]
        solution = directions @ ((directions.T @ self.gradient) / values[constrained])
        linear = np.exp(solution[6]) * rotation_from_vector(solution[:3])
        return pose(linear, centre - linear @ centre + solution[3:6])


def similarity_equations(
    source: OrientedPoints, target: OrientedPoints, T: Floats, width: float, centre: Floats, threads: int = 1
) -> SimilarityEquations:
    """Return the normal equations at a similarity.

    Parameters
    ----------
    source, target : OrientedPoints
        In voxels of one size, or each in its own: the scale is that between the two.
    T : (4, 4) ndarray
        The similarity.
    width : float
        Of the robust kernel, in the target's voxels.
    centre : (3,) ndarray
        Rotations and scalings are about this point of the target's frame.
    threads : int, default 1
    """
    pairs = surfel_correspondences(source, target, T, width, threads)
    near = 1 - np.einsum("ij,ij->i", pairs.offset, pairs.offset) / (8 * width**2)
    residual = np.einsum("ij,ij->i", pairs.offset, pairs.normal)
    middle = pairs.x - 0.5 * pairs.offset - centre
    w = pairs.weights * near**4 / pairs.angle
    along = np.einsum("ij,ij->i", middle, pairs.normal)
    jacobian = np.column_stack([np.cross(middle, pairs.normal), pairs.normal, along])
    weighted = jacobian * w[:, None]
    gradients = -weighted * residual[:, None]
    return SimilarityEquations(
        weighted.T @ jacobian, gradients.sum(axis=0), float(w.sum()), float(w @ residual**2), middle, gradients
    )


@dataclass(frozen=True, eq=False)
class SurfelCorrespondences:
    """Points of each cloud with the nearest surfel of the other.

    Attributes
    ----------
    x : (N, 3) ndarray
        On the side of the source, transformed.
    offset : (N, 3) ndarray
        From the target's side to x.
    normal : (N, 3) ndarray
        The mean of both normals.
    weights : (N,) ndarray
        Of the points.
    angle : (N,) ndarray
        Of the normals, as 1 - cos and what of it is noise; it divides the weights.
    """

    x: Floats
    offset: Floats
    normal: Floats
    weights: Floats
    angle: Floats


def surfel_correspondences(
    source: OrientedPoints, target: OrientedPoints, T: Floats, width: float, threads: int = 1
) -> SurfelCorrespondences:
    """Return the correspondences of a similarity within reach of a robust kernel of a width, in the target's voxels."""
    rotation = T[:3, :3] / scale_of(T)
    moved = transform(T, source.points)
    nearest = target.surfels.grid.nearest(np.ascontiguousarray(moved), 2 * np.sqrt(2) * width, threads)
    rows = np.flatnonzero(nearest >= 0)
    other = nearest[rows]
    back = np.ascontiguousarray(transform(inverse_similarity(T), target.points))
    own = source.surfels.grid.nearest(back, 2 * np.sqrt(2) * width / scale_of(T), threads)
    seen = np.flatnonzero(own >= 0)
    own = own[seen]
    x = np.concatenate([moved[rows], transform(T, source.surfels.points[own])])
    nx = np.concatenate([source.normals[rows], source.surfels.normals[own]]) @ rotation.T
    y = np.concatenate([target.surfels.points[other], target.points[seen]])
    ny = np.concatenate([target.surfels.normals[other], target.normals[seen]])
    weights = np.concatenate([source.weights[rows], target.weights[seen]])
    offset = x - y
    cosine = np.einsum("ij,ij->i", nx, ny)
    near = 1 - np.einsum("ij,ij->i", offset, offset) / (8 * width**2)
    chosen = (near > 0) & (cosine > 0)
    cosine = cosine[chosen]
    normal = (nx[chosen] + ny[chosen]) / np.sqrt(2 + 2 * cosine)[:, None]
    angle = 1 - cosine + SIMILARITY_REFINEMENT.normal_noise
    return SurfelCorrespondences(x[chosen], offset[chosen], normal, weights[chosen], angle)


def refine_similarity(T: Floats, source: SurfelPyramid, target: SurfelPyramid, threads: int = 1) -> Floats:
    """Refine a similarity that is nearly right.

    Parameters
    ----------
    T : (4, 4) ndarray
        Between the pyramids, translation in coarse voxels; scale 1 where the pyramids have the same scale.
    source, target : SurfelPyramid
    threads : int, default 1

    Returns
    -------
    (4, 4) ndarray
    """
    voxel = refinement_voxel(source, target)
    unit = target.coarse_voxel / voxel
    most = SIMILARITY_REFINEMENT.points
    x, y = (OrientedPoints.of_cloud(pyramid, voxel, threads, most) for pyramid in (source, target))
    radius = float(np.sqrt((y.points**2).sum(axis=1).mean()))
    widths = kernel_widths(x.surfels, y.surfels)
    estimate = pose(T[:3, :3], T[:3, 3] * unit)
    for number in range(SIMILARITY_REFINEMENT.steps):
        width = float(widths[min(number, len(widths) - 1)])
        centre = transform(estimate, x.points).mean(axis=0)
        equations = similarity_equations(x, y, estimate, width, centre, threads)
        if not equations.weight > 0:
            break
        step = equations.step(centre)
        estimate = step @ estimate
        moved = (
            np.abs(step[:3, :3] - np.eye(3)).max() * radius + np.abs(step[:3, :3] @ centre + step[:3, 3] - centre).max()
        )
        if number >= len(widths) - 1 and moved < SIMILARITY_REFINEMENT.convergence:
            break
    return pose(estimate[:3, :3], estimate[:3, 3] / unit)
