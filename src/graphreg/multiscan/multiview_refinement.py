"""Multiview refinement: all poses at once, by the surfaces of all scans (bundle adjustment of surfels).

Each iteration linearises every pair at the present poses. The normal equations of the symmetric point-to-plane distance
give the relative transform that the pair asks for, and its information matrix: an edge of a pose graph. The poses
that minimise the squared errors of all edges are those of the next iteration.

The surfels are not those of the pairwise registrations. For clouds of few points those are computed without the points
that deviate from their neighbours. On a curved surface these are mostly points that noise moved outwards, so what is
left is biased inwards, by about a hundredth of a voxel. Here outliers do no harm, because no other scan has them in the
same position, and all points are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, Mask
from graphreg.engine.cleaning import inlier_voxels
from graphreg.engine.orientation import orient_normals
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.refinement import assign_to_surfels, kernel_widths
from graphreg.engine.settings import EngineSettings
from graphreg.engine.surfels import Surfels
from graphreg.engine.voxel_sizes import VOXEL_SIZES, on_ladder
from graphreg.multiscan.pose_graph import anchors, connected_groups
from graphreg.multiscan.pose_graph_optimisation import ALL_DOF, free_steps, least_squares_poses
from graphreg.poses import PoseGraph, inverse, pose, rotation_from_vector, transform


@dataclass(frozen=True)
class MultiviewParameters:
    """Constants of multiview refinement. All are chosen."""

    # Linearisations at most. It ends earlier once no scan moves by more than this many voxels.
    max_iterations: int = 8
    tolerance: float = 2e-3
    # Smallest residual, in voxels, that counts for the weight of a pair: closer surfaces weigh no more.
    min_residual: float = 0.02
    # Singular values below this share of the largest are unconstrained directions.
    rank_tolerance: float = 1e-9


MULTIVIEW = MultiviewParameters()


@dataclass(frozen=True, eq=False)
class ScanSurface:
    """Surfels of a scan, with lengths in voxels, and its points, each assigned to its surfel."""

    surfels: Surfels
    points: Floats
    assigned: _core.SurfelPoints


def refine_multiview(
    scans: Sequence[PreprocessedCloud],
    poses: Floats,
    pairs: Sequence[tuple[int, int]],
    voxel: float | None = None,
    threads: int = 1,
    parameters: MultiviewParameters = MULTIVIEW,
    *,
    fixed: Mask | None = None,
    dof: Sequence[bool] = ALL_DOF,
) -> Floats:
    """Refine the poses of all scans together.

    Parameters
    ----------
    scans : sequence of PreprocessedCloud
    poses : (N, 4, 4) ndarray
        Initial poses, x_world = P x_scan.
    pairs : sequence of (int, int)
        Numbers of source and target of the scans that overlap.
    voxel : float, optional
        Fine voxel size. The default follows from each pair.
    threads : int, default 1
        The result does not depend on it.
    parameters : MultiviewParameters, default MULTIVIEW
    fixed : (N,) ndarray of bool, optional
        Scans that keep their pose. By default the first of each group that pairs connect.
    dof : sequence of six bool, default all
        Rotations about and translations along the axes of its own frame by which a pose may change.

    Returns
    -------
    (N, 4, 4) ndarray
        The refined poses.
    """
    if not pairs:
        return poses
    ends = np.array(pairs, np.intp)
    free = free_steps(anchors(connected_groups(ends, len(scans)), fixed), dof)
    # Poses of the local frames, whose origins are near the points; steps are about the axes of the clouds.
    local_poses = poses @ np.array([inverse(scan.T_local_cloud) for scan in scans])
    axes = np.array([scan.T_local_cloud[:3, :3] for scan in scans])
    radii = np.array([np.sqrt((scan.local_points**2).sum(axis=1).mean()) for scan in scans])
    voxels = [voxel or _shared_voxel(scans[source], scans[target]) for source, target in pairs]
    needed = sorted({(scan, size) for pair, size in zip(pairs, voxels, strict=True) for scan in pair})
    with ThreadPoolExecutor(threads) as pool:
        computed = pool.map(lambda each: _scan_surface(scans[each[0]], each[1]), needed)
        surfaces = dict(zip(needed, computed, strict=True))
        for scan in scans:
            scan.release()
        targets = [surfaces[target, size] for (_, target), size in zip(pairs, voxels, strict=True)]
        present = [inverse(local_poses[target]) @ local_poses[source] for source, target in pairs]
        unsigned = [surfaces[source, size] for (source, _), size in zip(pairs, voxels, strict=True)]
        opposed = list(pool.map(_is_opposed, unsigned, targets, voxels, present))
        # Each scan is reversed once, however many pairs need it so.
        reversed_ones = {
            key: _reversed(surfaces[key])
            for key in {(pair[0], size) for pair, size, turn in zip(pairs, voxels, opposed, strict=True) if turn}
        }
        sources = [
            (reversed_ones if turn else surfaces)[source, size]
            for (source, _), size, turn in zip(pairs, voxels, opposed, strict=True)
        ]
        linearise = partial(_linearised, parameters=parameters)
        for _ in range(parameters.max_iterations):
            present = [inverse(local_poses[target]) @ local_poses[source] for source, target in pairs]
            edges = pool.map(linearise, sources, targets, voxels, present)
            transforms, information = (np.array(each) for each in zip(*edges, strict=True))
            before = local_poses
            turned = _in_axes(PoseGraph(local_poses, ends, transforms, information), axes)
            local_poses = least_squares_poses(turned, free=free) @ _rotations(axes.transpose(0, 2, 1))
            if _largest_displacement(local_poses - before, radii) <= parameters.tolerance * min(voxels):
                break
    return np.asarray(local_poses @ np.array([scan.T_local_cloud for scan in scans]))


def _in_axes(graph: PoseGraph, axes: Floats) -> PoseGraph:
    """The pose graph of frames with the same origins and other axes: x_old = R x_new, (N, 3, 3)."""
    source, target = graph.pairs.T
    both = np.zeros((len(source), 6, 6))
    both[:, :3, :3] = both[:, 3:, 3:] = axes[target]
    return PoseGraph(
        graph.poses @ _rotations(axes),
        graph.pairs,
        _rotations(axes[target].transpose(0, 2, 1)) @ graph.transforms @ _rotations(axes[source]),
        both.transpose(0, 2, 1) @ graph.information @ both,
    )


def _rotations(matrices: Floats) -> Floats:
    """Rotation matrices (N, 3, 3) as transforms (N, 4, 4)."""
    transforms = np.tile(np.eye(4), (len(matrices), 1, 1))
    transforms[:, :3, :3] = matrices
    return transforms


def _shared_voxel(source: PreprocessedCloud, target: PreprocessedCloud) -> float:
    """Fine voxel size that both scans fill, rounded to a step of the engine's ladder so that pairs share surfels."""
    both = source.voxel_sizes, target.voxel_sizes
    return on_ladder(max(max(sizes.smallest_coarse / VOXEL_SIZES.fine_per_coarse, sizes.finest) for sizes in both))


