"""OBJ: the vertices (v lines) of a mesh. Everything else in it is passed over."""

from __future__ import annotations

from graphreg.clouds import Cloud
from graphreg.files.sink import Sink
from graphreg.files.source import Source
from graphreg.files.text import write_lines

COLOURS = ("red", "green", "blue")


def read(source: Source) -> Cloud:
    """Vertices, with red, green, blue where the first one has six numbers."""
    first: list[str] = []
    while first[:1] != ["v"]:
        line = source.peek_line()
        if line is None:
            source.fail("holds no points")
        first = line.lower().split()
        if first[:1] != ["v"]:
            source.line()
    coloured = len(first) == 7
    table = source.table(-1, "f" * (6 if coloured else 3), "points", exact=coloured, prefix="v")
    return source.cloud(table[:, :3], {name: table[:, 3 + i].copy() for i, name in enumerate(COLOURS) if coloured})


def write(sink: Sink, cloud: Cloud) -> None:
    """One v line a point."""
    write_lines(sink, cloud, "v {!r} {!r} {!r}")
