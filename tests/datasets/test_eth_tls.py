"""ETH's terrestrial laser scans: pairs with a matrix each, the first name is the source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.damaged_files import damage
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets import eth_tls
from graphreg.poses import inverse

FIRST, SECOND = random_transform(1, 20.0), random_transform(2, 20.0)


def write_scene(root: Path) -> Path:
    (root / "groundtruth").mkdir(parents=True)
    for number in (1, 2, 10):
        graphreg.write(root / f"s{number}.ply", random_cloud("surface", 30, number))
    for name, transformation in (("s1-s2", FIRST), ("s2-s1", inverse(FIRST)), ("s10-s2", SECOND)):
        np.savetxt(root / "groundtruth" / f"{name}.tfm", transformation)
    (root / "pairs.txt").write_text("s1 s2\ns2 s10\n")
    return root


def test_pairs_are_those_of_the_list(tmp_path: Path) -> None:
    pairs = eth_tls.pairs(write_scene(tmp_path))
    assert [pair.name for pair in pairs] == ["s1 to s2", "s2 to s10"]
    np.testing.assert_allclose(pairs[0].T_target_source, FIRST, atol=1e-12)
    np.testing.assert_allclose(pairs[1].T_target_source, inverse(SECOND), atol=1e-12)
    source, target = pairs[1].read()
    np.testing.assert_array_equal(source, random_cloud("surface", 30, 2))
    np.testing.assert_array_equal(target, random_cloud("surface", 30, 10))


def test_without_a_list_all_pairs_with_a_ground_truth_count(tmp_path: Path) -> None:
    (write_scene(tmp_path) / "pairs.txt").unlink()
    assert [pair.name for pair in eth_tls.pairs(tmp_path)] == ["s1 to s2", "s2 to s1", "s10 to s2"]


def test_a_scene_is_selected_by_name(tmp_path: Path) -> None:
    write_scene(tmp_path / "5-Park")
    assert len(eth_tls.pairs(tmp_path)) == len(eth_tls.pairs(tmp_path / "5-Park")) == 2
    write_scene(tmp_path / "11-Tunnel")
    assert len(eth_tls.pairs(tmp_path, "11-Tunnel")) == 2
    with pytest.raises(InputError, match="scene: expected one of 5-Park, 11-Tunnel, got None"):
        eth_tls.pairs(tmp_path)


UNIT = "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damage("s10.ply", None), r"s10\.ply: does not exist; it is one of a pair"),
        (damage("groundtruth/s10-s2.tfm", None), r"s2-s10\.tfm: does not exist; it has the transform from s2 to s10"),
        (
            damage("groundtruth/s1-s2.tfm", UNIT[:15]),
            r"s1-s2\.tfm: .*4 rows of a 4x4 matrix but ends after",
        ),
        (damage("groundtruth/s1-s2.tfm", UNIT + "\n1 2 3 4\n"), r"s1-s2\.tfm: .*4 rows"),
        (damage("groundtruth/s1-s2.tfm", f"{UNIT}\n{UNIT}\n"), r"s1-s2\.tfm: .*2 poses, expected one"),
        (damage("groundtruth/s1-s2.tfm", "nothing"), r"s1-s2\.tfm: .*4 rows"),
        (damage("groundtruth/s1-s2.tfm", UNIT.replace("1", "2")), r"s1-s2\.tfm: line 1: the pose: expected 0 0 0 1"),
        (
            damage("groundtruth/s1-s2.tfm", "2" + UNIT[1:]),
            r"s1-s2\.tfm: line 1: the pose: expected a rotation without scale",
        ),
        (damage("pairs.txt", "s1 s2 s10\n"), r"pairs\.txt: should name pairs of scans, .* but has 's1-s2-s10'"),
        (damage("pairs.txt", "\n"), r"pairs\.txt: contains no pairs"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, change: Callable[[Path], None], message: str) -> None:
    change(write_scene(tmp_path))
    with pytest.raises(FileError, match=message):
        eth_tls.pairs(tmp_path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="contains no folder groundtruth"):
        eth_tls.pairs(tmp_path)


def test_the_last_line_break_of_a_matrix_may_be_missing(tmp_path: Path) -> None:
    damage("groundtruth/s1-s2.tfm", UNIT.replace("0 0\n", "0 12.345678\n"))(write_scene(tmp_path))
    assert eth_tls.pairs(tmp_path)[0].T_target_source[0, 3] == 12.345678
