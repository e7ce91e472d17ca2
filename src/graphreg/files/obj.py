"""OBJ: the vertices (v lines) of a mesh. Everything else is ignored."""

from __future__ import annotations

from graphreg.clouds import Cloud
from graphreg.files.attribute_columns import cloud_from_points
from graphreg.files.input_file import InputFile
from graphreg.files.output_file import OutputFile
from graphreg.files.text import write_lines

OBJ_COLOURS = ("red", "green", "blue")


def read(file: InputFile) -> Cloud:
    """Read vertices, with red, green, blue where the first one has six numbers."""
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
    return cloud_from_points(file, table[:, :3], colours)


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write one v line per point."""
    write_lines(output, cloud, "v {!r} {!r} {!r}")
