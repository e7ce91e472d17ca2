"""The pairs of the benchmarks, from small files in the layouts of the data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.datasets.test_threedmatch import record
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg import FileError
from graphreg.clouds import Floats
from graphreg.datasets.benchmark_pairs import eth_pairs, kitti_pairs, threedmatch_pairs
from graphreg.datasets.threedmatch import correspondence_rmse
from graphreg.poses import cross_matrices, inverse, pose, rotation_from_vector, transform


def information_of(points: Floats) -> Floats:
    """Sum of G^T G over correspondences, with the displacement G (t, q) = t + 2 q x p of each."""
    jacobians = np.concatenate([np.tile(np.eye(3), (len(points), 1, 1)), -2 * cross_matrices(points)], axis=2)
    return np.einsum("nki,nkj->ij", jacobians, jacobians)


def write_log(folder: Path, pairs: dict[tuple[int, int], Floats], information: Floats | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gt.log").write_text("".join(record(*ends, T, 9) for ends, T in pairs.items()))
    if information is not None:
        lines = "".join("\t".join(f"{value:.9g}" for value in row) + "\n" for row in information)
        (folder / "gt.info").write_text("".join(f"{i}\t{j}\t9\n{lines}" for i, j in pairs))


def write_fragments(folder: Path, prefix: str, count: int = 4) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        graphreg.write(folder / f"{prefix}_{number}.ply", random_cloud("surface", 30, number))


TRUTH = {(0, 1): random_transform(1, 2.0), (0, 3): random_transform(2, 2.0)}


def test_logs_and_fragments_are_found_in_the_layouts_of_both_benchmarks(tmp_path: Path) -> None:
    write_log(tmp_path / "benchmarks" / "3DMatch" / "kitchen", TRUTH, np.eye(6))
    write_log(tmp_path / "benchmarks" / "3DLoMatch" / "kitchen", {(1, 3): TRUTH[0, 3]})
    write_log(tmp_path / "study-evaluation", {(0, 2): TRUTH[0, 1]})
    write_fragments(tmp_path / "test" / "kitchen" / "fragments", "cloud_bin")
    write_fragments(tmp_path / "study", "cloud_bin")
    found = threedmatch_pairs(tmp_path)
    assert [(pair.name, pair.consecutive) for pair in found] == [
        ("kitchen 1 to 0", True),
        ("kitchen 3 to 0", False),
        ("study 2 to 0", False),
    ]
    assert [pair.scene for pair in found] == ["kitchen", "kitchen", "study"]
    np.testing.assert_allclose(found[1].T_target_source, TRUTH[0, 3], atol=1e-8)
    assert [pair.information is not None for pair in found] == [True, True, False]
    np.testing.assert_array_equal(found[1].read()[0], random_cloud("surface", 30, 3))
    assert [pair.name for pair in threedmatch_pairs(tmp_path, low_overlap=True)] == ["kitchen 3 to 1"]
    assert not eth_pairs(tmp_path)


def test_eth_scenes_have_their_scans_beside_the_log(tmp_path: Path) -> None:
    for scene in ("gazebo_summer", "wood_autmn"):
        write_log(tmp_path / scene, TRUTH)
        write_fragments(tmp_path / scene, "Hokuyo")
    assert [pair.name for pair in eth_pairs(tmp_path)] == [
        "gazebo_summer 1 to 0",
        "gazebo_summer 3 to 0",
        "wood_autmn 1 to 0",
        "wood_autmn 3 to 0",
    ]
    assert not threedmatch_pairs(tmp_path)


def test_a_missing_fragment_is_named(tmp_path: Path) -> None:
    write_log(tmp_path / "kitchen", TRUTH)
    write_fragments(tmp_path / "kitchen", "cloud_bin", 2)
    with pytest.raises(FileError, match="names fragment 3, but there is no kitchen/cloud_bin_3.ply"):
        threedmatch_pairs(tmp_path)


def test_a_damaged_information_file_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path / "kitchen", TRUTH, np.eye(6))
    (tmp_path / "kitchen" / "gt.info").write_text("0\t1\t9\n1\t2\t3\n")
    write_fragments(tmp_path / "kitchen", "cloud_bin")
    with pytest.raises(FileError, match=r"gt\.info"):
        threedmatch_pairs(tmp_path)


def write_sequence(root: Path, name: str, steps: list[float]) -> None:
    """Frames along the optical axis of the camera, a little apart."""
    folder = root / "sequences" / name
    (folder / "velodyne").mkdir(parents=True)
    (folder / "calib.txt").write_text("Tr: 1 0 0 0 0 1 0 0 0 0 1 0\n")
    (root / "poses").mkdir(exist_ok=True)
    lines = [f"1 0 0 0 0 1 0 0 0 0 1 {place}" for place in np.cumsum(steps)]
    (root / "poses" / f"{name}.txt").write_text("\n".join(lines))
    for number in range(len(steps)):
        np.zeros((5, 4), np.float32).tofile(folder / "velodyne" / f"{number:06d}.bin")


def test_kitti_pairs_end_before_the_sensor_is_ten_metres_away(tmp_path: Path) -> None:
    write_sequence(tmp_path / "dataset", "08", [3.0] * 9)
    write_sequence(tmp_path / "dataset", "03", [3.0] * 9)
    found = kitti_pairs(tmp_path)
    # 0 to 3 are 9 m apart, 4 would be 12; the next pair begins with 4.
    assert [pair.name for pair in found] == ["08 000000 to 000003", "08 000004 to 000007"]
    np.testing.assert_allclose(found[0].T_target_source[:3, 3], [0, 0, -9])


def test_kitti_without_the_published_sequences_takes_those_there_are(tmp_path: Path) -> None:
    write_sequence(tmp_path, "03", [4.0] * 4)
    assert [pair.scene for pair in kitti_pairs(tmp_path)] == ["03"]


def test_frames_too_far_apart_make_no_pair(tmp_path: Path) -> None:
    write_sequence(tmp_path, "09", [11.0] * 4)
    assert not kitti_pairs(tmp_path)


def test_the_information_matrix_gives_the_rmse_of_the_correspondences() -> None:
    points = random_cloud("surface", 200, 3)
    truth = random_transform(4, 3.0)
    error = pose(rotation_from_vector([0.02, -0.01, 0.03]), [0.05, 0.02, -0.04])
    found = truth @ error
    offsets = transform(found, points) - transform(truth, points)
    exact = float(np.sqrt((offsets**2).sum(axis=1).mean()))
    rmse = correspondence_rmse(inverse(truth) @ found, information_of(points))
    # The linearisation leaves out terms of the order of the squared angle.
    assert rmse == pytest.approx(exact, rel=0.04)
    assert correspondence_rmse(np.eye(4), information_of(points)) == 0
