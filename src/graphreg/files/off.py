"""OFF: the vertices of a mesh, as text, with normals (NOFF) and colours (COFF) where it has them."""

from __future__ import annotations

import re

from graphreg.clouds import Cloud
from graphreg.files.sink import Sink
from graphreg.files.source import Source, quote, whole_number
from graphreg.files.text import write_lines

KEYWORD = re.compile(r"(C?)(N?)OFF\s*(.*)")


def read(source: Source) -> Cloud:
    line = _next_line(source)
    match = KEYWORD.fullmatch(line)
    if match is None:
        source.fail(f"should begin with OFF, COFF, NOFF or CNOFF, but begins with {quote(line)}")
    coloured, with_normals, rest = match.groups()
    counts = [whole_number(word) for word in (rest or _next_line(source)).split()]
    if len(counts) not in (2, 3) or any(count is None or count < 0 for count in counts):
        source.fail("after OFF there should be the numbers of vertices, faces and edges")
    vertices, faces = counts[0] or 0, counts[1] or 0
    if not vertices:
        source.fail("holds no points")
    present = len(_next_line(source, take=False).split())
    names = ["nx", "ny", "nz"] if with_normals else []
    names += ["red", "green", "blue", "alpha"][: max(present - 3 - len(names), 0)] if coloured else []
    table = source.table(vertices, "f" * (3 + len(names)), "vertices", exact=False, comments=True)
    source.table(faces, "", "faces", exact=False, comments=True)
    return source.cloud(table[:, :3], {name: table[:, 3 + i].copy() for i, name in enumerate(names)})


def _next_line(source: Source, take: bool = True) -> str:
    """The next line that holds something, without its comment."""
    while True:
        line = source.peek_line()
        if line is None:
            source.fail("ends within its header")
        text = line.split("#")[0].strip()
        if take or not text:
            source.line()
        if text:
            return text


def write(sink: Sink, cloud: Cloud) -> None:
    """Vertices without faces."""
    sink.file.write(f"OFF\n{len(cloud)} 0 0\n".encode())
    write_lines(sink, cloud, "{!r} {!r} {!r}")
