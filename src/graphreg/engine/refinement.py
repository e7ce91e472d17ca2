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
from graphreg.poses import inverse, pose


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


class FineRefinement:
    """Refine poses of two pyramids that are nearly right as far as the points allow.

    Parameters
    ----------
    source, target : SurfelPyramid
    free : tuple of six bool
        Degrees of freedom: rotations about x, y, z through `pivot`, translations along them.
    pivot : (3,) ndarray
        In coarse voxels.
    fixed_voxel : bool, default False
        Whether the caller has chosen the fine voxel size; else it grows with the noise.

    Attributes
    ----------
    voxel : float
        Size of the voxels of the surfels, in the unit of the data.
    """

    def __init__(
        self,
        source: SurfelPyramid,
        target: SurfelPyramid,
        free: tuple[bool, ...],
        pivot: Floats,
        fixed_voxel: bool = False,
    ) -> None:
        self._pyramids = source, target
        self.voxel = target.fine_voxel if fixed_voxel else refinement_voxel(source, target)
        self._scale = target.coarse_voxel / self.voxel
        self._dof = _core.DegreesOfFreedom(free, pivot * self._scale)
        self._associated: tuple[_PointsOnSurfels, _PointsOnSurfels] | None = None

    def __call__(self, T: Floats, threads: int = 1) -> Floats:
        """Return the refined transform between the pyramids, (4, 4), translation in coarse voxels as in `T`."""
        x, y = self._points(threads)
        close = self._scaled(self.surfel_steps(T, threads), self._scale)
        width = float(kernel_widths(x.surfels, y.surfels)[-1])
        steps, convergence = REFINEMENT.max_steps, REFINEMENT.convergence
        close = _core.refine_symmetric(x.points, y.points, close, width, steps, convergence, self._dof, threads)
        return self._scaled(close, 1 / self._scale)

    def surfel_steps(self, T: Floats, threads: int = 1) -> Floats:
        """Return the transform after the surfel-to-surfel steps alone: less exact, and faster."""
        x, y = (points.surfels for points in self._points(threads))
        close = self._scaled(T, self._scale)[None]
        kernel = kernel_widths(x, y)
        refined = y.grid.refine(close, x.points, x.normals, x.importance, kernel, self._dof, threads)[0]
        return self._scaled(refined, 1 / self._scale)

    @staticmethod
    def _scaled(T: Floats, scale: float) -> Floats:
        return pose(T[:3, :3], T[:3, 3] * scale)

    def _points(self, threads: int) -> tuple[_PointsOnSurfels, _PointsOnSurfels]:
        if self._associated is None:
            self._associated = map_pair(self._associate, self._pyramids, threads)
        return self._associated

    def _associate(self, pyramid: SurfelPyramid, threads: int) -> _PointsOnSurfels:
        surfels = pyramid.surfels(self.voxel, threads)
        return _PointsOnSurfels(surfels, assign_to_surfels(surfels, pyramid.points / self.voxel, threads))


@dataclass(frozen=True, eq=False)
class _PointsOnSurfels:
    surfels: Surfels
    points: _core.SurfelPoints


def refine_on_mesh(T: Floats, source: SurfelPyramid, target: SurfelPyramid, threads: int = 1) -> Floats:
    """Return a refined transform between pyramids, refined on the mesh that one of them was sampled from, if any."""
    voxel = target.fine_voxel / target.coarse_voxel
    if target.surface is not None:
        return target.surface.refine(T, source.points / source.coarse_voxel, voxel, threads)
    if source.surface is not None:
        return inverse(source.surface.refine(inverse(T), target.points / target.coarse_voxel, voxel, threads))
    return T


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
