"""STL: triangles, whose equal corners become one vertex. A cloud has no triangles, so that it is not written as STL."""

from __future__ import annotations

import numpy as np

from graphreg.clouds import Cloud, extent
from graphreg.errors import InputError
from graphreg.files.attribute_columns import cloud_from_points
from graphreg.files.faces import with_faces
from graphreg.files.input_file import InputFile
from graphreg.files.kitti_bin import MAX_ROUNDING
from graphreg.files.output_file import OutputFile
from graphreg.meshes.triangle_mesh import Mesh, face_areas, vertex_places

STL_TRIANGLE = np.dtype([("normal", "<f4", (3,)), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])


def read(file: InputFile) -> Cloud | Mesh:
    """Read the triangles; vertices are in the order in which they first appear."""
    start = file.peek(84)
    triangles = int.from_bytes(start[80:84], "little")
    # Binary files may begin with the word solid as well; they are recognised by their size.
    if len(start) == 84 and file.size == 84 + triangles * STL_TRIANGLE.itemsize:
        file.read_bytes(84, "bytes of header")
        vertices = file.read_records(STL_TRIANGLE, triangles, "triangles")["vertices"].reshape(-1, 3).astype(np.float64)
    elif start.lstrip()[:5].lower() == b"solid":
        end = min(1000, file.size)
        if b"endsolid" not in file.read_at(file.size - end, end).lower():
            file.fail("ends before its endsolid")
        vertices = file.read_table(-1, "fff", "vertices", prefix="vertex")
        if len(vertices) % 3:
            file.fail(f"has {len(vertices)} vertices, which is no multiple of 3")
    elif len(start) == 84:
        file.fail(f"declares {triangles} triangles, but that does not fit its size of {file.size} bytes")
    else:
        file.fail("is too short")
    places = vertex_places(vertices)
    _, first = np.unique(places, return_index=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    corners = rank[places]
    cloud = cloud_from_points(file, vertices[first[order]], {})
    return with_faces(file, cloud, corners, np.full(len(corners) // 3, 3))


def write_mesh(output: OutputFile, mesh: Mesh) -> None:
    """Write binary triangles. A mesh far from the origin would lose its precision and is refused."""
    rounding = np.abs(mesh.vertices).max() * 2.0**-24
    if rounding > MAX_ROUNDING * extent(mesh.vertices):
        raise InputError(
            f"points: so far from the origin that .stl rounds them by {rounding:.2g}; move them to it, or write .ply"
        )
    _, normals = face_areas(mesh)
    output.file.write(b"graphreg".ljust(80) + len(mesh.faces).to_bytes(4, "little"))
    for rows in output.row_chunks(len(mesh.faces), STL_TRIANGLE.itemsize):
        records = np.zeros(rows.stop - rows.start, STL_TRIANGLE)
        records["normal"] = normals[rows]
        records["vertices"] = mesh.vertices[mesh.faces[rows]]
        output.file.write(records.data)
