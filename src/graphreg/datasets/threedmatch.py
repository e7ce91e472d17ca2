"""3DMatch (Zeng et al., CVPR 2017): fragments of rooms, in metres, and the motions between those that overlap.

    pairs = threedmatch.pairs("3dmatch", "7-scenes-redkitchen")

The layout is that of the geometric registration benchmark:

    7-scenes-redkitchen/cloud_bin_0.ply, ...
    7-scenes-redkitchen-evaluation/gt.log           or gt.log beside the fragments

A record of gt.log is a line `i j n` and four rows of a matrix T: x_i = T x_j, of n fragments. The benchmark counts only
pairs that do not follow each other (j > i + 1), and weighs errors by gt.info, which is not read here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from graphreg.datasets.scanfiles import PairFile, chosen, must_be_there, rigid, unique
from graphreg.errors import FileError
from graphreg.files.folders import as_folder
from graphreg.files.input_file import InputFile, quote


def pairs(folder: str | os.PathLike[str], scene: str | None = None) -> list[PairFile]:
    """The pairs of gt.log, in its order: fragment j is the source, fragment i the target.

    folder  the data set, or what holds one scene
    scene   the folder of its fragments, such as "7-scenes-redkitchen"; may be left out where there is only one
    """
    root = as_folder(folder)
    logs = unique((_fragments(path).name, path) for path in sorted(root.rglob("gt.log")))
    if not logs:
        raise FileError(root, "holds no gt.log; unpack the scene's -evaluation.zip beside its fragments")
    log = chosen(logs, scene, "scene")
    result: dict[str, PairFile] = {}
    with InputFile(log) as source:
        while (line := source.read_line()) is not None:
            if not line.strip():
                continue
            fixed, moving = _indices(source, line)
            name = f"{moving} to {fixed}"
            if name in result:
                source.fail(f"holds the pair {fixed} {moving} twice")
            motion = rigid(log, source.read_table(4, "ffff", "rows of a motion"), f"pair {fixed} {moving}")
            result[name] = PairFile(name, _fragment(log, moving), _fragment(log, fixed), motion)
        if not result:
            source.fail("holds no pairs")
    return list(result.values())


def _fragments(log: Path) -> Path:
    """The folder of the fragments that a gt.log speaks of."""
    folder = log.parent.resolve()
    return folder.parent / folder.name.removesuffix("-evaluation")


def _fragment(log: Path, number: int) -> Path:
    return must_be_there(_fragments(log) / f"cloud_bin_{number}.ply", f"{log} names it")


def _indices(source: InputFile, line: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*", line)
    fixed, moving, count = map(int, numbers.groups()) if numbers else (0, 0, 0)
    if fixed == moving or max(fixed, moving) >= count:
        source.fail(f"should say which two of how many fragments, as in '0 4 60', but says {quote(line)}")
    return fixed, moving
