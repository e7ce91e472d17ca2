"""Files of poses: 4x4 matrices as text, KITTI, TUM, g2o and npy."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphreg.clouds import Floats, as_array
from graphreg.errors import FileError, InputError
from graphreg.files.input_file import InputFile, quote
from graphreg.files.output_file import OutputFile, atomic_write
from graphreg.poses import as_pose, as_poses

# How far R R^T of a pose in a file may be from the identity: 3DMatch has some whose scale is off by a thousandth.
POSE_FILE_TOLERANCE = 2e-3
VERTEX = "VERTEX_SE3:QUAT"
# The numbers in a row of each kind of text.
WIDTHS = {"matrix": 4, "kitti": 12, "tum": 8, "g2o": 8}
POSE_SUFFIXES = {".txt": "matrix", ".kitti": "kitti", ".tum": "tum", ".g2o": "g2o", ".npy": "npy"}


def read_poses(path: str | os.PathLike[str], *, format: str | None = None) -> Floats:
    """The poses of a file, (N, 4, 4), each x_world = T x, in the order of the file; those of g2o by their numbers.

    path    the file; of its suffix only .g2o and .npy count, other files are text whose first row tells the format
    format  one of these, where that is not to be found out

    matrix  four lines of four numbers a pose
    kitti   a line a pose: the twelve numbers of a 3x4 matrix, row by row
    tum     a line a pose: time tx ty tz qx qy qz qw; the times are passed over
    g2o     lines VERTEX_SE3:QUAT number tx ty tz qx qy qz qw; all other lines are passed over, see `read_graph`
    npy     an array (4, 4) or (N, 4, 4)

    What is no rigid motion, or no such file at all, is a FileError with the number of the line.
    """
    path = Path(path)
    chosen = POSE_SUFFIXES.get(path.suffix.lower(), "") if format is None else _known(format)
    if path.is_dir():
        raise FileError(path, "is a folder, not a file")
    if path.exists() and not path.is_file():
        raise FileError(path, "is not a regular file")
    with InputFile(path) as file:
        if chosen == "npy":
            return _from_array(file)
        if format is None and chosen != "g2o":
            chosen = _guessed(file)
        return _from_text(file, chosen)


def write_poses(
    path: str | os.PathLike[str], poses: Any, *, format: str | None = None, times: ArrayLike | None = None
) -> None:
    """Write one pose (4, 4) or several (N, 4, 4) to a file that appears whole or not at all.

    path    the file
    poses   4x4 matrices, or a result of `register`
    format  as in `read_poses`; by default the suffix says it: .txt (matrix), .kitti, .tum, .g2o, .npy
    times   (N,), one for each pose, only for tum; by default 0, 1, 2, ...

    Matrices are written to the last bit. As quaternions, in tum and g2o, rotations are kept to rounding.
    """
    path = Path(path)
    chosen = pose_format(path) if format is None else _known(format)
    motions = as_poses(poses)
    stamps = _stamps(times, len(motions), chosen)
    with atomic_write(path) as output:
        _WRITERS[chosen](output, motions, stamps)


def read_pose(path: str | os.PathLike[str], *, format: str | None = None) -> Floats:
    """The one pose of a file, (4, 4)."""
    poses = read_poses(path, format=format)
    if len(poses) != 1:
        raise FileError(Path(path), f"holds {len(poses)} poses, expected one")
    return np.asarray(poses[0])


def pose_format(path: Path) -> str:
    """What a suffix stands for; FileError where it is not known."""
    suffix = path.suffix.lower()
    if suffix not in POSE_SUFFIXES:
        said = f"its suffix {path.suffix!r} is not known" if suffix else "it has no suffix"
        raise FileError(path, f"{said}; poses are {' '.join(POSE_SUFFIXES)}")
    return POSE_SUFFIXES[suffix]


def _known(format: str) -> str:
    if format not in _WRITERS:
        raise InputError(f"format: expected one of {', '.join(_WRITERS)}, got {format!r}")
    return format


def _stamps(times: ArrayLike | None, count: int, format: str) -> Floats:
    if times is None:
        return np.arange(count, dtype=np.float64)
    if format != "tum":
        raise InputError(f"times: {format} files hold none, only tum does")
    try:
        stamps = np.asarray(as_array(times), np.float64)
    except (TypeError, ValueError, RuntimeError, BufferError) as problem:
        raise InputError(f"times: expected numbers, got {type(times).__name__}") from problem
    if stamps.shape != (count,) or not np.isfinite(stamps).all():
        raise InputError(f"times: expected {count} finite numbers, one for each pose, got shape {stamps.shape}")
    return stamps


# ------------------------------------------------------------------------------------------------------- reading


def _from_array(file: InputFile) -> Floats:
    from graphreg.files.arrays import array_of

    array = array_of(file)
    if array.dtype.kind not in "iuf" or array.ndim not in (2, 3) or array.shape[-2:] != (4, 4) or not len(array):
        file.fail(f"holds an array of shape {array.shape} and type {array.dtype}, not (4, 4) or (N, 4, 4) numbers")
    return _rigid(file, array.reshape(-1, 4, 4), lambda number: f"pose {number}")


def _next_row(file: InputFile) -> str | None:
    """The next line that is neither blank nor a comment, which stays where it is; None where there is none."""
    while (line := file.peek_line()) is not None:
        if text := _without_comment(line):
            return text
        file.read_line()
    return None


def _guessed(file: InputFile) -> str:
    """The kind of text, by how many numbers its first row has."""
    text = _next_row(file) or file.fail("holds no poses")
    kinds = {WIDTHS[kind]: kind for kind in ("matrix", "kitti", "tum")}
    if len(text.split()) not in kinds:
        file.fail(f"its first row should be 4 numbers (a 4x4 matrix), 12 (KITTI) or 8 (TUM), but is {quote(text)}")
    return kinds[len(text.split())]


def _from_text(file: InputFile, format: str) -> Floats:
    prefix = VERTEX.lower() if format == "g2o" else ""

    def line(row: int) -> str:
        return f"line {line_numbers(file.path, prefix)[row]}"

    if format == "matrix":
        matrices = []
        while _next_row(file) is not None:
            matrices.append(file.read_table(4, "ffff", "rows of a 4x4 matrix", comments=True))
        if not matrices:
            file.fail("holds no poses")
        return _rigid(file, matrices, lambda number: line(4 * number))
    rows = file.read_table(-1, "f" * WIDTHS[format], "poses", comments=True, prefix=prefix)
    if len(rows) == 0:
        file.fail(f"holds no lines {VERTEX}" if prefix else "holds no poses")
    if format == "kitti":
        last = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(rows), 1, 4))
        return _rigid(file, np.concatenate([rows.reshape(-1, 3, 4), last], axis=1), line)
    motions = from_quaternions(file, rows[:, 1:], line)
    if format == "tum":
        return motions
    numbers, first = np.unique(rows[:, 0], return_index=True)
    if len(numbers) < len(rows):
        again = next(row for row in range(len(rows)) if row not in first)
        file.fail(f"{line(again)} is a second vertex {rows[again, 0]:.0f}")
    return motions[first]


def _rigid(file: InputFile, matrices: Iterable[NDArray[Any]], place: Callable[[int], str]) -> Floats:
    """The matrices as motions; where one is none, `place` says where that is."""
    motions = []
    for number, matrix in enumerate(matrices):
        try:
            motions.append(as_pose(matrix, "the pose", POSE_FILE_TOLERANCE))
        except InputError as problem:
            file.fail(f"{place(number)}: {problem}")
    return np.stack(motions)


def from_quaternions(file: InputFile, rows: Floats, place: Callable[[int], str]) -> Floats:
    """Rows tx ty tz qx qy qz qw as motions."""
    from scipy.spatial.transform import Rotation

    wrong = ~np.isfinite(rows).all(axis=1) | ~(np.abs(np.linalg.norm(rows[:, 3:], axis=1) - 1) < POSE_FILE_TOLERANCE)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        shown = " ".join(f"{value:g}" for value in rows[row])
        file.fail(f"{place(row)}: expected a translation and a unit quaternion, got {shown}")
    motions = np.tile(np.eye(4), (len(rows), 1, 1))
    motions[:, :3, :3] = Rotation.from_quat(rows[:, 3:]).as_matrix()
    motions[:, :3, 3] = rows[:, :3]
    return motions


def line_numbers(path: Path, prefix: str) -> list[int]:
    """Of the lines that are rows. Only who tells of a mistake wants to know, so the file is read again for it."""
    lines = path.read_text(encoding="utf-8", errors="backslashreplace").split("\n")
    texts = ((number, _without_comment(line)) for number, line in enumerate(lines, 1))
    return [number for number, text in texts if text and (not prefix or text.split()[0].lower() == prefix)]


def _without_comment(line: str) -> str:
    return re.split("#|//", line)[0].strip()


# ------------------------------------------------------------------------------------------------------- writing


def _write_matrices(output: OutputFile, motions: Floats, times: Floats) -> None:
    """Four lines each, with an empty one between two."""
    blocks = ("\n".join(map(numbers_of, motion)) for motion in motions)
    output.file.write(("\n\n".join(blocks) + "\n").encode())


def _write_kitti(output: OutputFile, motions: Floats, times: Floats) -> None:
    _write_lines(output, map(numbers_of, motions[:, :3].reshape(-1, 12)))


def _write_tum(output: OutputFile, motions: Floats, times: Floats) -> None:
    _write_lines(output, map(numbers_of, np.column_stack([times, quaternions(motions)])))


def _write_g2o(output: OutputFile, motions: Floats, times: Floats) -> None:
    _write_lines(output, (f"{VERTEX} {number} {numbers_of(row)}" for number, row in enumerate(quaternions(motions))))


def _write_npy(output: OutputFile, motions: Floats, times: Floats) -> None:
    """(4, 4) of one pose, as a user of numpy expects."""
    array = motions[0] if len(motions) == 1 else motions
    np.lib.format.write_array(output.file, array.astype("<f8", copy=False), allow_pickle=False)


def _write_lines(output: OutputFile, lines: Iterable[str]) -> None:
    output.file.write("".join(f"{line}\n" for line in lines).encode())


def numbers_of(values: Floats) -> str:
    """With all the digits that float64 has."""
    return " ".join(map(repr, values.tolist()))


def quaternions(motions: Floats) -> Floats:
    """Rows tx ty tz qx qy qz qw."""
    from scipy.spatial.transform import Rotation

    return np.column_stack([motions[:, :3, 3], Rotation.from_matrix(motions[:, :3, :3]).as_quat()])


_WRITERS: dict[str, Callable[[OutputFile, Floats, Floats], None]] = {
    "matrix": _write_matrices,
    "kitti": _write_kitti,
    "tum": _write_tum,
    "g2o": _write_g2o,
    "npy": _write_npy,
}
