"""Fine refinement: symmetric point-to-plane, every point of each cloud to the surfels of the other.

Surfel-to-surfel steps are fast, but the pose then depends on how the voxel grid divides the clouds. Points do not.
Those of one cloud alone would bias the pose towards where they happen to be; both together do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.preprocessing import map_pair
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.engine.surfels import Surfels


@dataclass(frozen=True)
class RefinementParameters:
    """Constants of fine refinement; all chosen. Lengths in fine voxels.

    Attributes
    ----------
    kernel : tuple of float
        Widths of the robust kernel in the surfel-to-surfel steps.
    kernel_per_roughness, widest_kernel : float
        On rough surfels the kernel stays wider: this times the median roughness, and at most so wide.
    most_roughness : float
        Voxels grow until the median roughness of their surfels is no larger.
    association_distance : float
        A point belongs to the nearest surfel of its own cloud if it is closer than this.
    max_steps : int
        Symmetric steps at most;
    convergence : float
        none follows one that is smaller than this, in voxels and radians.
    """

    kernel: tuple[float, ...] = (1.5, 1.0, 0.7, 0.5, 0.5)
    kernel_per_roughness: float = 4.0
    widest_kernel: float = 1.2
    most_roughness: float = 0.35
    association_distance: float = 1.5
    max_steps: int = 4
    convergence: float = 1e-3


REFINEMENT = RefinementParameters()


def refine_finely(
    source: SurfelPyramid,
    target: SurfelPyramid,
    T: Floats,
    free: tuple[bool, ...],
    pivot: Floats,
    fixed_voxel: bool,
    threads: int = 1,
) -> Floats:
    """Refine a pose that is nearly right as far as the points allow.

    Parameters
    ----------
    source, target : SurfelPyramid
    T : (4, 4) ndarray
        Transform between the pyramids, translation in coarse voxels.
    free : tuple of six bool
        Degrees of freedom: rotations about x, y, z through `pivot`, translations along them.
    pivot : (3,) ndarray
        In coarse voxels.
    fixed_voxel : bool
        Whether the caller has chosen the fine voxel size; else it grows with the noise.
    threads : int, default 1

    Returns
    -------
    (4, 4) ndarray
        Translation in coarse voxels.
    """
    voxel = target.fine_voxel if fixed_voxel else refinement_voxel(source, target)

    def associate(pyramid: SurfelPyramid, workers: int) -> tuple[Surfels, _core.SurfelPoints]:
        surfels = pyramid.surfels(voxel, workers)
        return surfels, assign_to_surfels(surfels, pyramid.points / voxel, workers)

    (x, points_x), (y, points_y) = map_pair(associate, (source, target), threads)
    scale = target.coarse_voxel / voxel
    dof = _core.DegreesOfFreedom(free, pivot * scale)
    close = T.copy()
    close[:3, 3] *= scale
    kernel = kernel_widths(x, y)
    close = y.grid.refine(close[None], x.points, x.normals, x.importance, kernel, dof, threads)[0]
    close = _core.refine_symmetric(
        points_x, points_y, close, float(kernel[-1]), REFINEMENT.max_steps, REFINEMENT.convergence, dof, threads
    )
    close[:3, 3] /= scale
    return close


def kernel_widths(source: Surfels, target: Surfels) -> Floats:
    """Return the widths of the robust kernel in the surfel-to-surfel steps, in voxels."""
    roughness = float(np.median(np.concatenate([source.roughness, target.roughness])))
    least = min(REFINEMENT.kernel_per_roughness * roughness, REFINEMENT.widest_kernel)
    return np.asarray(np.maximum(REFINEMENT.kernel, least))


def refinement_voxel(source: SurfelPyramid, target: SurfelPyramid) -> float:
    """Return the smallest voxel size that the noise allows.

    That is the fine size, unless its surfels are rough; then one at which they are not, by the roughness of the coarse
    ones.
    """
    coarse, fine = (
        float(np.median(np.concatenate([x.roughness, y.roughness])))
        for x, y in ((source.coarse, target.coarse), (source.fine, target.fine))
    )
    if fine < REFINEMENT.most_roughness:
        return target.fine_voxel
    return max(target.fine_voxel, coarse * target.coarse_voxel / REFINEMENT.most_roughness)


def assign_to_surfels(surfels: Surfels, points: Floats, threads: int = 1) -> _core.SurfelPoints:
    """Return points, in voxels, with the surfel of their own cloud that each belongs to, and their weights.

    The points of a surfel together weigh the square root of their number: between equal weights of points, which are
    best against noise, and equal weights of surfels.
    """
    own = surfels.grid.nearest(points, REFINEMENT.association_distance, threads)
    counts = np.bincount(own[own >= 0], minlength=len(surfels))
    weights = np.maximum(counts, 1) ** -0.5
    if surfels.importance is not None:
        weights *= surfels.importance
    return _core.SurfelPoints(surfels.grid, points, own, weights)
