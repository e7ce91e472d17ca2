"""Fine refinement with a robust loss: symmetric point-to-plane, reweighted by the residuals along the normals.

The engine's own weights fall with the distance of a point from its surfel. Here all correspondences within their reach
count, as much as the loss of their residual says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.engine.refinement import REFINEMENT, kernel_widths
from graphreg.engine.similarity_refinement import (
    SIMILARITY_REFINEMENT,
    OrientedPoints,
    SurfelCorrespondences,
    surfel_correspondences,
)
from graphreg.poses import pose, rotation_from_vector
from graphreg.robust.losses import Loss, RobustWeights


@dataclass(frozen=True)
class RobustRefinementParameters:
    """Constants of the refinement; chosen.

    Attributes
    ----------
    steps : int
        Steps at most: the scale of the loss has to converge with the pose.
    smallest_scale : float
        Of residuals, in voxels.
    """

    steps: int = 15
    smallest_scale: float = 1e-9


ROBUST_REFINEMENT = RobustRefinementParameters()


def refine_with_loss(
    T: Floats, source: SurfelPyramid, target: SurfelPyramid, voxel: float, loss: Loss, threads: int = 1
) -> Floats:
    """Refine a rigid transform that is right up to what the weights of correspondences change.

    Parameters
    ----------
    T : (4, 4) ndarray
        Between the pyramids, translation in coarse voxels.
    source, target : SurfelPyramid
    voxel : float
        Size of the surfels' voxels, in the unit of the data.
    loss : Loss
    threads : int, default 1

    Returns
    -------
    (4, 4) ndarray
        As `T`.
    """
    unit = target.coarse_voxel / voxel
    x, y = (OrientedPoints.of_cloud(pyramid, voxel, threads) for pyramid in (source, target))
    width = float(kernel_widths(x.surfels, y.surfels)[-1])
    robust = RobustWeights(loss, ROBUST_REFINEMENT.smallest_scale * voxel, width * voxel)
    estimate = pose(T[:3, :3], T[:3, 3] * unit)
    for _ in range(ROBUST_REFINEMENT.steps):
        step, size = _step(surfel_correspondences(x, y, estimate, width, threads), voxel, robust)
        estimate = step @ estimate
        if size <= REFINEMENT.convergence:
            break
    return pose(estimate[:3, :3], estimate[:3, 3] / unit)


def _step(pairs: SurfelCorrespondences, voxel: float, robust: RobustWeights) -> tuple[Floats, float]:
    """One reweighted Gauss-Newton step and its largest entry, in voxels and radians."""
    if not len(pairs.x):
        return np.eye(4), 0.0
    residual = np.einsum("ij,ij->i", pairs.offset, pairs.normal)
    weights = pairs.weights / pairs.angle * robust(residual * voxel)[1]
    centre = pairs.x.mean(axis=0)
    jacobian = np.column_stack([np.cross(pairs.x - 0.5 * pairs.offset - centre, pairs.normal), pairs.normal])
    weighted = jacobian * weights[:, None]
    values, vectors = np.linalg.eigh(weighted.T @ jacobian)
    constrained = values > SIMILARITY_REFINEMENT.degenerate * max(values[-1], np.finfo(float).tiny)
    directions = vectors[:, constrained]
    solution = directions @ ((directions.T @ -(weighted.T @ residual)) / values[constrained])
    rotation = rotation_from_vector(solution[:3])
    return pose(rotation, centre - rotation @ centre + solution[3:]), float(np.abs(solution).max())
