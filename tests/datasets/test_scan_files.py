"""Scans on disk: names, selection and transforms of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from tests.support.strategies import random_cloud, transforms

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets.scan_files import PairFile, ScanFile, as_transform, require_file, select, unique_names

PATHS = {"s9": Path("s9.ply"), "s10": Path("s10.ply")}


def test_points_are_read_on_request(tmp_path: Path) -> None:
    first, second = random_cloud("surface", 30, 0), random_cloud("surface", 40, 1)
    scan = ScanFile("a", tmp_path / "a.ply", np.eye(4))
    pair = PairFile("a to b", scan.path, tmp_path / "b.ply", np.eye(4))
    graphreg.write(scan.path, first)
    graphreg.write(pair.target, second)
    np.testing.assert_array_equal(scan.read(), first)
    for found, expected in zip(pair.read(), (first, second), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_two_paths_of_one_name_are_ambiguous() -> None:
    assert unique_names(PATHS.items()) == PATHS
    with pytest.raises(FileError, match=r"other/s9\.ply: has the same name \(s9\) as s9\.ply"):
        unique_names([*PATHS.items(), ("s9", Path("other/s9.ply"))])


def test_a_name_selects_a_path_and_is_not_needed_for_one() -> None:
    assert select(PATHS, "s10", "scan") == PATHS["s10"]
    assert select({"s9": PATHS["s9"]}, None, "scan") == PATHS["s9"]
    for name in (None, "s1"):
        with pytest.raises(InputError, match=f"^scan: expected one of s9, s10, got {name!r}$"):
            select(PATHS, name, "scan")


def test_a_missing_file_has_a_hint(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.ply: does not exist; unpack it"):
        require_file(tmp_path / "none.ply", "unpack it")


@given(transforms)
def test_rigid_matrices_pass_with_and_without_their_last_row(expected: np.ndarray) -> None:
    for rows in (expected, expected[:3]):
        np.testing.assert_allclose(as_transform(Path("a.txt"), rows, "pose"), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("matrix", [np.diag([1.0, 1, -1, 1]), 2 * np.eye(4), np.full((4, 4), np.nan), np.eye(3)])
def test_other_matrices_are_refused(matrix: np.ndarray) -> None:
    with pytest.raises(FileError, match=r"^a\.txt: pose: expected"):
        as_transform(Path("a.txt"), matrix, "pose")
