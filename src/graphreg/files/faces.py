"""Faces of meshes: checked against the vertices, and divided into triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Cloud
from graphreg.files.input_file import InputFile
from graphreg.files.output_file import OutputFile
from graphreg.meshes.triangle_mesh import Mesh


def with_faces(file: InputFile, cloud: Cloud, corners: NDArray[np.int64], sizes: NDArray[np.int64]) -> Cloud | Mesh:
    """Make a mesh of the vertices and faces that were read from a file; a cloud where there are no faces.

    Parameters
    ----------
    file : InputFile
        The file, for error messages.
    cloud : Cloud
        The vertices that are finite.
    corners : (C,) ndarray of int
        Numbers of vertices, as rows of the file, one face after the other.
    sizes : (F,) ndarray of int
        The number of corners of each face; faces with fewer than three are left out.

    Returns
    -------
    Cloud or Mesh

    Raises
    ------
    FileError
        Where a face refers to a vertex that the file does not have.
    """
    if not len(corners):
        return cloud
    count = len(cloud.kept)
    if not 0 <= corners.min() <= corners.max() < count:
        wrong = int(corners.max() if corners.max() >= count else corners.min())
        file.fail(f"a face refers to vertex number {wrong + 1}, but there are {count}")
    if cloud.dropped:
        whole = np.logical_and.reduceat(cloud.kept[corners], np.r_[0, np.cumsum(sizes)[:-1]][sizes > 0])
        used = np.zeros(len(sizes), bool)
        used[sizes > 0] = whole
        corners, sizes = corners[np.repeat(used, sizes)], sizes[used]
        corners = (np.cumsum(cloud.kept) - 1)[corners]
    if len(sizes) and (sizes == 3).all():
        triangles = corners.astype(np.int32).reshape(-1, 3)
    else:
        triangles = _core.triangulate(cloud.points, corners.astype(np.int32), np.ascontiguousarray(sizes))
    return Mesh(cloud.points, triangles, cloud.attributes) if len(triangles) else cloud


def vertex_cloud(mesh: Mesh) -> Cloud:
    """The vertices of a mesh with their attributes, as writers of clouds take them."""
    return Cloud(mesh.vertices, np.ones(len(mesh.vertices), bool), mesh.attributes)


def write_face_lines(output: OutputFile, faces: NDArray[np.int32], line: str) -> None:
    """Write a line of text for each face, in chunks."""
    for rows in output.row_chunks(len(faces), faces.itemsize * 3):
        output.file.write("".join(f"{line}\n".format(*face) for face in faces[rows].tolist()).encode())
