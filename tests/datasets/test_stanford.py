"""Stanford's .conf files: names, translations and conjugate quaternions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from tests.support.strategies import random_cloud, transforms

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets import stanford

HEADER = "camera 0 -0.1 -0.7 0 1 0 0\nmesh all_cybcyl 0 0 0 0 0 0 1\n"
# A rotation by 120 degrees about the diagonal takes x to y, y to z and z to x. Its quaternion is (1, 1, 1, 1) / 2; the
# file has the conjugate.
ROTATED = "bmesh b.ply 0.1 0.2 0.3 -0.5 -0.5 -0.5 0.5\n"
LINES = "bmesh a.ply 0 0 0 0 0 0 1\n" + ROTATED


def write_scans(folder: Path, text: str, names: str = "ab") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(names):
        graphreg.write(folder / f"{name}.ply", random_cloud("surface", 30, seed))
    (folder / "toy.conf").write_text(text)
    return folder


def test_scans_come_in_the_order_of_the_file_with_their_poses(tmp_path: Path) -> None:
    scans = stanford.scans(write_scans(tmp_path, HEADER + LINES))
    assert [scan.name for scan in scans] == ["a", "b"]
    np.testing.assert_array_equal(scans[0].pose, np.eye(4))
    expected = [[0, 0, 1, 0.1], [1, 0, 0, 0.2], [0, 1, 0, 0.3], [0, 0, 0, 1]]
    np.testing.assert_allclose(scans[1].pose, expected, atol=1e-15)
    np.testing.assert_array_equal(scans[1].read(), random_cloud("surface", 30, 1))


@settings(max_examples=20)
@given(expected=transforms)
def test_any_rigid_transform_is_read_back(tmp_path_factory: pytest.TempPathFactory, expected: np.ndarray) -> None:
    # Bar-Itzhack: the quaternion is the eigenvector of a symmetric matrix, here of the inverse rotation.
    (a, b, c), (d, e, f), (g, h, i) = expected[:3, :3].T
    k = np.array([[a - e - i, b + d, c + g, h - f], [0, e - a - i, f + h, c - g], [0, 0, i - a - e, d - b], [0] * 4])
    k[3, 3] = a + e + i
    x, y, z, w = np.linalg.eigh(k + np.triu(k, 1).T)[1][:, -1]
    numbers = [*expected[:3, 3], x, y, z, w]
    text = "bmesh a.ply " + " ".join(repr(float(number)) for number in numbers) + "\n"
    (scan,) = stanford.scans(write_scans(tmp_path_factory.mktemp("scan"), text, "a"))
    np.testing.assert_allclose(scan.pose, expected, rtol=1e-12, atol=1e-12)


def test_scans_may_be_some_folders_down(tmp_path: Path) -> None:
    write_scans(tmp_path / "bunny" / "data", LINES)
    assert len(stanford.scans(tmp_path)) == 2


def test_one_of_several_alignments_is_selected_by_name(tmp_path: Path) -> None:
    write_scans(tmp_path, LINES)
    (tmp_path / "other.conf").write_text("bmesh b.ply 0 0 0 0 0 0 1\n")
    assert [scan.name for scan in stanford.scans(tmp_path, "other")] == ["b"]
    for wrong in (None, "third"):
        with pytest.raises(InputError, match="alignment: expected one of other, toy, got"):
            stanford.scans(tmp_path, wrong)


def test_two_alignments_of_one_name_are_ambiguous(tmp_path: Path) -> None:
    write_scans(tmp_path / "one", LINES)
    write_scans(tmp_path / "two", LINES)
    with pytest.raises(FileError, match=r"has the same name \(toy\) as .*pass a folder with only one"):
        stanford.scans(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINES + "bmesh c.ply 0 0 0 0 0 0 1\n", r"c\.ply: does not exist; toy\.conf names it"),
        (HEADER, r"toy\.conf: names no scans"),
        ("", r"toy\.conf: names no scans"),
        (LINES[:-9], r"toy\.conf: line 2 should be a name and 7 numbers"),
        ("bmesh\n", r"toy\.conf: line 1 should be a name and 7 numbers"),
        ("bmesh a.ply 0 0 0 0 0 zero 1\n", r"toy\.conf: line 1 should have 7 numbers, but has '0 0 0 0 0 zero 1'"),
        ("bmesh a.ply 0 0 0 0 0 0.1 1\n", r"toy\.conf: line 1 should have a translation and a unit quaternion"),
        ("bmesh a.ply 0 0 0 0 0 0 0\n", r"toy\.conf: line 1 should have a translation and a unit quaternion"),
        ("bmesh a.ply 0 0 0 nan 0 0 1\n", r"toy\.conf: line 1 should have a translation and a unit quaternion"),
        ("bmesh a.ply 0 0 inf 0 0 0 1\n", r"toy\.conf: line 1 should have a translation and a unit quaternion"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        stanford.scans(write_scans(tmp_path, text))


def test_scans_without_their_alignment(tmp_path: Path) -> None:
    write_scans(tmp_path, LINES)
    (tmp_path / "toy.conf").unlink()
    with pytest.raises(FileError, match=r"contains no \.conf file"):
        stanford.scans(tmp_path)
