"""OBJ: the vertices (v lines) and faces (f lines) of a mesh. Everything else is ignored."""

from __future__ import annotations

import graphreg._core as _core
from graphreg.clouds import Cloud
from graphreg.files.attribute_columns import cloud_from_points
from graphreg.files.faces import vertex_cloud, with_faces, write_face_lines
from graphreg.files.input_file import CHUNK_BYTES, InputFile, quote
from graphreg.files.output_file import OutputFile
from graphreg.files.text import write_lines
from graphreg.meshes.triangle_mesh import Mesh

OBJ_COLOURS = ("red", "green", "blue")


def read(file: InputFile) -> Cloud | Mesh:
    """Read vertices and faces; vertices with red, green, blue where the first one has six numbers."""
    first: list[str] = []
    while first[:1] != ["v"]:
        line = file.peek_line()
        if line is None:
            file.fail("has no points")
        first = line.lower().split()
        if first[:1] != ["v"]:
            file.read_line()
    coloured = len(first) == 7
    table = file.read_table(-1, "f" * (6 if coloured else 3), "points", exact=coloured, prefix="v")
    colours = {name: table[:, 3 + i].copy() for i, name in enumerate(OBJ_COLOURS) if coloured}
    cloud = cloud_from_points(file, table[:, :3], colours)
    text = file.read_at(0, file.size) + b"\n"
    corners, sizes, stop = _core.parse_obj_faces(text)
    if stop < len(text):
        number = text.count(b"\n", 0, stop) + 1
        file.fail(f"line {number}: expected a face of at least 3 vertices, got {quote(text[stop:][:CHUNK_BYTES])}")
    return with_faces(file, cloud, corners, sizes)


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write one v line per point."""
    write_lines(output, cloud, "v {!r} {!r} {!r}")


def write_mesh(output: OutputFile, mesh: Mesh) -> None:
    """Write v and f lines."""
    write(output, vertex_cloud(mesh))
    write_face_lines(output, mesh.faces + 1, "f {} {} {}")
