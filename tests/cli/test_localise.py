"""graphreg localise: the trajectory in a map, its errors, the page and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.commands import run_command
from tests.support.walks import NOISE, scene_points, walk_frames, walk_poses

import graphreg

COUNT = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("localise")
    (path / "frames").mkdir()
    for number, points in enumerate(walk_frames(COUNT)):
        graphreg.write(path / "frames" / f"f{number}.ply", points)
    graphreg.write(path / "map.ply", scene_points())
    graphreg.write_poses(path / "truth.kitti", walk_poses(COUNT))
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_poses_page_and_errors(folder: Path) -> None:
    files = ("--truth", "truth.kitti", "-o", "poses.tum", "--report", "page.html")
    done = run_command("localise", "frames", "map.ply", *files, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"frames: {COUNT}, all localised" in done.stdout
    assert "\nlocated in the whole map: 1; tracked: 2" in done.stdout
    assert "\nerrors in the map: median " in done.stdout
    assert np.allclose(graphreg.read_poses(folder / "poses.tum"), walk_poses(COUNT), atol=4 * NOISE)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Every frame registered" in page
    assert "In the coordinates of the map" in page


@pytest.mark.slow
def test_json_has_every_frame(folder: Path) -> None:
    done = run_command("localise", "frames", "map.ply", "--every", 2, "--json", cwd=folder)
    output = json.loads(done.stdout)
    assert np.allclose([step["pose"] for step in output["steps"]], walk_poses(COUNT)[::2], atol=4 * NOISE)
    assert [step["name"] for step in output["steps"]] == ["f0.ply", "f2.ply"]


def test_bad_input_is_one_line(folder: Path) -> None:
    for arguments in (("frames", "missing.ply"), ("missing", "map.ply"), ("frames", "map.ply", "--truth", "map.ply")):
        done = run_command("localise", *arguments, cwd=folder)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
