"""Files of poses: round trips in every format, and errors that name the line."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.strategies import random_transform, transforms

import graphreg
from graphreg.files.pose_files import POSE_SUFFIXES
from graphreg.metrics import angular_error
from graphreg.poses import pose

Floats = NDArray[np.float64]
# A rotation by 90 degrees about z, then a translation; its quaternion is known.
QUARTER = pose([[0, -1, 0], [1, 0, 0], [0, 0, 1]], [1, 2, 3])
HALF = "0.7071067811865476"


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "format"), POSE_SUFFIXES.items())
@settings(max_examples=20)
@given(several=st.lists(transforms, min_size=1, max_size=4))
def test_round_trips(suffix: str, format: str, several: list[Floats], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("poses") / f"poses{suffix}"
    poses = np.stack(several)
    graphreg.write_poses(path, poses)
    for back in (graphreg.read_poses(path), graphreg.read_poses(path, format=format)):
        assert back.shape == poses.shape
        # Reading makes rotations orthogonal to rounding, so a matrix may change in its last bits.
        np.testing.assert_allclose(back[:, :3, :3], poses[:, :3, :3], rtol=0, atol=1e-14)
        assert np.array_equal(back[:, :, 3], poses[:, :, 3])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("T.txt", "0 -1 0 1\n1 0 0 2\n0 0 1 3\n0 0 0 1"),
        ("T.txt", "# a pose\n\n0 -1 0 1.0e0\n1 0 0 2\n\n0 0 1 3\n0 0 0 1\n"),
        ("poses.txt", "0 -1 0 1 1 0 0 2 0 0 1 3\n"),
        ("poses.kitti", "0 -1 0 1 1 0 0 2 0 0 1 3\n"),
        ("groundtruth.txt", f"# timestamp tx ty tz qx qy qz qw\n1305031102.1758 1 2 3 0 0 {HALF} {HALF}\n"),
        ("graph.g2o", f"VERTEX_SE3:QUAT 7 1 2 3 0 0 -{HALF} -{HALF}\nEDGE_SE3:QUAT 7 8 1 2 3 0 0 0 1\nFIX 7\n"),
        ("without_suffix", "0 -1 0 1\n1 0 0 2\n0 0 1 3\n0 0 0 1\n"),
    ],
)
def test_files_of_other_programs_are_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    poses = graphreg.read_poses(tmp_path / name)
    assert poses.shape == (1, 4, 4)
    np.testing.assert_allclose(poses[0], QUARTER, rtol=0, atol=1e-15)


def test_files_are_written_as_other_programs_read_them(tmp_path: Path) -> None:
    names = {format: tmp_path / f"poses{suffix}" for suffix, format in POSE_SUFFIXES.items()}
    for path in names.values():
        graphreg.write_poses(path, QUARTER)
    assert np.array_equal(np.loadtxt(names["matrix"]), QUARTER)
    assert np.array_equal(np.load(names["npy"]), QUARTER)
    assert np.array_equal(np.loadtxt(names["kitti"]), QUARTER[:3].ravel())
    expected = [0, 1, 2, 3, 0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    np.testing.assert_allclose(np.loadtxt(names["tum"]), expected, rtol=0, atol=1e-15)
    word, *numbers = names["g2o"].read_text().split()
    assert word == "VERTEX_SE3:QUAT"
    np.testing.assert_allclose(np.array(numbers, float), expected, rtol=0, atol=1e-15)


def test_vertices_are_sorted_by_number(tmp_path: Path) -> None:
    path = tmp_path / "graph.g2o"
    path.write_text("".join(f"VERTEX_SE3:QUAT {n} {n} 0 0 0 0 0 1\n" for n in (12, 3, 7)))
    assert graphreg.read_poses(path)[:, 0, 3].tolist() == [3, 7, 12]


def test_times_are_written(tmp_path: Path) -> None:
    times = [1305031102.1758, 1305031102.2114]
    graphreg.write_poses(tmp_path / "a.tum", [QUARTER, np.eye(4)], times=times)
    assert np.loadtxt(tmp_path / "a.tum")[:, 0].tolist() == times


def test_a_result_is_written_as_its_transformation(tmp_path: Path) -> None:
    cloud = np.random.default_rng(0).normal(size=(400, 3))
    result = graphreg.register(cloud, cloud, method="icp")
    graphreg.write_poses(tmp_path / "T.npy", result)
    assert np.array_equal(np.load(tmp_path / "T.npy"), result.transformation)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "has no poses"),
        ("a.txt", "# nothing\n", "has no poses"),
        ("a.txt", "ply\nformat ascii 1.0\n", "expected a first row of 4 numbers .*, got 'ply'"),
        ("a.txt", "1 0 0\n0 1 0\n0 0 1\n", "expected a first row of"),
        ("a.txt", "1 0 0 0\n0 1 0 0\n0 0 1 0\n", "declares 4 rows of a 4x4 matrix but ends after 3"),
        ("a.txt", "1 0 0 0\n0 1 0 0\n\n0 0 one 0\n0 0 0 1\n", "line 4: expected 4 numbers, got '0 0 one 0'"),
        ("a.txt", "\n1 0 0 0\n0 2 0 0\n0 0 1 0\n0 0 0 1\n", "line 2: the pose: expected a rotation without scale"),
        ("a.txt", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n" * 2 + "1 0 0 0\n0 1 0 0\n0 0 -1 0\n0 0 0 1\n",
         "line 9: the pose: expected a rotation, got a reflection"),
        ("a.kitti", "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1\n", "line 2: expected 12 numbers"),
        ("a.kitti", "# one\n1 0 0 0 0 1 0 0 0 0 1 nan\n", "line 2: the pose: expected finite numbers"),
        ("a.tum", "0 1 2 3 0 0 0 1\n\n1 1 2 3 0 0 0 2\n", "line 3: expected a translation and a unit quaternion"),
        ("a.tum", "0 1 2 3 0 0 0 0\n", "line 1: expected a translation and a unit quaternion, got 1 2 3 0 0 0 0"),
        ("a.tum", "0 inf 2 3 0 0 0 1\n", "line 1: expected a translation"),
        ("a.g2o", "VERTEX_SE2 0 1 2 3\n", "has no lines VERTEX_SE3:QUAT"),
        ("a.g2o", "FIX 0\nVERTEX_SE3:QUAT 0 1 2 3 0 0 0\n", "line 2: expected 8 numbers"),
        ("a.g2o", "VERTEX_SE3:QUAT 4 0 0 0 0 0 0 1\nFIX 4\nVERTEX_SE3:QUAT 4 1 0 0 0 0 0 1\n",
         "line 3 is a second vertex 4"),
        ("a.npy", "", "ends within its header"),
        ("a.npy", "not an array at all", "is no numpy array"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused_with_the_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(graphreg.FileError, match=rf"{name}: {message}"):
        graphreg.read_poses(tmp_path / name)


@pytest.mark.parametrize("array", [np.eye(3), np.zeros((0, 4, 4)), np.eye(4, dtype=complex), 2 * np.eye(4)])
def test_arrays_that_are_no_poses_are_refused(tmp_path: Path, array: NDArray[Any]) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(graphreg.FileError, match=r"a\.npy: (is an array of shape|pose 0: the pose: expected)"):
        graphreg.read_poses(tmp_path / "a.npy")


def test_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(graphreg.FileError, match="is a folder"):
        graphreg.read_poses(tmp_path)
    with pytest.raises(FileNotFoundError):
        graphreg.read_poses(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("name", "poses", "options", "message"),
    [
        ("a.doc", np.eye(4), {}, r"a\.doc: its suffix '\.doc' is not known; poses are \.txt"),
        ("a", np.eye(4), {}, "it has no suffix"),
        ("a.txt", np.eye(4), {"format": "ros"}, "format: expected one of matrix, kitti, tum, g2o, npy, got 'ros'"),
        ("a.txt", np.eye(3), {}, r"poses: expected shape \(4, 4\) or \(N, 4, 4\), got \(3, 3\)"),
        ("a.txt", [], {}, "poses: expected shape"),
        ("a.txt", "identity", {}, "poses: expected 4x4 matrices of numbers, got str"),
        ("a.txt", SimpleNamespace(), {}, "poses: expected 4x4 matrices of numbers, got SimpleNamespace"),
        ("a.txt", [np.eye(4), 2 * np.eye(4)], {}, r"poses\[1\]: expected 0 0 0 1 as the last row"),
        ("a.txt", np.eye(4), {"times": [0]}, "times: matrix files have none"),
        ("a.tum", np.eye(4), {"times": [0, 1]}, "times: expected 1 finite numbers"),
        ("a.tum", np.eye(4), {"times": ["now"]}, "times: expected numbers"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, name: str, poses: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(graphreg.InputError, match=message):
        graphreg.write_poses(tmp_path / name, poses, **options)
    assert not list(tmp_path.iterdir())


def test_the_format_may_be_selected(tmp_path: Path) -> None:
    transformation = random_transform(1, 5.0)
    graphreg.write_poses(tmp_path / "poses.txt", [transformation] * 3, format="kitti")
    assert np.loadtxt(tmp_path / "poses.txt").shape == (3, 12)
    assert max(angular_error(back, transformation) for back in graphreg.read_poses(tmp_path / "poses.txt")) < 1e-6
