"""ETH's and WHU's terrestrial scans: pairs with a matrix each, the first name is the source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets import eth_tls, whu_tls
from graphreg.poses import inverse

FIRST, SECOND = random_transform(1, 20.0), random_transform(2, 20.0)


def write_eth(root: Path) -> Path:
    (root / "groundtruth").mkdir(parents=True)
    for number in (1, 2, 10):
        graphreg.write(root / f"s{number}.ply", random_cloud("surface", 30, number))
    for name, motion in (("s1-s2", FIRST), ("s2-s1", inverse(FIRST)), ("s10-s2", SECOND)):
        np.savetxt(root / "groundtruth" / f"{name}.tfm", motion)
    (root / "pairs.txt").write_text("s1 s2\ns2 s10\n")
    return root


def write_whu(root: Path) -> Path:
    (root / "1-RawPointCloud").mkdir(parents=True)
    for name in ("1.las", "02.ply", "10.xyz", "notes.txt"):
        graphreg.write(root / "1-RawPointCloud" / name, random_cloud("surface", 30, 4))
    for name, motion in (("1-2", FIRST), ("10-2", SECOND)):
        (root / "3-GroundTruth" / name).mkdir(parents=True)
        np.savetxt(root / "3-GroundTruth" / name / "transformation.txt", motion)
    return root


def test_eth_pairs_are_those_of_the_list(tmp_path: Path) -> None:
    pairs = eth_tls.pairs(write_eth(tmp_path))
    assert [pair.name for pair in pairs] == ["s1 to s2", "s2 to s10"]
    np.testing.assert_allclose(pairs[0].T_target_source, FIRST, atol=1e-12)
    np.testing.assert_allclose(pairs[1].T_target_source, inverse(SECOND), atol=1e-12)
    source, target = pairs[1].read()
    np.testing.assert_array_equal(source, random_cloud("surface", 30, 2))
    np.testing.assert_array_equal(target, random_cloud("surface", 30, 10))


def test_without_a_list_all_ground_truth_of_eth_counts(tmp_path: Path) -> None:
    (write_eth(tmp_path) / "pairs.txt").unlink()
    assert [pair.name for pair in eth_tls.pairs(tmp_path)] == ["s1 to s2", "s2 to s1", "s10 to s2"]


def test_whu_pairs_are_sorted_by_number(tmp_path: Path) -> None:
    pairs = whu_tls.pairs(write_whu(tmp_path))
    assert [pair.name for pair in pairs] == ["1 to 2", "10 to 2"]
    assert [(pair.source.name, pair.target.name) for pair in pairs] == [("1.las", "02.ply"), ("10.xyz", "02.ply")]
    np.testing.assert_allclose(pairs[1].T_target_source, SECOND, atol=1e-12)
    np.testing.assert_allclose(pairs[0].read()[1], random_cloud("surface", 30, 4))


def test_the_other_name_of_a_motion_of_whu(tmp_path: Path) -> None:
    path = write_whu(tmp_path) / "3-GroundTruth" / "1-2" / "transformation.txt"
    path.rename(path.with_name("transformation-GT.txt"))
    np.testing.assert_allclose(whu_tls.pairs(tmp_path)[0].T_target_source, FIRST, atol=1e-12)


@pytest.mark.parametrize(("pairs", "write"), [(eth_tls.pairs, write_eth), (whu_tls.pairs, write_whu)])
def test_a_scene_is_chosen_by_name(
    tmp_path: Path, pairs: Callable[..., list[object]], write: Callable[[Path], Path]
) -> None:
    write(tmp_path / "5-Park")
    assert len(pairs(tmp_path)) == len(pairs(tmp_path / "5-Park")) == 2
    write(tmp_path / "11-Tunnel")
    assert len(pairs(tmp_path, "11-Tunnel")) == 2
    with pytest.raises(InputError, match="scene: expected one of 5-Park, 11-Tunnel, got None"):
        pairs(tmp_path)


def damage(path: str, content: str | None) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        if content is None:
            (root / path).unlink()
        else:
            (root / path).write_text(content)

    return change


UNIT = "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (damage("s10.ply", None), r"s10\.ply: is not there; a pair needs it"),
        (damage("groundtruth/s10-s2.tfm", None), r"s2-s10\.tfm: is not there; it holds the motion from s2 to s10"),
        (
            damage("groundtruth/s1-s2.tfm", UNIT[:15]),
            r"s1-s2\.tfm: says it holds 4 rows of a 4x4 matrix but ends after",
        ),
        (damage("groundtruth/s1-s2.tfm", UNIT + "\n1 2 3 4\n"), r"s1-s2\.tfm: says it holds 4 rows"),
        (damage("groundtruth/s1-s2.tfm", f"{UNIT}\n{UNIT}\n"), r"s1-s2\.tfm: holds 2 poses, expected one"),
        (damage("groundtruth/s1-s2.tfm", "nothing"), r"s1-s2\.tfm: says it holds 4 rows"),
        (damage("groundtruth/s1-s2.tfm", UNIT.replace("1", "2")), r"s1-s2\.tfm: line 1: the pose: expected 0 0 0 1"),
        (
            damage("groundtruth/s1-s2.tfm", "2" + UNIT[1:]),
            r"s1-s2\.tfm: line 1: the pose: expected a rotation without scale",
        ),
        (damage("pairs.txt", "s1 s2 s10\n"), r"pairs\.txt: should name pairs of scans, .* but has 's1-s2-s10'"),
        (damage("pairs.txt", "\n"), r"pairs\.txt: names no pairs"),
    ],
)
def test_damage_of_eth_is_named(tmp_path: Path, change: Callable[[Path], None], told: str) -> None:
    change(write_eth(tmp_path))
    with pytest.raises(FileError, match=told):
        eth_tls.pairs(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            damage("1-RawPointCloud/1.las", None),
            r"1-RawPointCloud: should hold one scan with the number 1, .* holds none",
        ),
        (damage("1-RawPointCloud/2.xyz", "1 2 3\n"), r"the number 2, such as 2\.las, but holds 02\.ply, 2\.xyz"),
        (damage("3-GroundTruth/1-2/transformation.txt", None), "1-2: holds neither transformation.txt nor"),
        (damage("3-GroundTruth/1-2/transformation.txt", ""), r"transformation\.txt: holds no poses"),
        (lambda root: (root / "3-GroundTruth" / "1to2").mkdir(), "1to2: should be named after a pair of scans"),
    ],
)
def test_damage_of_whu_is_named(tmp_path: Path, change: Callable[[Path], None], told: str) -> None:
    change(write_whu(tmp_path))
    with pytest.raises(FileError, match=told):
        whu_tls.pairs(tmp_path)


def test_folders_that_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no folder groundtruth"):
        eth_tls.pairs(tmp_path)
    with pytest.raises(FileError, match="holds no folder 3-GroundTruth"):
        whu_tls.pairs(tmp_path)
    (tmp_path / "3-GroundTruth").mkdir()
    with pytest.raises(FileError, match="holds no pairs"):
        whu_tls.pairs(tmp_path)


def test_a_matrix_may_lack_its_last_line_break(tmp_path: Path) -> None:
    damage("groundtruth/s1-s2.tfm", UNIT.replace("0 0\n", "0 12.345678\n"))(write_eth(tmp_path))
    assert eth_tls.pairs(tmp_path)[0].T_target_source[0, 3] == 12.345678
