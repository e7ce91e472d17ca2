"""OBJ: the vertices (v lines) of a mesh. Everything else in it is passed over."""

from __future__ import annotations

from graphreg.clouds import Cloud
from graphreg.files.input_file import InputFile
from graphreg.files.output_file import OutputFile
from graphreg.files.text import write_lines

COLOURS = ("red", "green", "blue")


def read(file: InputFile) -> Cloud:
    """Vertices, with red, green, blue where the first one has six numbers."""
    first: list[str] = []
    while first[:1] != ["v"]:
        line = file.peek_line()
        if line is None:
            file.fail("holds no points")
        first = line.lower().split()
        if first[:1] != ["v"]:
            file.read_line()
    coloured = len(first) == 7
    table = file.read_table(-1, "f" * (6 if coloured else 3), "points", exact=coloured, prefix="v")
    return file.cloud(table[:, :3], {name: table[:, 3 + i].copy() for i, name in enumerate(COLOURS) if coloured})


def write(output: OutputFile, cloud: Cloud) -> None:
    """One v line a point."""
    write_lines(output, cloud, "v {!r} {!r} {!r}")
