"""3DMatch (Zeng et al., CVPR 2017): fragments of rooms, in metres, and the transforms between those that overlap.

    pairs = threedmatch.pairs("3dmatch", "7-scenes-redkitchen")

The layout is that of its geometric registration benchmark:

    7-scenes-redkitchen/cloud_bin_0.ply, ...
    7-scenes-redkitchen-evaluation/gt.log           or gt.log beside the fragments

A record of gt.log is a line `i j n` and four rows of a matrix T: x_i = T x_j, of n fragments. The benchmark counts only
pairs that do not follow each other (j > i + 1), and weighs errors by gt.info, which is not read here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

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
    result: dict[str, PairFile] = {}
    with InputFile(log) as file:
        while (line := file.read_line()) is not None:
            if not line.strip():
                continue
            target, source = _indices(file, line)
            name = f"{source} to {target}"
            if name in result:
                file.fail(f"has the pair {target} {source} twice")
            rows = file.read_table(4, "ffff", "rows of a transform")
            T_target_source = as_transform(log, rows, f"pair {target} {source}")
            result[name] = PairFile(name, _fragment(log, source), _fragment(log, target), T_target_source)
        if not result:
            file.fail("contains no pairs")
    return list(result.values())


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
