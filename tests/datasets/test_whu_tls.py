"""WHU's terrestrial laser scans: pairs with a matrix each, the first number is the source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.damaged_files import damage
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets import whu_tls

FIRST, SECOND = random_transform(1, 20.0), random_transform(2, 20.0)


def write_scene(root: Path) -> Path:
    (root / "1-RawPointCloud").mkdir(parents=True)
    for name in ("1.las", "02.ply", "10.xyz", "notes.txt"):
        graphreg.write(root / "1-RawPointCloud" / name, random_cloud("surface", 30, 4))
    for name, transformation in (("1-2", FIRST), ("10-2", SECOND)):
        (root / "3-GroundTruth" / name).mkdir(parents=True)
        np.savetxt(root / "3-GroundTruth" / name / "transformation.txt", transformation)
    return root


def test_pairs_are_sorted_by_number(tmp_path: Path) -> None:
    pairs = whu_tls.pairs(write_scene(tmp_path))
    assert [pair.name for pair in pairs] == ["1 to 2", "10 to 2"]
    assert [(pair.source.name, pair.target.name) for pair in pairs] == [("1.las", "02.ply"), ("10.xyz", "02.ply")]
    np.testing.assert_allclose(pairs[1].T_target_source, SECOND, atol=1e-12)
    np.testing.assert_allclose(pairs[0].read()[1], random_cloud("surface", 30, 4))


def test_the_other_name_of_a_transform_file(tmp_path: Path) -> None:
    path = write_scene(tmp_path) / "3-GroundTruth" / "1-2" / "transformation.txt"
    path.rename(path.with_name("transformation-GT.txt"))
    np.testing.assert_allclose(whu_tls.pairs(tmp_path)[0].T_target_source, FIRST, atol=1e-12)


def test_a_scene_is_selected_by_name(tmp_path: Path) -> None:
    write_scene(tmp_path / "5-Park")
    assert len(whu_tls.pairs(tmp_path)) == len(whu_tls.pairs(tmp_path / "5-Park")) == 2
    write_scene(tmp_path / "11-Tunnel")
    assert len(whu_tls.pairs(tmp_path, "11-Tunnel")) == 2
    with pytest.raises(InputError, match="scene: expected one of 5-Park, 11-Tunnel, got None"):
        whu_tls.pairs(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            damage("1-RawPointCloud/1.las", None),
            r"1-RawPointCloud: expected one scan with the number 1, .* found none",
        ),
        (damage("1-RawPointCloud/2.xyz", "1 2 3\n"), r"the number 2, such as 2\.las, found 02\.ply, 2\.xyz"),
        (damage("3-GroundTruth/1-2/transformation.txt", None), "1-2: contains neither transformation.txt nor"),
        (damage("3-GroundTruth/1-2/transformation.txt", ""), r"transformation\.txt: .*no poses"),
        (lambda root: (root / "3-GroundTruth" / "1to2").mkdir(), "1to2: should be named after a pair of scans"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, change: Callable[[Path], None], message: str) -> None:
    change(write_scene(tmp_path))
    with pytest.raises(FileError, match=message):
        whu_tls.pairs(tmp_path)


def test_folders_without_pairs(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="contains no folder 3-GroundTruth"):
        whu_tls.pairs(tmp_path)
    (tmp_path / "3-GroundTruth").mkdir()
    with pytest.raises(FileError, match="contains no pairs"):
        whu_tls.pairs(tmp_path)
