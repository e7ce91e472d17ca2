"""Exact signed distance of points from a triangle mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.errors import InputError
from graphreg.meshes.triangle_mesh import Faces, Floats, Mesh, face_areas, vertex_places


@dataclass(frozen=True, eq=False)
class Orientation:
    """How the faces of a mesh are oriented.

    Attributes
    ----------
    consistent : bool
        Whether no two faces pass a common edge in the same direction, so that they agree on what is outside.
    closed : bool
        Whether, moreover, two faces meet at every edge.
    faces : (F, 3) ndarray
        Normals of the faces.
    edges : (E, 3) ndarray
        Of each edge, the sum of the normals of its faces.
    corners : (P, 3) ndarray
        Of each corner, the sum of the normals of its faces, weighted by their angles.
    edges_of, corners_of : (F, 3) ndarray of int
        Which edges and corners each face has.
    """

    consistent: bool
    closed: bool
    faces: Floats
    edges: Floats
    corners: Floats
    edges_of: NDArray[np.int64]
    corners_of: NDArray[np.int64]

    def pseudonormals(self, faces: NDArray[np.int32], regions: NDArray[np.uint8]) -> Floats:
        """Normals (N, 3), not of unit length, at points on these regions of faces, see `_core.TriangleTree`."""
        result: Floats = self.faces[faces]
        for first, normals, of in ((1, self.edges, self.edges_of), (4, self.corners, self.corners_of)):
            rows = np.flatnonzero((regions >= first) & (regions < first + 3))
            result[rows] = normals[of[faces[rows], regions[rows] - first]]
        return result


def orientation_of(mesh: Mesh) -> Orientation:
    """Orientation of a mesh none of whose faces is without area; vertices at the same place count as one.

    References
    ----------
    J. A. Bærentzen, H. Aanæs, Signed distance computation using the angle weighted pseudonormal, TVCG 11(3), 2005.
    """
    same = vertex_places(mesh.vertices)
    count = int(same.max()) + 1
    faces = same[mesh.faces]
    _, normals = face_areas(mesh)
    starts, ends = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    consistent = bool(np.diff(np.sort(starts * count + ends)).all())
    undirected = np.minimum(starts, ends) * count + np.maximum(starts, ends)
    _, edges, shared = np.unique(undirected, return_inverse=True, return_counts=True)
    weighted = (_angles(mesh)[:, :, None] * normals[:, None]).reshape(-1, 3)
    return Orientation(
        consistent,
        consistent and bool((shared == 2).all()),
        normals,
        _sums(edges.ravel(), np.repeat(normals, 3, axis=0), len(shared)),
        _sums(faces.ravel(), weighted, count),
        edges.reshape(-1, 3),
        faces,
    )


def mesh_distances(mesh: Mesh, points: Floats, threads: int) -> tuple[Floats, bool]:
    """Distance of each point from a mesh.

    Parameters
    ----------
    mesh : Mesh
    points : (N, 3) ndarray
        Finite.
    threads : int

    Returns
    -------
    distances : (N,) ndarray
        Where the faces are oriented consistently, positive on the side that their normals point to; of a closed mesh
        always positive outside.
    signed : bool
        Whether that is so; else all are positive.

    Raises
    ------
    InputError
        Where no face has an area.
    """
    mesh, centre, scale = _normalised(mesh, points)
    queries = np.ascontiguousarray((points - centre) / scale)
    distances, closest, faces, regions = _core.TriangleTree(mesh.vertices, mesh.faces).closest(queries, threads)
    orientation = orientation_of(mesh)
    if orientation.consistent:
        normals = orientation.pseudonormals(faces, regions)
        inward = np.einsum("ij,ij->i", queries - closest, normals) < 0
        if orientation.closed and _volume(mesh) < 0:
            inward = ~inward & (distances > 0)
        distances = np.where(inward, -distances, distances)
    return distances * scale, orientation.consistent


def _normalised(mesh: Mesh, points: Floats) -> tuple[Mesh, Floats, float]:
    """The mesh about the origin and not larger than 1, without faces that have no area; centre and scale."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    centre: Floats = low + (high - low) / 2
    reach = max((np.abs(values - centre).max() for values in (mesh.vertices, points) if len(values)), default=0.0)
    scale = float(reach) or 1.0
    moved = Mesh((mesh.vertices - centre) / scale, mesh.faces)
    used: Faces = moved.faces[face_areas(moved)[0] > 0]
    if not len(used):
        raise InputError("reference: a mesh none of whose faces has an area")
    return Mesh(moved.vertices, used), centre, scale


def _angles(mesh: Mesh) -> Floats:
    """The angles of the faces at their corners (F, 3)."""
    corners = mesh.vertices[mesh.faces]
    ahead, back = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    cosines = np.einsum("fci,fci->fc", ahead, back)
    squares = np.einsum("fci,fci->fc", ahead, ahead) * np.einsum("fci,fci->fc", back, back)
    return np.asarray(np.arccos(np.clip(cosines / np.sqrt(squares), -1, 1)))


def _sums(groups: NDArray[np.int64], vectors: Floats, count: int) -> Floats:
    """The sum of the vectors of each group."""
    return np.stack([np.bincount(groups, vectors[:, axis], count) for axis in range(3)], axis=1)


def _volume(mesh: Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)
