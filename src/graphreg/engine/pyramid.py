"""Surfel pyramids: a cleaned cloud as coarse and fine surfels with descriptors, in its local frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.engine.cleaning import CLEANING, clean_voxels, inlier_points, occupied_share, single_point_share
from graphreg.engine.clutter_removal import without_clutter
from graphreg.engine.descriptors import compute_descriptors
from graphreg.engine.mesh_refinement import MeshSurface
from graphreg.engine.orientation import Orientation, infer_orientation
from graphreg.engine.preprocessing import PreprocessedCloud, map_pair
from graphreg.engine.surfels import SURFELS, Surfels, VoxelMoments
from graphreg.engine.voxel_sizes import PairVoxelSizes, pair_voxel_sizes
from graphreg.errors import InputError
from graphreg.features.edge_descriptors import Descriptors
from graphreg.poses import inverse, pose


@dataclass(frozen=True, eq=False)
class SurfelPyramid:
    """A cloud at two resolutions, in its local frame, so that it is the same wherever the cloud is.

    Attributes
    ----------
    coarse, fine : Surfels
        With oriented normals; lengths in coarse and fine voxels.
    descriptors : (N, 96) ndarray of uint8
        Of the coarse surfels.
    orientation : Orientation
        Of the normals.
    voxels : VoxelMoments
        The fine voxels.
    inliers : (V,) ndarray of bool
        Which of them belong to a surface.
    points : (N, 3) ndarray
        The points, in the unit of the data.
    T_local_cloud : (4, 4) ndarray
        x_local = T x_cloud.
    coarse_voxel, fine_voxel : float
        Voxel sizes, in the unit of the data.
    surface : MeshSurface or None
        The mesh that the points were sampled from, in coarse voxels.
    """

    coarse: Surfels
    fine: Surfels
    descriptors: Descriptors
    orientation: Orientation
    voxels: VoxelMoments
    inliers: Mask
    points: Floats
    T_local_cloud: Floats
    coarse_voxel: float
    fine_voxel: float
    surface: MeshSurface | None = None

    @property
    def density_contrast(self) -> float:
        """Mean number of points around a point over the median number in a voxel.

        Little more than 1 on objects; large where the scanner stood close to part of what it saw.
        """
        counts = self.coarse.weights
        return float((counts**2).sum() / counts.sum() / np.median(counts))

    def surfels(self, voxel: float, threads: int = 1) -> Surfels:
        """Return surfels of another voxel size, with oriented normals; lengths in voxels of that size."""
        if voxel == self.fine_voxel:
            return self.fine
        merged = self.voxels.merge(voxel / self.fine_voxel, self.inliers, threads=threads)
        return self.orientation.apply(merged.fit_surfels(threads=threads), voxel)

    def with_reversed_normals(self, threads: int = 1) -> SurfelPyramid:
        """Return the pyramid with all normals reversed."""
        orientation = self.orientation.reversed()
        coarse = orientation.apply(self.coarse, self.coarse_voxel)
        fine = orientation.apply(self.fine, self.fine_voxel)
        return replace(
            self,
            coarse=coarse,
            fine=fine,
            descriptors=compute_descriptors(coarse, threads),
            orientation=orientation,
        )

    def scaled(self, scale: float) -> SurfelPyramid:
        """Return the pyramid of the cloud scaled by little: surfels are moved, and not fitted or described again."""
        frame = self.T_local_cloud
        return replace(
            self,
            coarse=replace(self.coarse, points=self.coarse.points * scale),
            fine=replace(self.fine, points=self.fine.points * scale),
            points=self.points * scale,
            T_local_cloud=pose(frame[:3, :3], frame[:3, 3] * scale),
        )


def to_cloud_frames(T: Floats, source: SurfelPyramid, target: SurfelPyramid) -> Floats:
    """Return a transform between pyramids, translation in coarse voxels, as one between the clouds."""
    between = pose(T[:3, :3], T[:3, 3] * target.coarse_voxel)
    return inverse(target.T_local_cloud) @ between @ source.T_local_cloud


def to_pyramid_frames(T_target_source: Floats, source: SurfelPyramid, target: SurfelPyramid) -> Floats:
    """Return a transform between the clouds as one between pyramids, translation in coarse voxels."""
    between = target.T_local_cloud @ T_target_source @ inverse(source.T_local_cloud)
    return pose(between[:3, :3], between[:3, 3] / target.coarse_voxel)


def build_pyramids(
    source: PreprocessedCloud,
    target: PreprocessedCloud,
    voxel: float | None = None,
    k: int = SURFELS.neighbours,
    alpha: float = 5.2,
    threads: int = 1,
    shared: bool = False,
) -> tuple[SurfelPyramid, SurfelPyramid]:
    """Remove outliers from two clouds and build their surfel pyramids with common voxel sizes.

    Parameters
    ----------
    source, target : PreprocessedCloud
    voxel : float, optional
        Size of the fine voxels; by default one that suits both clouds.
    k : int, default 10
        Neighbours in the graph of the fine voxels.
    alpha : float, default 5.2
        Limit of the X84 rule on their response.
    threads : int, default 1
    shared : bool, default False
        Whether the clouds are registered to others as well; see `pair_voxel_sizes`.

    Raises
    ------
    InputError
        If a cloud has too few points, or no surface stands out among them.
    """
    for cloud in (source, target):
        if len(cloud) <= k:
            raise InputError(f"{cloud.name}: has {len(cloud)} distinct points, but at least {k + 1} are needed")
    clouds = source, target
    sizes = _common_sizes(clouds, voxel, shared, threads)
    cleaned = clean_voxels(clouds, sizes.fine, k, alpha, threads)
    sparse = any(single_point_share(*voxels) > CLEANING.most_single for voxels in cleaned)
    filled = any(occupied_share(voxels) > CLEANING.most_occupied for voxels, _ in cleaned)
    if sparse or filled:

        def clean_points(cloud: PreprocessedCloud, workers: int) -> PreprocessedCloud:
            rest = without_clutter(cloud, k, workers)
            return inlier_points(cloud, k, alpha, workers) if sparse and rest is cloud else rest

        clouds = map_pair(clean_points, clouds, threads)
        sizes = _common_sizes(clouds, voxel, shared, threads)
        cleaned = clean_voxels(clouds, sizes.fine, k, np.inf if sparse else alpha, threads)

    def build(number: int, workers: int) -> SurfelPyramid:
        voxels, inliers = cleaned[number]
        cloud = (source, target)[number]
        return clouds[number].cached(
            ("pyramid", *sizes, k, alpha), lambda: _build_pyramid(cloud, voxels, inliers, sizes, workers)
        )

    return map_pair(build, (0, 1), threads)


def _common_sizes(
    clouds: tuple[PreprocessedCloud, PreprocessedCloud], voxel: float | None, shared: bool, threads: int
) -> PairVoxelSizes:
    return pair_voxel_sizes(*map_pair(lambda cloud, _: cloud.voxel_sizes, clouds, threads), voxel, shared)


def _build_pyramid(
    cloud: PreprocessedCloud, voxels: VoxelMoments, inliers: Mask, sizes: PairVoxelSizes, threads: int
) -> SurfelPyramid:
    merged = voxels.merge(sizes.coarse / sizes.fine, inliers, threads=threads)
    coarse = merged.fit_surfels(threads=threads)
    orientation = infer_orientation(coarse, sizes.coarse, threads)
    coarse = orientation.apply(coarse, sizes.coarse)
    fine = orientation.apply(voxels.fit_surfels(inliers, threads), sizes.fine)
    return SurfelPyramid(
        coarse,
        fine,
        compute_descriptors(coarse, threads),
        orientation,
        voxels,
        inliers,
        cloud.local_points,
        cloud.T_local_cloud,
        *sizes,
        None if cloud.mesh is None else MeshSurface(cloud.mesh, cloud.T_local_cloud, sizes.coarse),
    )
