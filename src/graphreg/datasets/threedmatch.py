"""3DMatch (Zeng et al., CVPR 2017): fragments of rooms, in metres, and the transforms between those that overlap.

    pairs = threedmatch.pairs("3dmatch", "7-scenes-redkitchen")

The layout is that of its geometric registration benchmark:

    7-scenes-redkitchen/cloud_bin_0.ply, ...
    7-scenes-redkitchen-evaluation/gt.log           or gt.log beside the fragments

A record of gt.log is a line `i j n` and four rows of a matrix T: x_i = T x_j, of n fragments. The benchmark counts only
pairs that do not follow each other (j > i + 1), and weighs errors by gt.info: a line `i j n` and six rows of a matrix.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from graphreg.clouds import Floats
from graphreg.datasets.scan_files import PairFile, as_transform, require_file, select, unique_names
from graphreg.errors import FileError
from graphreg.files.folders import as_folder
from graphreg.files.input_file import InputFile, quote


def pairs(folder: str | os.PathLike[str], scene: str | None = None) -> list[PairFile]:
    """List the pairs of gt.log, in its order: fragment j is the source, fragment i the target.

    Parameters
    ----------
    folder : path
        The data set, or a folder with one scene.
    scene : str, optional
        Name of the folder of fragments, such as "7-scenes-redkitchen"; not needed if there is only one.

    Returns
    -------
    list of PairFile

    Raises
    ------
    FileError
        If a file is missing or damaged.
    """
    root = as_folder(folder)
    logs = unique_names((_fragments(path).name, path) for path in sorted(root.rglob("gt.log")))
    if not logs:
        raise FileError(root, "contains no gt.log; unpack the scene's -evaluation.zip beside its fragments")
    log = select(logs, scene, "scene")
    return [
        PairFile(f"{source} to {target}", _fragment(log, source), _fragment(log, target), T_target_source)
        for (target, source), T_target_source in read_log(log).items()
    ]


def read_log(path: Path) -> dict[tuple[int, int], Floats]:
    """Read a gt.log.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict of (int, int) to (4, 4) array
        T of each pair i, j, in the order of the file: x_i = T x_j.

    Raises
    ------
    FileError
        If the file is missing or damaged.
    """
    return {
        ends: as_transform(path, rows, f"pair {ends[0]} {ends[1]}")
        for ends, rows in _records(path, 4, "rows of a transform").items()
    }


def read_information(path: Path) -> dict[tuple[int, int], Floats]:
    """Read a gt.info: the information matrix (6, 6) of each pair i, j, for `correspondence_rmse`.

    Raises
    ------
    FileError
        If the file is missing or damaged.
    """
    return _records(path, 6, "rows of an information matrix")


def correspondence_rmse(error: Floats, information: Floats) -> float:
    r"""Root mean square error of a pair's ground-truth correspondences, from their information matrix.

    With the translation t and the vector part q of the unit quaternion of an error, for n correspondences the sum of
    squares is approximately :math:`(t, q)^T I (t, q)`, and :math:`I_{11} = n`.

    Parameters
    ----------
    error : (4, 4) array
        truth^-1 estimate, for transforms of the convention of gt.log.
    information : (6, 6) array
        Of gt.info.
    """
    quaternion = Rotation.from_matrix(error[:3, :3]).as_quat(canonical=True)
    vector = np.concatenate([error[:3, 3], quaternion[:3]])
    return float(np.sqrt(max(vector @ information @ vector, 0.0) / information[0, 0]))


def _records(path: Path, size: int, what: str) -> dict[tuple[int, int], Floats]:
    found: dict[tuple[int, int], Floats] = {}
    with InputFile(path) as file:
        while (line := file.read_line()) is not None:
            if not line.strip():
                continue
            target, source = _indices(file, line)
            if (target, source) in found:
                file.fail(f"has the pair {target} {source} twice")
            found[target, source] = file.read_table(size, "f" * size, what)
        if not found:
            file.fail("contains no pairs")
    return found


def _fragments(log: Path) -> Path:
    """The folder of the fragments that a gt.log refers to."""
    folder = log.parent.resolve()
    return folder.parent / folder.name.removesuffix("-evaluation")


def _fragment(log: Path, number: int) -> Path:
    return require_file(_fragments(log) / f"cloud_bin_{number}.ply", f"{log} names it")


def _indices(file: InputFile, line: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*", line)
    target, source, count = map(int, numbers.groups()) if numbers else (0, 0, 0)
    if target == source or max(target, source) >= count:
        file.fail(f"expected two fragments and their number, such as '0 4 60', got {quote(line)}")
    return target, source
