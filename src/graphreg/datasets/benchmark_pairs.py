"""The pairs that registration recall is published on: 3DMatch, 3DLoMatch, KITTI at 10 m, ETH.

    for pair in benchmark_pairs.threedmatch_pairs("3dmatch", low_overlap=True):
        pair.scene, pair.read(), pair.T_target_source, pair.information

Logs and fragments may be at any depth of a folder. A log belongs to the scene that its folder names:

    3DMatch/7-scenes-redkitchen/gt.log, gt.info             Predator's benchmarks: 1623 pairs of 3DMatch
    3DLoMatch/7-scenes-redkitchen/gt.log, gt.info           and 1781 pairs of overlap 10 to 30 %
    7-scenes-redkitchen-evaluation/gt.log, gt.info          3DMatch as published
    7-scenes-redkitchen/[fragments/]cloud_bin_0.ply         its fragments
    gazebo_summer/gt.log, Hokuyo_0.ply                      ETH
    sequences/08/velodyne, ...                              KITTI, see `kitti`
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets import kitti
from graphreg.datasets.scan_files import PairFile, ScanFile
from graphreg.datasets.threedmatch import read_information, read_log
from graphreg.errors import FileError
from graphreg.files.folders import as_folder
from graphreg.poses import inverse

LOW_OVERLAP = "3DLoMatch"
ETH_SCENES = ("gazebo_summer", "gazebo_winter", "wood_autmn", "wood_autumn", "wood_summer")
# Sequences that the benchmark is published on, the distance of a pair in metres, how many frames ahead its end is
# searched, and a pair whose ground truth is known to be wrong.
KITTI_SEQUENCES, KITTI_DISTANCE, KITTI_AHEAD = ("08", "09", "10"), 10.0, 100
KITTI_WRONG = ("08", "000015", "000058")


@dataclass(frozen=True, eq=False)
class BenchmarkPair(PairFile):
    """A pair of a benchmark.

    Parameters
    ----------
    name, source, target, T_target_source
        As of `PairFile`.
    scene : str
        Scene or sequence, which recall is averaged over.
    information : (6, 6) array or None
        Of gt.info.
    consecutive : bool
        Whether the fragments follow each other; the original benchmark of 3DMatch leaves such pairs out.
    """

    scene: str
    information: Floats | None = None
    consecutive: bool = False


def threedmatch_pairs(folder: str | os.PathLike[str], low_overlap: bool = False) -> list[BenchmarkPair]:
    """List the pairs of 3DMatch, or of 3DLoMatch, in all scenes that a folder contains.

    Parameters
    ----------
    folder : path
    low_overlap : bool, default False
        Whether to list 3DLoMatch, whose logs are below a folder of that name.

    Returns
    -------
    list of BenchmarkPair
        Empty if there are no logs.

    Raises
    ------
    FileError
        If a file is missing or damaged.
    """
    return [
        pair
        for scene, log in _logs(as_folder(folder))
        if scene not in ETH_SCENES and (LOW_OVERLAP in log.parts) == low_overlap
        for pair in _logged(as_folder(folder), scene, log, "cloud_bin")
    ]


def eth_pairs(folder: str | os.PathLike[str]) -> list[BenchmarkPair]:
    """List the pairs of the four ETH scenes (gazebo and wood, in two seasons each) that a folder contains."""
    root = as_folder(folder)
    return [pair for scene, log in _logs(root) if scene in ETH_SCENES for pair in _logged(root, scene, log, "Hokuyo")]


def kitti_pairs(folder: str | os.PathLike[str]) -> list[BenchmarkPair]:
    """List the pairs of KITTI at 10 m, in the sequences 08 to 10, or where there are none of these, in all.

    From each frame to the last one before the sensor is 10 m away; the next pair begins after that. The published
    lists compare positions of the camera, this one those of the Velodyne, and their ground truth is refined by ICP.
    """
    pairs = []
    for root in sorted(path.parent for path in as_folder(folder).rglob("sequences") if path.is_dir()):
        found = sorted(path.name for path in (root / "sequences").iterdir() if (path / "velodyne").is_dir())
        known = [name for name in found if name in KITTI_SEQUENCES]
        for sequence in known or found:
            pairs += list(_apart(kitti.scans(root, sequence), sequence))
    return pairs


def _apart(frames: list[ScanFile], sequence: str) -> Iterator[BenchmarkPair]:
    positions = np.array([frame.pose[:3, 3] for frame in frames])
    first = 0
    while first < len(frames):
        ahead = positions[first : first + KITTI_AHEAD]
        beyond = np.flatnonzero(np.linalg.norm(ahead - positions[first], axis=1) > KITTI_DISTANCE)
        if not len(beyond):
            first += 1
            continue
        source, target = frames[first], frames[first + beyond[0] - 1]
        if (sequence, source.name, target.name) != KITTI_WRONG and source is not target:
            name = f"{sequence} {source.name} to {target.name}"
            yield BenchmarkPair(name, source.path, target.path, inverse(target.pose) @ source.pose, sequence)
        first += int(beyond[0])


def _logs(root: Path) -> list[tuple[str, Path]]:
    """Scenes and their logs."""
    return [(path.parent.name.removesuffix("-evaluation"), path) for path in sorted(root.rglob("gt.log"))]


def _logged(root: Path, scene: str, log: Path, prefix: str) -> list[BenchmarkPair]:
    information = read_information(log.with_suffix(".info")) if log.with_suffix(".info").is_file() else {}
    files = {
        int(path.stem.removeprefix(f"{prefix}_")): path
        for path in root.rglob(f"{prefix}_*.ply")
        if scene in path.relative_to(root).parts or path.parent == log.parent
        if path.stem.removeprefix(f"{prefix}_").isdecimal()
    }
    pairs = []
    for (target, source), T_target_source in read_log(log).items():
        for number in (source, target):
            if number not in files:
                raise FileError(log, f"names fragment {number}, but there is no {scene}/{prefix}_{number}.ply")
        pairs.append(
            BenchmarkPair(
                f"{scene} {source} to {target}",
                files[source],
                files[target],
                T_target_source,
                scene,
                information.get((target, source)),
                abs(source - target) == 1,
            )
        )
    return pairs
