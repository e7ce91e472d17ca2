"""WHU-TLS (Dong et al., ISPRS J. 2020): 115 terrestrial laser scans of eleven scenes, from a railway to a forest.

    pairs = whu_tls.pairs("whu_tls", "2-HighSpeedRailway")

The layout, as others describe it who have the data:

    3-Mountain/1-RawPointCloud/1.las, ...                   the scans as taken, in metres
    3-Mountain/3-GroundTruth/1-2/transformation.txt         a 4x4 matrix T: x_2 = T x_1

That the first number is the source is read off how two other projects use these files. In some scenes the file is said
to be called transformation-GT.txt. The forest (scene 4) is laid out differently, and not read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from graphreg.datasets.scanfiles import PairFile, chosen, unique
from graphreg.errors import FileError
from graphreg.files import formats
from graphreg.files.folders import as_folder, natural_sort_key
from graphreg.files.pose_files import read_pose

MOTIONS = ("transformation.txt", "transformation-GT.txt")


def pairs(folder: str | os.PathLike[str], scene: str | None = None) -> list[PairFile]:
    """The pairs of a scene that have a ground truth, sorted by their numbers.

    folder  the data set, or what holds one scene
    scene   such as "2-HighSpeedRailway"; may be left out where there is only one
    """
    root = as_folder(folder)
    places = (path.parent for path in sorted(root.rglob("3-GroundTruth")) if path.is_dir())
    found = unique((path.resolve().name, path) for path in places)
    if not found:
        raise FileError(root, "holds no folder 3-GroundTruth with the motions between the scans")
    place = chosen(found, scene, "scene")
    truths = place / "3-GroundTruth"
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
                _scan(place, source),
                _scan(place, target),
                read_pose(_file(path), format="matrix"),
            )
        )
    if not result:
        raise FileError(truths, "holds no pairs (folders such as 1-2)")
    return result


def _file(folder: Path) -> Path:
    for name in MOTIONS:
        if (folder / name).is_file():
            return folder / name
    raise FileError(folder, f"holds neither {' nor '.join(MOTIONS)}")


def _scan(place: Path, number: int) -> Path:
    """The scan of that number, however many zeros lead it."""
    folder = place / "1-RawPointCloud"
    suffixes = formats()
    found = sorted(
        path
        for path in folder.glob("*")
        if path.suffix.lower() in suffixes and path.stem.isdecimal() and int(path.stem) == number
    )
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise FileError(
            folder, f"should hold one scan with the number {number}, such as {number}.las, but holds {names}"
        )
    return found[0]
