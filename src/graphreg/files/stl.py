"""STL: the corners of triangles, each once. A cloud has no triangles, so it is not written."""

from __future__ import annotations

import numpy as np

from graphreg.clouds import Cloud
from graphreg.files.input_file import InputFile

TRIANGLE = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read(file: InputFile) -> Cloud:
    """The different corners, in the order in which they first appear."""
    start = file.peek(84)
    triangles = int.from_bytes(start[80:84], "little")
    # Binary files may begin with the word solid as well, but their size gives them away.
    if len(start) == 84 and file.size == 84 + triangles * TRIANGLE.itemsize:
        file.read_bytes(84, "bytes of header")
        corners = file.read_records(TRIANGLE, triangles, "triangles")["corners"].reshape(-1, 3).astype(np.float64)
    elif start.lstrip()[:5].lower() == b"solid":
        end = min(1000, file.size)
        if b"endsolid" not in file.read_at(file.size - end, end).lower():
            file.fail("ends before its endsolid")
        corners = file.read_table(-1, "fff", "corners", prefix="vertex")
        if len(corners) % 3:
            file.fail(f"holds {len(corners)} corners, which is no whole number of triangles")
    elif len(start) == 84:
        file.fail(f"says it holds {triangles} triangles, but that does not fit its size of {file.size} bytes")
    else:
        file.fail("is too short")
    _, first = np.unique(corners + 0.0, axis=0, return_index=True)  # -0 is 0
    return file.cloud(corners[np.sort(first)], {})
