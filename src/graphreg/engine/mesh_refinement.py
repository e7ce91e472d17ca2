"""Refinement of a pose on the exact surface of a mesh: point-to-plane, every point to its closest triangle.

Surfels merge both faces of a sheet that is thinner than a voxel, so that a scan of one face ends between them.
Triangles do not: from starts on either side of the pose the steps reach either face, and the residuals tell which was
scanned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.meshes.triangle_mesh import Mesh, face_areas
from graphreg.poses import pose, rotation_from_vector, transform


@dataclass(frozen=True)
class MeshRefinementParameters:
    """Constants of the refinement on a mesh; all chosen.

    Attributes
    ----------
    sample : int
        Points that starts are compared with.
    points : int
        Points that the best start is refined with.
    reach : float
        Points farther from the mesh are left out, in fine voxels;
    offset : float
        so far are the starts from the pose, along the axes of the normals.
    kernel_per_sigma : float
        Width of the robust kernel over the standard deviation of the residuals;
    narrowing : float
        but it starts at the fine voxel size, and becomes narrower by this factor a step at most: where most points are
        on one plane, the residuals are small before the others are aligned.
    least_kernel : float
        It is at least so wide, in fine voxels.
    steps, last_steps : int
        Steps from each start, and of the best one at most;
    convergence : float
        none follows one that is smaller than this, in fine voxels.
    """

    sample: int = 1_500
    points: int = 12_000
    reach: float = 3.0
    offset: float = 0.8
    kernel_per_sigma: float = 2.0
    narrowing: float = 0.7
    least_kernel: float = 0.02
    steps: int = 12
    last_steps: int = 20
    convergence: float = 1e-4


MESH_REFINEMENT = MeshRefinementParameters()
# The median of |x| over the standard deviation of x, for Gaussian noise.
MEDIAN_PER_SIGMA = 0.6745


class MeshSurface:
    """The triangles of a mesh, for refinement.

    Parameters
    ----------
    mesh : Mesh
        At least one of its faces has an area.
    T_local_mesh : (4, 4) ndarray
        x_local = T x_mesh.
    unit : float
        Lengths are in this unit, in the local frame.
    """

    def __init__(self, mesh: Mesh, T_local_mesh: Floats, unit: float) -> None:
        mesh = Mesh(transform(T_local_mesh, mesh.vertices) / unit, mesh.faces)
        areas, normals = face_areas(mesh)
        self._normals = normals[areas > 0]
        self._tree = _core.TriangleTree(mesh.vertices, mesh.faces[areas > 0])

    def refine(self, T_local_cloud: Floats, points: Floats, voxel: float, threads: int = 1) -> Floats:
        """Return the pose that minimises the distances of points from the mesh, from one that is nearly right.

        Parameters
        ----------
        T_local_cloud : (4, 4) ndarray
            x_local = T x_cloud.
        points : (N, 3) ndarray
            The cloud.
        voxel : float
            Fine voxel size: the pose is off by about so much at most.
        threads : int, default 1
        """
        some = _evenly_sampled(points, MESH_REFINEMENT.sample)
        refined = [
            self._descend(start, some, voxel, MESH_REFINEMENT.steps, threads)
            for start in self._starts(T_local_cloud, some, voxel, threads)
        ]
        distances = np.stack([self._distances(T, some, threads) for T in refined])
        # All are compared by the width that suits the one with the smallest residuals.
        width = _kernel_width(distances[np.argmin(np.median(distances, axis=1))], voxel)
        squares = (distances / width) ** 2
        costs = (squares / (1 + squares)).mean(axis=1)
        best = refined[int(np.argmin(costs))]
        more = _evenly_sampled(points, MESH_REFINEMENT.points)
        return self._descend(best, more, voxel, MESH_REFINEMENT.last_steps, threads)

    def _starts(self, T: Floats, points: Floats, voxel: float, threads: int) -> list[Floats]:
        """The pose, and poses on either side of it along the principal axes of the normals."""
        _, _, faces, _ = self._tree.closest(transform(T, points), threads)
        normals = self._normals[faces]
        axes = np.linalg.eigh(normals.T @ normals)[1].T
        offsets = MESH_REFINEMENT.offset * voxel * np.concatenate([axes, -axes])
        return [T, *(pose(T[:3, :3], T[:3, 3] + offset) for offset in offsets)]

    def _distances(self, T: Floats, points: Floats, threads: int) -> Floats:
        distances: Floats = self._tree.closest(transform(T, points), threads)[0]
        return distances

    def _descend(self, T: Floats, points: Floats, voxel: float, steps: int, threads: int) -> Floats:
        """Gauss-Newton steps with the weights of Geman and McClure, whose width follows the residuals."""
        narrowest = voxel
        for _ in range(steps):
            at = transform(T, points)
            distances, closest, faces, regions = self._tree.closest(at, threads)
            near = distances < MESH_REFINEMENT.reach * voxel
            if np.count_nonzero(near) < 6:
                return T
            at, residuals, directions = at[near], *_residuals(at, closest, self._normals[faces], regions, near)
            width = max(_kernel_width(np.abs(residuals), voxel), narrowest)
            narrowest *= MESH_REFINEMENT.narrowing
            weights = (1 + (residuals / width) ** 2) ** -2
            centre = at.mean(axis=0)
            # Rotations by what moves the points about as far as a translation does.
            reach = max(float(np.sqrt(((at - centre) ** 2).sum(axis=1).mean())), np.finfo(float).tiny)
            jacobian = np.hstack([np.cross(at - centre, directions) / reach, directions])
            weighted = jacobian * weights[:, None]
            step = np.linalg.lstsq(weighted.T @ jacobian, -weighted.T @ residuals, rcond=1e-9)[0]
            R = rotation_from_vector(step[:3] / reach)
            T = pose(R, centre + step[3:] - R @ centre) @ T
            if width > narrowest and np.abs(step).max() < MESH_REFINEMENT.convergence * voxel:
                break
        return T


def _kernel_width(distances: Floats, voxel: float) -> float:
    sigma = float(np.median(distances)) / MEDIAN_PER_SIGMA
    return max(MESH_REFINEMENT.kernel_per_sigma * sigma, MESH_REFINEMENT.least_kernel * voxel)


def _evenly_sampled(points: Floats, count: int) -> Floats:
    return points[:: -(-len(points) // count)]


def _residuals(
    at: Floats, closest: Floats, normals: Floats, regions: NDArray[np.uint8], near: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Distances of the points near the mesh along directions: normals of faces, or, beyond edges, towards these."""
    offset = at[near] - closest[near]
    directions = normals[near].copy()
    edge = regions[near] > 0
    lengths = np.linalg.norm(offset[edge], axis=1)
    beyond = np.flatnonzero(edge)[lengths > 0]
    directions[beyond] = offset[beyond] / lengths[lengths > 0, None]
    return np.einsum("ij,ij->i", offset, directions), directions
