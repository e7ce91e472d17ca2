"""WHU-TLS (Dong et al., ISPRS J. 2020): 115 terrestrial laser scans of eleven scenes, from a railway to a forest.

    pairs = whu_tls.pairs("whu_tls", "2-HighSpeedRailway")

The layout, as described by others who have the data:

    3-Mountain/1-RawPointCloud/1.las, ...                   the scans, each in its own frame, in metres
    3-Mountain/3-GroundTruth/1-2/transformation.txt         a 4x4 matrix T: x_2 = T x_1

That the first number is the source is inferred from two other projects that use these files. In some scenes the file is
said to be called transformation-GT.txt. The forest (scene 4) has another layout, which is not read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from graphreg.datasets.scan_files import PairFile, select, unique_names
from graphreg.errors import FileError
from graphreg.files import formats
from graphreg.files.folders import as_folder, natural_sort_key
from graphreg.files.pose_files import read_pose

TRANSFORM_FILES = ("transformation.txt", "transformation-GT.txt")


def pairs(folder: str | os.PathLike[str], scene: str | None = None) -> list[PairFile]:
    """List the pairs of a scene that have a ground truth, sorted by number.

    Parameters
    ----------
    folder : path
        The data set, or a folder with one scene.
    scene : str, optional
        Such as "2-HighSpeedRailway"; not needed if there is only one.

    Returns
    -------
    list of PairFile

    Raises
    ------
    FileError
        If a file is missing or damaged.
    """
    root = as_folder(folder)
    scenes = (path.parent for path in sorted(root.rglob("3-GroundTruth")) if path.is_dir())
    found = unique_names((path.resolve().name, path) for path in scenes)
    if not found:
        raise FileError(root, "contains no folder 3-GroundTruth with the transforms between the scans")
    chosen = select(found, scene, "scene")
    truths = chosen / "3-GroundTruth"
    named = sorted((path for path in truths.iterdir() if path.is_dir()), key=lambda path: natural_sort_key(path.name))
    result = []
    for path in named:
        numbers = re.fullmatch("([0-9]+)-([0-9]+)", path.name)
        if numbers is None:
            raise FileError(path, "should be named after a pair of scans, such as 1-2")
        source, target = (int(number) for number in numbers.groups())
        result.append(
            PairFile(
                f"{source} to {target}",
                _scan(chosen, source),
                _scan(chosen, target),
                read_pose(_transform_file(path), format="matrix"),
            )
        )
    if not result:
        raise FileError(truths, "contains no pairs (folders such as 1-2)")
    return result


def _transform_file(folder: Path) -> Path:
    for name in TRANSFORM_FILES:
        if (folder / name).is_file():
            return folder / name
    raise FileError(folder, f"contains neither {' nor '.join(TRANSFORM_FILES)}")


def _scan(scene: Path, number: int) -> Path:
    """The scan of that number, with any leading zeros."""
    folder = scene / "1-RawPointCloud"
    suffixes = formats()
    found = sorted(
        path
        for path in folder.glob("*")
        if path.suffix.lower() in suffixes and path.stem.isdecimal() and int(path.stem) == number
    )
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise FileError(folder, f"expected one scan with the number {number}, such as {number}.las, found {names}")
    return found[0]
