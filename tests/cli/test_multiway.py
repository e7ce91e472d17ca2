"""graphreg multiway: the exit status, the files, and a pose graph without scans."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.support.commands import run_command
from tests.support.strategies import random_transform

import graphreg
from graphreg.datasets import synthetic
from graphreg.files.g2o import read_graph
from graphreg.poses import transform


def multiway_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command("multiway", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans")
    for number, scan in enumerate(synthetic.sequence("hare", 3, 30, points=6000)):
        graphreg.write(path / f"view{number}.ply", transform(random_transform(number, 1.0), scan.points))
    graphreg.write(path / "casting.ply", synthetic.scan("casting", points=6000).points)
    return path


VIEWS = ("view0.ply", "view1.ply", "view2.ply")


def test_poses_graph_page_and_merged_scan_are_written(folder: Path) -> None:
    outputs = ("-o", "poses.npy", "--merged", "all.ply", "--graph", "graph.g2o", "--report", "report.html")
    done = multiway_command(*VIEWS, *outputs, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 of 3 scans placed in one frame")
    poses = np.load(folder / "poses.npy")
    merged = graphreg.read_cloud(folder / "all.ply")
    for number, name in enumerate(VIEWS):
        mine = merged.points[merged.attributes["scan"] == number]
        assert np.array_equal(mine, transform(poses[number], graphreg.read(folder / name)))
    np.testing.assert_allclose(read_graph(folder / "graph.g2o").poses, poses, atol=1e-12)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "3 of 3 scans placed" in page
    assert all(name in page for name in VIEWS)
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_a_graph_can_be_optimised_without_scans(folder: Path) -> None:
    multiway_command(*VIEWS, "--graph", "again.g2o", "--quiet", cwd=folder)
    done = multiway_command("again.g2o", "-o", "finer.g2o", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 poses, 3 edges: error ")
    before, after = (read_graph(folder / name) for name in ("again.g2o", "finer.g2o"))
    assert np.array_equal(before.pairs, after.pairs)
    np.testing.assert_allclose(before.poses, after.poses, atol=1e-4)
    refused = multiway_command("again.g2o", "--merged", "all.ply", cwd=folder)
    assert refused.returncode == 2
    assert "need scans" in refused.stderr


def test_a_foreign_scan_is_told_and_is_exit_status_1(folder: Path) -> None:
    done = multiway_command("casting.ply", *VIEWS, "-o", "poses.tum", "--json", cwd=folder)
    assert done.returncode == 1, done.stderr
    said = json.loads(done.stdout)
    assert list(said["left_out"]) == ["casting.ply"]
    assert said["groups"] == [list(VIEWS)]
    assert said["poses"][0] is None
    assert np.loadtxt(folder / "poses.tum")[:, 0].tolist() == [1, 2, 3]
    written = multiway_command("casting.ply", *VIEWS, "-o", "poses", cwd=folder)
    assert written.returncode == 1
    assert "left out: casting.ply: " in written.stdout
    assert sorted(path.name for path in (folder / "poses").iterdir()) == ["view0.txt", "view1.txt", "view2.txt"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("view0.ply",), "expected a list of at least two"),
        (("view0.ply", "view0.ply"), "view0.ply is named twice"),
        (("view0.ply", "missing.ply"), "missing.ply"),
        (("view0.ply", "notes.ply"), "notes.ply"),
        ((*VIEWS, "--graph", "graph.txt"), "ends in .g2o"),
        ((*VIEWS, "-o", "poses.xml"), "poses.xml"),
        ((*VIEWS, "--report", "no/folder.html"), "no folder"),
    ],
)
def test_bad_input_is_exit_status_2_and_names_it(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    (folder / "notes.ply").write_text("not a scan\n")
    done = multiway_command(*arguments, cwd=folder)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
