"""Pose graphs in g2o's text format.

    VERTEX_SE3:QUAT number tx ty tz qx qy qz qw                  x_world = P x
    EDGE_SE3:QUAT   i j    tx ty tz qx qy qz qw  I11 I12 ... I66  x_i = Z x_j, and the upper half of its information

The information is that of g2o itself: of the shift and of the vector part of the quaternion of Z^-1 P_i^-1 P_j. That
vector is half of a small turn; some other programs take it for the whole.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import FileError
from graphreg.files.input_file import InputFile
from graphreg.files.output_file import atomic_write
from graphreg.files.pose_files import VERTEX, from_quaternions, line_numbers, numbers_of, quaternions, read_poses
from graphreg.poses import PoseGraph, adjoint

EDGE = "EDGE_SE3:QUAT"
UPPER = np.triu_indices(6)


def read_graph(path: str | os.PathLike[str]) -> PoseGraph:
    """The pose graph of a .g2o file; poses are in the order of their numbers. All other lines are passed over."""
    path = Path(path)
    poses = read_poses(path, format="g2o")
    with InputFile(path) as source:
        numbers = np.unique(source.read_table(-1, "f" * 8, "vertices", comments=True, prefix=VERTEX.lower())[:, 0])
    with InputFile(path) as source:
        rows = source.read_table(-1, "f" * 30, "edges", comments=True, prefix=EDGE.lower())

        def line(row: int) -> str:
            return f"line {line_numbers(path, EDGE.lower())[row]}"

        ends = np.searchsorted(numbers, rows[:, :2]).clip(0, len(numbers) - 1)
        unknown = (numbers[ends] != rows[:, :2]).any(axis=1) | (rows[:, 0] == rows[:, 1])
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            source.fail(f"{line(row)}: expected two vertices of the file, got {rows[row, 0]:g} and {rows[row, 1]:g}")
        if not np.isfinite(rows).all():
            row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            source.fail(f"{line(row)}: expected finite numbers")
        motions = from_quaternions(source, rows[:, 2:9], line) if len(rows) else np.zeros((0, 4, 4))
    information = np.zeros((len(rows), 6, 6))
    information[:, UPPER[0], UPPER[1]] = information[:, UPPER[1], UPPER[0]] = rows[:, 9:]
    back = np.linalg.inv(_from_g2o(motions))
    # The second end is where the motion begins.
    return PoseGraph(poses, ends[:, ::-1], motions, back.transpose(0, 2, 1) @ information @ back)


def write_graph(path: str | os.PathLike[str], graph: PoseGraph) -> None:
    """Write a pose graph to a .g2o file that appears whole or not at all."""
    path = Path(path)
    if path.suffix.lower() != ".g2o":
        raise FileError(path, "expected a name that ends in .g2o, for a pose graph is written to it")
    change = _from_g2o(graph.transforms)
    information = change.transpose(0, 2, 1) @ graph.information @ change
    lines = [f"{VERTEX} {number} {numbers_of(row)}\n" for number, row in enumerate(quaternions(graph.poses))]
    for (source, target), motion, numbers in zip(
        graph.pairs, graph.transforms, information[:, UPPER[0], UPPER[1]], strict=True
    ):
        lines.append(f"{EDGE} {target} {source} {numbers_of(quaternions(motion[None])[0])} {numbers_of(numbers)}\n")
    with atomic_write(path) as output:
        output.file.write("".join(lines).encode())


def _from_g2o(motions: Floats) -> Floats:
    """(E, 6, 6), from g2o's small motions to ours.

    Its are before Z, the shift first, then half of the turn: Z exp(e) = exp(d) Z, and d is the adjoint of Z times e.
    """
    change = adjoint(motions)
    return np.concatenate([change[:, :, 3:], 2 * change[:, :, :3]], axis=2)
