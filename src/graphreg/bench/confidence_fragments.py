"""Pairs of real fragments that do not overlap: rooms with alike furniture and alike walls, where every pose is wrong.

A folder of fragments, such as those of 3DMatch, has the pose of each in poses.txt, a row-major 3x4 matrix a line. Two
fragments of a scene are apart if next to none of the voxels of one touches those of the other; fragments of different
scenes always are.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import FileError
from graphreg.files import read
from graphreg.files.pose_files import read_poses
from graphreg.poses import transform

FOLDERS = "3dmatch_*"
# Edge length of the voxels that are compared, in metres: larger than the poses are wrong.
VOXEL = 0.1
# Share of the voxels of the smaller fragment that may touch the other.
MOST_OVERLAP = 0.02
SAME_SCENE, OTHER_SCENE = "no overlap, same scene", "no overlap, other scene"


def fragments_apart(data: Path, count: int) -> list[tuple[str, str, str]]:
    """Sample pairs of fragments that do not overlap, half of them from one scene if there are so many.

    Parameters
    ----------
    data : Path
        Folder with folders of fragments.
    count : int
        Number of pairs at most.

    Returns
    -------
    list of (group, source, target)
        `SAME_SCENE` or `OTHER_SCENE`, and paths below `data`.
    """
    scenes = {folder.name: _fragments(folder) for folder in sorted(data.glob(FOLDERS)) if _has_poses(folder)}
    rng = np.random.default_rng(0)
    same = [
        (SAME_SCENE, f"{name}/{source}", f"{name}/{target}")
        for name, fragments in scenes.items()
        for source, target in combinations(fragments, 2)
        if _overlap(fragments[source], fragments[target]) < MOST_OVERLAP
    ]
    others = [
        (OTHER_SCENE, f"{first}/{source}", f"{second}/{target}")
        for first, second in combinations(scenes, 2)
        for source in scenes[first]
        for target in scenes[second]
    ]
    same = [same[number] for number in rng.permutation(len(same))[: max(count // 2, count - len(others))]]
    return [*same, *(others[number] for number in rng.permutation(len(others))[: count - len(same)])]


def _has_poses(folder: Path) -> bool:
    return (folder / "poses.txt").is_file()


@lru_cache(maxsize=8)
def _fragments(folder: Path) -> dict[str, tuple[set[int], set[int]]]:
    """Voxels that each fragment occupies in the frame of the scene, and the same with all their neighbours."""
    files, poses = sorted(folder.glob("*.ply")), list(read_poses(folder / "poses.txt", format="kitti"))
    if len(files) != len(poses):
        raise FileError(folder / "poses.txt", f"has {len(poses)} poses, but there are {len(files)} fragments")
    return {file.name: _voxels(transform(pose, read(file))) for file, pose in zip(files, poses, strict=True)}


def _voxels(points: Floats) -> tuple[set[int], set[int]]:
    cells = np.unique(np.floor(points / VOXEL).astype(np.int64), axis=0)
    around = np.array(np.meshgrid(*[[-1, 0, 1]] * 3)).reshape(3, -1).T
    # Rooms have less than 2^20 voxels along each axis.
    bits = np.array([1, 1 << 20, 1 << 40])
    return set((cells @ bits).tolist()), set(((cells[:, None] + around).reshape(-1, 3) @ bits).tolist())


def _overlap(one: tuple[set[int], set[int]], other: tuple[set[int], set[int]]) -> float:
    """Share of the voxels of the smaller fragment that touch the other."""
    (first, near_first), (second, near_second) = one, other
    return max(len(first & near_second) / len(first), len(second & near_first) / len(second))
