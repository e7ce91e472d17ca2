"""Files of poses: 4x4 matrices as text, KITTI, TUM, g2o and npy."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphreg.clouds import Floats, as_floats
from graphreg.errors import FileError, InputError
from graphreg.files.input_file import InputFile, as_path, quote, require_file
from graphreg.files.output_file import OutputFile, atomic_write
from graphreg.poses import as_pose, as_poses, as_similarity

# Chosen: the largest element of R R^T - I that is accepted from a file; some poses of 3DMatch have a scale that is off
# by a thousandth.
POSE_FILE_TOLERANCE = 2e-3
G2O_VERTEX = "VERTEX_SE3:QUAT"
# Numbers in a row of each text format.
ROW_LENGTHS = {"matrix": 4, "kitti": 12, "tum": 8, "g2o": 8}
POSE_SUFFIXES = {".txt": "matrix", ".kitti": "kitti", ".tum": "tum", ".g2o": "g2o", ".npy": "npy"}


def read_poses(path: str | os.PathLike[str], *, format: str | None = None) -> Floats:
    """Read the poses of a file.

    Parameters
    ----------
    path : str or path-like
    format : {"matrix", "kitti", "tum", "g2o", "npy"}, optional
        By default the suffix .g2o or .npy selects it; other files are text whose first row shows the format.

        - matrix: four lines of four numbers per pose
        - kitti: one line per pose, the twelve numbers of a 3x4 matrix, row by row
        - tum: one line per pose, time tx ty tz qx qy qz qw; times are ignored
        - g2o: lines VERTEX_SE3:QUAT number tx ty tz qx qy qz qw; other lines are ignored
        - npy: an array (4, 4) or (N, 4, 4)

    Returns
    -------
    (N, 4, 4) ndarray
        T_world_scan of each scan, in the order of the file; those of g2o by their number.

    Raises
    ------
    FileError
        Where the file is of no such format, or a pose is no rigid transform; the message has the number of the line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "poses.kitti")
    ...     _ = path.write_text("1 0 0 4 0 1 0 5 0 0 1 6\\n")
    ...     read_poses(path)
    array([[[1., 0., 0., 4.],
            [0., 1., 0., 5.],
            [0., 0., 1., 6.],
            [0., 0., 0., 1.]]])
    """
    return _read(as_path(path), format, as_pose)


def write_poses(
    path: str | os.PathLike[str],
    poses: Any,
    *,
    format: str | None = None,
    times: ArrayLike | None = None,
    similarity: bool = False,
) -> None:
    """Write one pose or several to a file. On any failure an existing file stays as it was.

    Matrices are written exactly. As quaternions, in tum and g2o, rotations are exact to rounding.

    Parameters
    ----------
    path : str or path-like
    poses : (4, 4) or (N, 4, 4) array_like, or Result
        T_world_scan, or the result of `register`.
    format : {"matrix", "kitti", "tum", "g2o", "npy"}, optional
        As in `read_poses`; by default by the suffix: .txt (matrix), .kitti, .tum, .g2o, .npy.
    times : (N,) array_like, optional
        Time of each pose, for tum alone; by default 0, 1, 2, ...
    similarity : bool, default False
        Whether poses may have a scale; not in tum and g2o.

    Raises
    ------
    FileError, InputError, OSError
        Where the file, the format or a pose cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "trajectory.tum")
    ...     write_poses(path, [np.eye(4), np.eye(4)], times=[0.0, 0.1])
    ...     print(path.read_text())
    0.0 0.0 0.0 0.0 0.0 0.0 0.0 1.0
    0.1 0.0 0.0 0.0 0.0 0.0 0.0 1.0
    <BLANKLINE>
    """
    path = as_path(path)
    chosen = pose_format(path) if format is None else _known_format(format)
    if similarity and chosen in ("tum", "g2o"):
        raise InputError(f"format: {chosen} files have no scale; expected matrix, kitti or npy")
    matrices = as_poses(poses, similarity=similarity)
    stamps = _timestamps(times, len(matrices), chosen)
    with atomic_write(path) as output:
        _WRITERS[chosen](output, matrices, stamps)


def read_pose(path: str | os.PathLike[str], *, format: str | None = None, similarity: bool = False) -> Floats:
    """Read a file of one pose.

    Parameters
    ----------
    path, format
        As in `read_poses`.
    similarity : bool, default False
        Whether it may have a scale.

    Returns
    -------
    (4, 4) ndarray

    Raises
    ------
    FileError
        As in `read_poses`, and where the file has several poses.
    """
    poses = _read(as_path(path), format, as_similarity if similarity else as_pose)
    if len(poses) != 1:
        raise FileError(Path(path), f"has {len(poses)} poses, expected one")
    return np.asarray(poses[0])


def pose_format(path: Path) -> str:
    """The format of a suffix, see `POSE_SUFFIXES`; FileError where it is not known."""
    suffix = path.suffix.lower()
    if suffix not in POSE_SUFFIXES:
        problem = f"its suffix {path.suffix!r} is not known" if suffix else "it has no suffix"
        raise FileError(path, f"{problem}; poses are {' '.join(POSE_SUFFIXES)}")
    return POSE_SUFFIXES[suffix]


def _known_format(format: str) -> str:
    if not isinstance(format, str) or format not in _WRITERS:
        raise InputError(f"format: expected one of {', '.join(_WRITERS)}, got {format!r}")
    return format


def _timestamps(times: ArrayLike | None, count: int, format: str) -> Floats:
    if times is None:
        return np.arange(count, dtype=np.float64)
    if format != "tum":
        raise InputError(f"times: {format} files have none, only tum does")
    stamps = as_floats(times, "times")
    if stamps.shape != (count,) or not np.isfinite(stamps).all():
        raise InputError(f"times: expected {count} finite numbers, one for each pose, got shape {stamps.shape}")
    return stamps


# ------------------------------------------------------------------------------------------------------- reading

Check = Callable[[Any, str, float], Floats]
"""Validates a matrix, given its name for messages and a tolerance: `as_pose` or `as_similarity`."""


def _read(path: Path, format: str | None, check: Check) -> Floats:
    chosen = POSE_SUFFIXES.get(path.suffix.lower(), "") if format is None else _known_format(format)
    require_file(path)
    with InputFile(path) as file, np.errstate(all="ignore"):  # what is not finite is refused
        if chosen == "npy":
            return _read_array(file, check)
        if format is None and chosen != "g2o":
            chosen = _text_format(file)
        return _read_text(file, chosen, check)


def _read_array(file: InputFile, check: Check) -> Floats:
    from graphreg.files.arrays import read_array

    array = read_array(file)
    if array.dtype.kind not in "iuf" or array.ndim not in (2, 3) or array.shape[-2:] != (4, 4) or not len(array):
        file.fail(f"is an array of shape {array.shape} and type {array.dtype}, not (4, 4) or (N, 4, 4) numbers")
    return _checked(file, array.reshape(-1, 4, 4), lambda number: f"pose {number}", check)


def _peek_row(file: InputFile) -> str | None:
    """The next line that is neither blank nor a comment, without consuming it; None where there is none."""
    while (line := file.peek_line()) is not None:
        if text := _without_comment(line):
            return text
        file.read_line()
    return None


def _text_format(file: InputFile) -> str:
    """The text format, by how many numbers the first row has."""
    text = _peek_row(file) or file.fail("has no poses")
    formats = {ROW_LENGTHS[format]: format for format in ("matrix", "kitti", "tum")}
    if len(text.split()) not in formats:
        file.fail(f"expected a first row of 4 numbers (a 4x4 matrix), 12 (KITTI) or 8 (TUM), got {quote(text)}")
    return formats[len(text.split())]


def _read_text(file: InputFile, format: str, check: Check) -> Floats:
    prefix = G2O_VERTEX.lower() if format == "g2o" else ""

    def line(row: int) -> str:
        return f"line {row_lines(file.path, prefix)[row]}"

    if format == "matrix":
        matrices = []
        while _peek_row(file) is not None:
            matrices.append(file.read_table(4, "ffff", "rows of a 4x4 matrix", comments=True))
        if not matrices:
            file.fail("has no poses")
        return _checked(file, matrices, lambda number: line(4 * number), check)
    rows = file.read_table(-1, "f" * ROW_LENGTHS[format], "poses", comments=True, prefix=prefix)
    if len(rows) == 0:
        file.fail(f"has no lines {G2O_VERTEX}" if prefix else "has no poses")
    if format == "kitti":
        last = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(rows), 1, 4))
        return _checked(file, np.concatenate([rows.reshape(-1, 3, 4), last], axis=1), line, check)
    poses = from_quaternions(file, rows[:, 1:], line)
    if format == "tum":
        return poses
    numbers, first = np.unique(rows[:, 0], return_index=True)
    if len(numbers) < len(rows):
        again = next(row for row in range(len(rows)) if row not in first)
        file.fail(f"{line(again)} is a second vertex {rows[again, 0]:.0f}")
    return poses[first]


def _checked(file: InputFile, matrices: Iterable[NDArray[Any]], where: Callable[[int], str], check: Check) -> Floats:
    """Validate the matrices of a file; `where` locates one of them for error messages."""
    poses = []
    for number, matrix in enumerate(matrices):
        try:
            poses.append(check(matrix, "the pose", POSE_FILE_TOLERANCE))
        except InputError as problem:
            file.fail(f"{where(number)}: {problem}")
    return np.stack(poses)


def from_quaternions(file: InputFile, rows: Floats, where: Callable[[int], str]) -> Floats:
    """Convert rows tx ty tz qx qy qz qw to poses.

    Parameters
    ----------
    file : InputFile
        The file, for error messages.
    rows : (N, 7) ndarray
    where : callable
        Locates a row in the file, for error messages.

    Returns
    -------
    (N, 4, 4) ndarray
    """
    from scipy.spatial.transform import Rotation

    wrong = ~np.isfinite(rows).all(axis=1) | ~(np.abs(np.linalg.norm(rows[:, 3:], axis=1) - 1) < POSE_FILE_TOLERANCE)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        shown = " ".join(f"{value:g}" for value in rows[row])
        file.fail(f"{where(row)}: expected a translation and a unit quaternion, got {shown}")
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, :3] = Rotation.from_quat(rows[:, 3:]).as_matrix()
    poses[:, :3, 3] = rows[:, :3]
    return poses


def row_lines(path: Path, prefix: str) -> list[int]:
    """The line numbers of the rows with a prefix. They are needed for error messages alone, so the file is reread."""
    lines = path.read_text(encoding="utf-8", errors="backslashreplace").split("\n")
    texts = ((number, _without_comment(line)) for number, line in enumerate(lines, 1))
    return [number for number, text in texts if text and (not prefix or text.split()[0].lower() == prefix)]


def _without_comment(line: str) -> str:
    return re.split("#|//", line)[0].strip()


# ------------------------------------------------------------------------------------------------------- writing


def _write_matrices(output: OutputFile, poses: Floats, times: Floats) -> None:
    """Four lines each, with an empty one between two."""
    blocks = ("\n".join(map(format_row, matrix)) for matrix in poses)
    output.file.write(("\n\n".join(blocks) + "\n").encode())


def _write_kitti(output: OutputFile, poses: Floats, times: Floats) -> None:
    _write_lines(output, map(format_row, poses[:, :3].reshape(-1, 12)))


def _write_tum(output: OutputFile, poses: Floats, times: Floats) -> None:
    _write_lines(output, map(format_row, np.column_stack([times, to_quaternions(poses)])))


def _write_g2o(output: OutputFile, poses: Floats, times: Floats) -> None:
    rows = enumerate(to_quaternions(poses))
    _write_lines(output, (f"{G2O_VERTEX} {number} {format_row(row)}" for number, row in rows))


def _write_npy(output: OutputFile, poses: Floats, times: Floats) -> None:
    """(4, 4) of one pose, as a user of numpy expects."""
    array = poses[0] if len(poses) == 1 else poses
    np.lib.format.write_array(output.file, array.astype("<f8", copy=False), allow_pickle=False)


def _write_lines(output: OutputFile, lines: Iterable[str]) -> None:
    output.file.write("".join(f"{line}\n" for line in lines).encode())


def format_row(values: Floats) -> str:
    """Numbers with all digits of float64, separated by blanks."""
    return " ".join(map(repr, values.tolist()))


def to_quaternions(poses: Floats) -> Floats:
    """Convert (N, 4, 4) poses to (N, 7) rows tx ty tz qx qy qz qw."""
    from scipy.spatial.transform import Rotation

    return np.column_stack([poses[:, :3, 3], Rotation.from_matrix(poses[:, :3, :3]).as_quat()])


_WRITERS: dict[str, Callable[[OutputFile, Floats, Floats], None]] = {
    "matrix": _write_matrices,
    "kitti": _write_kitti,
    "tum": _write_tum,
    "g2o": _write_g2o,
    "npy": _write_npy,
}
