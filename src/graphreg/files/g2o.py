"""Pose graphs in the text format of g2o.

    VERTEX_SE3:QUAT number tx ty tz qx qy qz qw                   T_world_scan
    EDGE_SE3:QUAT   i j    tx ty tz qx qy qz qw  I11 I12 ... I66  T_i_j, and the upper triangle of its information

The information is that of g2o itself: of the translation and of the vector part of the quaternion of Z^-1 P_i^-1 P_j,
for the measurement Z = T_i_j and the poses P. That vector is half of a small rotation vector; some other programs take
it for the whole.
"""

from __future__ import annotations

import os

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import FileError
from graphreg.files.input_file import InputFile, as_path
from graphreg.files.output_file import atomic_write
from graphreg.files.pose_files import G2O_VERTEX, format_row, from_quaternions, read_poses, row_lines, to_quaternions
from graphreg.poses import PoseGraph, adjoint

G2O_EDGE = "EDGE_SE3:QUAT"
# Derived: an information times the square of a translation must stay finite in float64.
MAX_NUMBER = 1e75
UPPER_TRIANGLE = np.triu_indices(6)


def read_graph(path: str | os.PathLike[str]) -> PoseGraph:
    """Read the pose graph of a .g2o file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    PoseGraph
        Poses are sorted by their number. Lines of other kinds are ignored.

    Raises
    ------
    FileError
        Where a line cannot be read; the message has its number.
    """
    path = as_path(path)
    poses = read_poses(path, format="g2o")
    with InputFile(path) as file:
        vertices = file.read_table(-1, "f" * 8, "vertices", comments=True, prefix=G2O_VERTEX.lower())
    numbers = np.unique(vertices[:, 0])
    with InputFile(path) as file:
        rows = file.read_table(-1, "f" * 30, "edges", comments=True, prefix=G2O_EDGE.lower())

        def line(row: int) -> str:
            return f"line {row_lines(path, G2O_EDGE.lower())[row]}"

        ends = np.searchsorted(numbers, rows[:, :2]).clip(0, len(numbers) - 1)
        unknown = (numbers[ends] != rows[:, :2]).any(axis=1) | (rows[:, 0] == rows[:, 1])
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            file.fail(f"{line(row)}: expected two vertices of the file, got {rows[row, 0]:g} and {rows[row, 1]:g}")
        usable = (np.abs(rows) <= MAX_NUMBER).all(axis=1)
        if not usable.all():
            row = int(np.flatnonzero(~usable)[0])
            file.fail(f"{line(row)}: expected finite numbers, of {MAX_NUMBER:g} at most")
        transforms = from_quaternions(file, rows[:, 2:9], line) if len(rows) else np.zeros((0, 4, 4))
    information = np.zeros((len(rows), 6, 6))
    upper, lower = UPPER_TRIANGLE
    information[:, upper, lower] = information[:, lower, upper] = rows[:, 9:]
    to_g2o = np.linalg.inv(_twists_from_g2o(transforms))
    # The second vertex of an edge is the source.
    return PoseGraph(poses, ends[:, ::-1], transforms, to_g2o.transpose(0, 2, 1) @ information @ to_g2o)


def write_graph(path: str | os.PathLike[str], graph: PoseGraph) -> None:
    """Write a pose graph to a .g2o file. On any failure an existing file stays as it was.

    Parameters
    ----------
    path : str or path-like
    graph : PoseGraph
    """
    path = as_path(path)
    if path.suffix.lower() != ".g2o":
        raise FileError(path, "expected a name that ends in .g2o for a pose graph")
    from_g2o = _twists_from_g2o(graph.transforms)
    information = from_g2o.transpose(0, 2, 1) @ graph.information @ from_g2o
    lines = [f"{G2O_VERTEX} {number} {format_row(row)}\n" for number, row in enumerate(to_quaternions(graph.poses))]
    for (source, target), transformation, values in zip(
        graph.pairs, graph.transforms, information[:, UPPER_TRIANGLE[0], UPPER_TRIANGLE[1]], strict=True
    ):
        row = format_row(to_quaternions(transformation[None])[0])
        lines.append(f"{G2O_EDGE} {target} {source} {row} {format_row(values)}\n")
    with atomic_write(path) as output:
        output.file.write("".join(lines).encode())


def _twists_from_g2o(transforms: Floats) -> Floats:
    """(E, 6, 6) matrices from the small transforms of g2o to those of `PoseGraph.information`.

    Those of g2o are on the right of Z, the translation first, then half of the rotation vector: Z exp(e) = exp(d) Z,
    and d is the adjoint of Z times e.
    """
    matrices = adjoint(transforms)
    return np.concatenate([matrices[:, :, 3:], 2 * matrices[:, :, :3]], axis=2)
