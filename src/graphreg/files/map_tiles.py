"""Maps as tiles: a folder with a PLY file for each cube of a grid that has points, named by the numbers of the cube.

The edge of the cubes is a multiple of the voxel size, so that the tiles of a map have the same voxels as the map as a
whole. `tiles.json` holds both; a folder with it is read like a file.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.clouds import Cloud, Floats, as_cloud
from graphreg.errors import FileError
from graphreg.files import ply
from graphreg.files.input_file import InputFile, Progress
from graphreg.files.output_file import atomic_write
from graphreg.voxels import voxel_downsample

INDEX = "tiles.json"
# Edge of a tile in voxels, and points that are kept in memory until they are written; chosen.
EDGE, MOST_POINTS = 256, 2_000_000
_TILE = re.compile(r"-?\d+_-?\d+_-?\d+\.ply")


class TiledMap:
    """A map that is written as tiles while it grows; a bounded number of its points is in memory.

    Parameters
    ----------
    folder : Path
        Is created. A map of tiles that is in it is replaced.
    most_points : int
        Points that are kept in memory.

    Raises
    ------
    FileError
        Where the folder is a file, or holds anything but a map of tiles.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tiles = TiledMap(Path(folder))
    ...     tiles.add(np.array([[0.5, 0.5, 0.5], [300.0, 0.5, -0.5]]), 1.0)
    ...     tiles.close()
    ...     sorted(path.name for path in Path(folder).iterdir()), len(read_tiles(Path(folder)))
    (['0_0_0.ply', '1_0_-1.ply', 'tiles.json'], 2)
    """

    def __init__(self, folder: Path, most_points: int = MOST_POINTS) -> None:
        check_tile_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        self._folder, self._most_points = folder, most_points
        self._voxel = 0.0
        # Points of each tile that are not written yet; the tile that was added to last is the last one.
        self._waiting: dict[tuple[int, int, int], list[Floats]] = {}
        self._count = 0
        self._write_index(complete=False)

    def add(self, points: Floats, voxel: float) -> None:
        """Add points in the frame of the map, (N, 3); the voxel size is that of the first call."""
        self._voxel = self._voxel or voxel
        numbers = np.floor(points / (EDGE * self._voxel)).astype(np.int64)
        order = np.lexsort(numbers.T)
        begins = np.flatnonzero(np.any(np.diff(numbers[order], axis=0, prepend=numbers[order[:1]] - 1) != 0, axis=1))
        for begin, end in pairwise([*begins.tolist(), len(points)]):
            x, y, z = numbers[order[begin]].tolist()
            parts = self._waiting.pop((x, y, z), [])
            self._waiting[x, y, z] = [*parts, points[order[begin:end]]]
        self._count += len(points)
        if self._count > self._most_points:
            self._waiting = {tile: [self._merged(parts)] for tile, parts in self._waiting.items()}
            self._count = sum(len(part) for parts in self._waiting.values() for part in parts)
            # What was not added to for long is written first, and not before it takes half of the memory.
            while self._count > self._most_points / 2:
                self._write(next(iter(self._waiting)))

    def close(self) -> None:
        """Write what is in memory; only then the map is complete."""
        for tile in list(self._waiting):
            self._write(tile)
        self._write_index(complete=True)

    def _write(self, tile: tuple[int, int, int]) -> None:
        parts = self._waiting.pop(tile)
        self._count -= sum(map(len, parts))
        path = self._folder / f"{'_'.join(map(str, tile))}.ply"
        if path.exists():
            parts.insert(0, _read_tile(path).points)
        with atomic_write(path, None) as output:
            ply.write(output, as_cloud(self._merged(parts)))

    def _merged(self, parts: list[Floats]) -> Floats:
        return voxel_downsample(np.concatenate(parts), self._voxel)

    def _write_index(self, complete: bool) -> None:
        with atomic_write(self._folder / INDEX, None) as output:
            index = {"voxel": self._voxel, "edge": EDGE * self._voxel, "complete": complete}
            output.file.write(json.dumps(index, indent=2).encode() + b"\n")


def check_tile_folder(folder: Path) -> None:
    """Refuse a folder for tiles that is a file, or that holds anything but a map of tiles."""
    if folder.exists() and not folder.is_dir():
        raise FileError(folder, "is a file, expected a folder for tiles")
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name != INDEX and not _TILE.fullmatch(path.name):
            raise FileError(folder, f"holds {path.name}; tiles are written to an empty folder, or replace other tiles")


def read_tiles(folder: Path, progress: Progress | None = None) -> Cloud:
    """Read a map of tiles as one cloud.

    Raises
    ------
    FileError
        Where the folder holds no map of tiles, or one that was not completed, or a tile is damaged.
    """
    path = folder / INDEX
    if not path.is_file():
        raise FileError(
            folder,
            f"is a folder, and no map of tiles, which has {INDEX}; name a file in it, or use multiway or sequence",
        )
    try:
        index: Any = json.loads(path.read_bytes())
    except ValueError as problem:
        raise FileError(path, "expected JSON") from problem
    if not (isinstance(index, dict) and index.get("complete") is True):
        raise FileError(folder, "its tiles were not all written")
    tiles = sorted(tile for tile in folder.iterdir() if _TILE.fullmatch(tile.name))
    if not tiles:
        raise FileError(folder, "has no tiles")
    clouds = []
    for number, tile in enumerate(tiles, 1):
        clouds.append(_read_tile(tile).points)
        if progress is not None:
            progress(number, len(tiles))
    return as_cloud(np.concatenate(clouds))


def _read_tile(path: Path) -> Cloud:
    with InputFile(path) as file:
        return as_cloud(ply.read(file))
