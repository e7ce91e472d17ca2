"""Maps as tiles: they are the map as a whole, however little memory there is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphreg.errors import FileError
from graphreg.files import ply, read
from graphreg.files.input_file import InputFile
from graphreg.files.map_tiles import EDGE, INDEX, TiledMap
from graphreg.voxels import voxel_downsample

VOXEL = 0.5


def walls(seed: int) -> np.ndarray:
    """Points that several tiles share."""
    return np.random.default_rng(seed).uniform(-1, 1, (400, 3)) * [1.5 * EDGE * VOXEL, 3.0, 2.0]


def sorted_rows(points: np.ndarray) -> np.ndarray:
    return points[np.lexsort(points.T)]


def test_tiles_are_the_map_and_each_has_its_cube(tmp_path: Path) -> None:
    tiles = TiledMap(tmp_path / "map")
    tiles.add(walls(1), VOXEL)
    tiles.close()
    assert np.allclose(sorted_rows(read(tmp_path / "map")), sorted_rows(voxel_downsample(walls(1), VOXEL)))
    edge = json.loads((tmp_path / "map" / INDEX).read_text())["edge"]
    for path in (tmp_path / "map").glob("*.ply"):
        with InputFile(path) as file:
            numbers = np.floor(np.asarray(ply.read(file).points) / edge)
        assert (numbers == [int(part) for part in path.stem.split("_")]).all()


def test_with_little_memory_the_same_voxels_have_points(tmp_path: Path) -> None:
    maps = {}
    for name, most in (("small", 500), ("large", 10_000)):
        tiles = TiledMap(tmp_path / name, most)
        for seed in range(6):
            tiles.add(walls(seed), VOXEL)
            assert tiles._count <= most
        tiles.close()
        maps[name] = {tuple(row) for row in np.floor(read(tmp_path / name) / VOXEL).astype(int).tolist()}
    assert maps["small"] == maps["large"]


def test_other_files_are_never_replaced_but_tiles_are(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match=r"holds notes\.txt"):
        TiledMap(tmp_path)
    (tmp_path / "notes.txt").unlink()
    for seed in range(2):
        tiles = TiledMap(tmp_path)
        with pytest.raises(FileError, match="not all written"):
            read(tmp_path)
        tiles.add(walls(seed)[:1], VOXEL)
        tiles.close()
    assert np.allclose(read(tmp_path), walls(1)[:1])


def test_a_folder_without_tiles_is_no_map(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no map of tiles"):
        read(tmp_path)
    (tmp_path / INDEX).write_text("[1")
    with pytest.raises(FileError, match="expected JSON"):
        read(tmp_path)
