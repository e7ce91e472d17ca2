"""graphreg sequence: the trajectory, the map, the errors and the exit status."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.support.bags import STAMP, write_bag
from tests.support.commands import run_command
from tests.support.walks import NOISE, in_first_frame, walk_frames, walk_poses

import graphreg
from graphreg.metrics import angular_error, translation_error
from graphreg.poses import inverse

COUNT = 5


def sequence_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command("sequence", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sequence")
    (path / "frames").mkdir()
    for number, points in enumerate(walk_frames(COUNT)):
        graphreg.write(path / "frames" / f"f{number + 8}.ply", points)
    graphreg.write_poses(path / "truth.kitti", walk_poses(COUNT))
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_poses_map_and_page_are_written(folder: Path) -> None:
    files = ("-o", "poses.tum", "--map", "map.ply", "--report", "trajectory.html")
    done = sequence_command("frames", "--truth", "truth.kitti", "--loops", *files, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"frames: {COUNT}, all registered" in done.stdout
    assert "\nloops: none found\n" in done.stdout
    assert "\nRPE (consecutive frames): " in done.stdout
    assert "\nATE: " in done.stdout
    assert "\nKITTI segment errors (lengths " in done.stdout
    found = graphreg.read_poses(folder / "poses.tum")
    for here, there in zip(found, in_first_frame(walk_poses(COUNT)), strict=True):
        assert angular_error(here, there) < 0.2
        assert translation_error(here, there) < 4 * NOISE
    assert len(graphreg.read(folder / "map.ply")) > 1000
    page = (folder / "trajectory.html").read_text(encoding="utf-8")
    assert "Every frame registered" in page
    assert "f12.ply" in page


@pytest.mark.slow
def test_a_map_of_tiles_is_localised_in(folder: Path) -> None:
    done = sequence_command("frames", "--map", "tiles", "--limit", 3, cwd=folder)
    assert done.returncode == 0, done.stderr
    whole = graphreg.sequence(folder / "frames", limit=3, keep_map=True).map
    assert whole is not None
    assert len(graphreg.read(folder / "tiles")) == len(whole)
    found = run_command("localise", "frames", "tiles", "--limit", 2, cwd=folder)
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
def test_json_has_every_frame_and_the_errors(folder: Path) -> None:
    done = sequence_command("frames", "--every", 2, "--pairs", "--truth", "truth.kitti", "--json", cwd=folder)
    output = json.loads(done.stdout)
    same = graphreg.sequence(folder / "frames", every=2, mode="pairs")
    assert np.array_equal([step["pose"] for step in output["steps"]], same.poses)
    assert [(step["number"], step["name"]) for step in output["steps"]] == [
        (0, "f8.ply"),
        (2, "f10.ply"),
        (4, "f12.ply"),
    ]
    assert output["steps"][0]["voxel"] > 0
    assert output["loops"] is None
    assert 0 < output["errors"]["rpe_translation"] < 2 * NOISE
    assert output["errors"]["segments"]["count"] > 0


@pytest.mark.slow
def test_a_frame_that_cannot_be_read_has_a_predicted_pose(folder: Path, tmp_path: Path) -> None:
    for path in (folder / "frames").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "f10.ply").write_bytes(b"ply\n")
    done = sequence_command(".", "-o", "poses.npy", cwd=tmp_path)
    assert done.returncode == 1
    assert "f10.ply: pose predicted by constant velocity; not registered: " in done.stderr
    assert f"frames: {COUNT}, 1 of them not registered" in done.stdout
    assert np.load(tmp_path / "poses.npy").shape == (COUNT, 4, 4)


@pytest.mark.slow
def test_a_kitti_sequence_has_its_own_ground_truth_and_timestamps(tmp_path: Path) -> None:
    (tmp_path / "velodyne").mkdir()
    for number, points in enumerate(walk_frames(4)):
        graphreg.write(tmp_path / "velodyne" / f"{number:06d}.bin", points)
    T_camera_velodyne = np.array([[0.0, -1, 0, 0.1], [0, 0, -1, 0.2], [1, 0, 0, 0.3], [0, 0, 0, 1]])
    (tmp_path / "calib.txt").write_text("Tr: " + " ".join(map(str, T_camera_velodyne[:3].ravel())) + "\n")
    cameras = [T_camera_velodyne @ at @ inverse(T_camera_velodyne) for at in in_first_frame(walk_poses(4))]
    graphreg.write_poses(tmp_path / "poses.txt", cameras, format="kitti")
    (tmp_path / "times.txt").write_text("0.0\n0.5\n1.0\n1.5\n")
    done = sequence_command(".", "--every", 2, "-o", "out.tum", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["errors"]["final_translation"] < 4 * NOISE
    assert np.loadtxt(tmp_path / "out.tum")[:, 0].tolist() == [0.0, 1.0]
    (tmp_path / "times.txt").write_text("0.0\n0.5\n")
    assert "times.txt: has 2 lines" in sequence_command(".", cwd=tmp_path).stderr


def test_files_of_another_format_and_an_empty_map_are_noted(tmp_path: Path) -> None:
    for name in ("poses.txt", "a.pcd", "b.pcd"):
        (tmp_path / name).write_text("anything")
    for number in range(3):
        graphreg.write(tmp_path / f"g{number}.ply", np.zeros((3, 3)))
    done = sequence_command(".", "--map", "map.xyz", cwd=tmp_path)
    assert done.returncode == 1
    assert "left out, because most files are .ply: a.pcd and 1 more" in done.stderr
    assert "frames: 3, 3 of them not registered" in done.stdout
    assert "map.xyz: not written, because no frame was registered" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "graphreg: nowhere is no folder"),
        (("frames", "-o", "poses.doc"), "its suffix '.doc' is not known"),
        (("frames", "--report", "page.txt"), "expected a report that ends in .html"),
        (("frames", "--truth", "short.kitti"), "has 2 poses, too few for 5 frames"),
        (("frames", "--every", "0"), "--every"),
        (("empty",), "has no frames"),
        (("frames", "--map", "frames"), "holds f10.ply"),
    ],
)
def test_bad_input_is_exit_status_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    graphreg.write_poses(folder / "short.kitti", walk_poses(2))
    (folder / "empty").mkdir(exist_ok=True)
    done = sequence_command(*arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_frames_of_a_bag_are_those_of_a_folder(folder: Path) -> None:
    pytest.importorskip("rosbags")
    frames = [(graphreg.read(folder / "frames" / f"f{number}.ply"), None) for number in (8, 9, 10)]
    bag = write_bag(folder, "street.bag", {"/a": frames, "/b": frames[:2]}, number="f8")
    assert "of which one must be chosen: /a (3), /b (2)" in sequence_command(bag, cwd=folder).stderr
    done = sequence_command(bag, "--topic", "/a", "--json", "-o", "poses.tum", cwd=folder)
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert np.array_equal(
        [step["pose"] for step in output["steps"]], graphreg.sequence(folder / "frames", limit=3).poses
    )
    stamps = np.loadtxt(folder / "poses.tum")[:, 0]
    assert np.allclose(stamps, STAMP / 1e9 + 0.1 * np.arange(3), atol=1e-6)
    assert "is no bag" in sequence_command("frames", "--topic", "/a", cwd=folder).stderr
