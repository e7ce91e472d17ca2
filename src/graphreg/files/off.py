"""OFF: vertices and faces of a mesh as text, with normals (NOFF) and colours (COFF)."""

from __future__ import annotations

import re

from graphreg.clouds import Cloud
from graphreg.files.attribute_columns import cloud_from_points
from graphreg.files.faces import vertex_cloud, with_faces, write_face_lines
from graphreg.files.input_file import InputFile, parse_integer, quote
from graphreg.files.output_file import OutputFile
from graphreg.files.text import write_lines
from graphreg.meshes.triangle_mesh import Mesh

OFF_KEYWORD = re.compile(r"(C?)(N?)OFF\s*(.*)")


def read(file: InputFile) -> Cloud | Mesh:
    """Read vertices and faces; colours of faces are ignored."""
    line = _next_line(file)
    match = OFF_KEYWORD.fullmatch(line)
    if match is None:
        file.fail(f"expected OFF, COFF, NOFF or CNOFF at its beginning, got {quote(line)}")
    coloured, with_normals, rest = match.groups()
    counts = [parse_integer(word) for word in (rest or _next_line(file)).split()]
    if len(counts) not in (2, 3) or any(count is None or count < 0 for count in counts):
        file.fail("expected the numbers of vertices, faces and edges after OFF")
    vertices, faces = counts[0] or 0, counts[1] or 0
    if not vertices:
        file.fail("has no points")
    present = len(_next_line(file, take=False).split())
    names = ["nx", "ny", "nz"] if with_normals else []
    names += ["red", "green", "blue", "alpha"][: max(present - 3 - len(names), 0)] if coloured else []
    table = file.read_table(vertices, "f" * (3 + len(names)), "vertices", exact=False, comments=True)
    corners, sizes = file.read_faces(faces, "p", "faces")
    attributes = {name: table[:, 3 + i].copy() for i, name in enumerate(names)}
    return with_faces(file, cloud_from_points(file, table[:, :3], attributes), corners, sizes)


def _next_line(file: InputFile, take: bool = True) -> str:
    """The next line that is not blank, without its comment."""
    while True:
        line = file.peek_line()
        if line is None:
            file.fail("ends within its header")
        text = line.split("#")[0].strip()
        if take or not text:
            file.read_line()
        if text:
            return text


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write vertices without faces."""
    output.file.write(f"OFF\n{len(cloud)} 0 0\n".encode())
    write_lines(output, cloud, "{!r} {!r} {!r}")


def write_mesh(output: OutputFile, mesh: Mesh) -> None:
    """Write vertices and faces."""
    output.file.write(f"OFF\n{len(mesh.vertices)} {len(mesh.faces)} 0\n".encode())
    write_lines(output, vertex_cloud(mesh), "{!r} {!r} {!r}")
    write_face_lines(output, mesh.faces, "3 {} {} {}")