def _scan_surface(scan: PreprocessedCloud, voxel: float) -> ScanSurface:
    """Surfels of the voxels that the X84 rule keeps, and all points, each assigned to its surfel."""
    defaults = EngineSettings()
    voxels, inliers = inlier_voxels(scan, voxel, defaults.k, defaults.alpha)
    surfels = orient_normals(voxels.fit_surfels(inliers))
    points = scan.local_points / voxel
    return ScanSurface(surfels, points, assign_to_surfels(surfels, points))


def _is_opposed(source: ScanSurface, target: ScanSurface, voxel: float, T_target_source: Floats) -> bool:
    """Whether most normals of the source oppose those of the target: see `orientation`."""
    moved = transform(pose(T_target_source[:3, :3], T_target_source[:3, 3] / voxel), source.surfels.points)
    nearest = target.surfels.grid.nearest(moved, 2.0, 1)
    close = nearest >= 0
    normals = source.surfels.normals[close] @ T_target_source[:3, :3].T
    return bool(np.einsum("ij,ij->", normals, target.surfels.normals[nearest[close]]) < 0)


def _reversed(surface: ScanSurface) -> ScanSurface:
    """The same surface with normals to the other side."""
    surfels = replace(surface.surfels, normals=-surface.surfels.normals)
    return ScanSurface(surfels, surface.points, assign_to_surfels(surfels, surface.points))


def _linearised(
    source: ScanSurface, target: ScanSurface, voxel: float, T_target_source: Floats, parameters: MultiviewParameters
) -> tuple[Floats, Floats]:
    """The relative transform of a pair after one Gauss-Newton step, and its information matrix (6, 6).

    Rotations are about the origin of the target's local frame, in radians, translations in the unit of the data.
    """
    in_voxels = pose(T_target_source[:3, :3], T_target_source[:3, 3] / voxel)
    width = float(kernel_widths(source.surfels, target.surfels)[-1])
    hessian, gradient, weight, squared = _core.symmetric_equations(
        source.assigned, target.assigned, in_voxels, width, 1
    )
    if not weight > 0:
        return T_target_source, np.zeros((6, 6))
    step = np.linalg.lstsq(hessian, gradient, rcond=parameters.rank_tolerance)[0]
    moved = pose(rotation_from_vector(step[:3]), step[3:]) @ in_voxels
    unit = np.repeat([1.0, 1 / voxel], 3)
    information = hessian * np.outer(unit, unit) / max(squared / weight, parameters.min_residual**2)
    return pose(moved[:3, :3], moved[:3, 3] * voxel), information


def _largest_displacement(changes: Floats, radii: Floats) -> float:
    """Bound on the distance that a point at the radius of its scan moves, over all scans."""
    translation = np.linalg.norm(changes[:, :3, 3], axis=1)
    rotation = np.linalg.norm(changes[:, :3, :3], axis=(1, 2))
    return float((translation + radii * rotation).max())
