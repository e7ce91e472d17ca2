"""3DMatch's gt.log: T maps fragment j to fragment i."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets import threedmatch
from graphreg.poses import transform

TRANSFORMS = {(0, 1): random_transform(1, 2.0), (0, 2): random_transform(2, 2.0), (1, 2): random_transform(3, 2.0)}


def record(target: int, source: int, transformation: np.ndarray, count: int = 3) -> str:
    """As the data set writes it: nine digits, tabs, a blank at the end."""
    rows = "".join("".join(f"{value: .8e}\t " for value in row) + "\n" for row in transformation)
    return f"{target}\t {source}\t {count}\t\n{rows}"


def write_scene(root: Path, text: str, scene: str = "kitchen") -> Path:
    (root / scene).mkdir(parents=True)
    for number in range(3):
        graphreg.write(root / scene / f"cloud_bin_{number}.ply", random_cloud("surface", 30, number))
    (root / f"{scene}-evaluation").mkdir()
    (root / f"{scene}-evaluation" / "gt.log").write_text(text)
    return root


LOG = "".join(record(*ends, transformation) for ends, transformation in TRANSFORMS.items())


def test_pairs_come_in_the_order_of_the_log(tmp_path: Path) -> None:
    pairs = threedmatch.pairs(write_scene(tmp_path, LOG))
    assert [pair.name for pair in pairs] == ["1 to 0", "2 to 0", "2 to 1"]
    for pair, ((target, source), transformation) in zip(pairs, TRANSFORMS.items(), strict=True):
        np.testing.assert_allclose(pair.T_target_source, transformation, atol=1e-8)
        source_points, target_points = pair.read()
        np.testing.assert_array_equal(source_points, random_cloud("surface", 30, source))
        np.testing.assert_array_equal(target_points, random_cloud("surface", 30, target))


def test_the_transform_maps_the_source_to_the_target(tmp_path: Path) -> None:
    root = write_scene(tmp_path, LOG)
    target = random_cloud("surface", 30, 0)
    graphreg.write(root / "kitchen" / "cloud_bin_1.ply", transform(np.linalg.inv(TRANSFORMS[0, 1]), target))
    pair = threedmatch.pairs(root)[0]
    source, target = pair.read()
    np.testing.assert_allclose(transform(pair.T_target_source, source), target, atol=1e-7)


def test_a_log_beside_its_fragments(tmp_path: Path) -> None:
    write_scene(tmp_path, LOG)
    (tmp_path / "kitchen-evaluation" / "gt.log").rename(tmp_path / "kitchen" / "gt.log")
    assert len(threedmatch.pairs(tmp_path / "kitchen")) == 3


def test_a_scene_is_selected_by_name(tmp_path: Path) -> None:
    write_scene(tmp_path, LOG, "kitchen")
    write_scene(tmp_path, record(0, 1, TRANSFORMS[0, 1]), "hotel")
    assert len(threedmatch.pairs(tmp_path, "hotel")) == 1
    for wrong in (None, "kitchen-evaluation"):
        with pytest.raises(InputError, match="scene: expected one of hotel, kitchen, got"):
            threedmatch.pairs(tmp_path, wrong)


def test_a_scale_off_by_a_thousandth_is_corrected_and_more_is_refused(tmp_path: Path) -> None:
    transformation = TRANSFORMS[0, 1].copy()
    transformation[:3, :3] *= 1.0008
    (pair,) = threedmatch.pairs(write_scene(tmp_path / "near", record(0, 1, transformation)))
    np.testing.assert_allclose(pair.T_target_source, TRANSFORMS[0, 1], atol=1e-8)
    transformation[:3, :3] *= 1.01
    with pytest.raises(FileError, match=r"gt\.log: pair 0 1: expected a rotation without scale"):
        threedmatch.pairs(write_scene(tmp_path / "far", record(0, 1, transformation)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no pairs"),
        ("\n\n", "contains no pairs"),
        (LOG[:-40], ".*4 rows of a transform but ends after 3"),
        (LOG.replace("\t 3\t", "\t"), "expected two fragments and their number, .* got '0\\\\t 1"),
        (record(0, 0, np.eye(4)), "expected two fragments"),
        (record(0, 3, np.eye(4)), "expected two fragments"),
        (record(-1, 1, np.eye(4)), "expected two fragments"),
        (LOG + record(0, 1, np.eye(4)), "has the pair 0 1 twice"),
        (record(0, 7, np.eye(4), 9), r"cloud_bin_7\.ply: does not exist; .*gt\.log names it"),
        (record(0, 1, np.diag([1.0, 1, -1, 1])), "pair 0 1: expected a rotation, got a reflection"),
        (record(0, 1, np.full((4, 4), np.nan)), "pair 0 1: expected finite numbers"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        threedmatch.pairs(write_scene(tmp_path, text))


def test_no_log(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"contains no gt\.log; unpack"):
        threedmatch.pairs(tmp_path)
