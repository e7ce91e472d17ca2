"""graphreg multiway: the exit status, the output files, and a pose graph without scans."""

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
from graphreg.metrics import rmsd
from graphreg.poses import transform


def multiway_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command("multiway", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans")
    for number, scan in enumerate(synthetic.sequence("hare", 3, 30, points=3000)):
        graphreg.write(path / f"scan{number}.ply", transform(random_transform(number, 1.0), scan.points))
    graphreg.write(path / "casting.ply", synthetic.scan("casting", points=3000).points)
    return path


SCANS = ("scan0.ply", "scan1.ply", "scan2.ply")


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_poses_graph_page_and_merged_scan_are_written(folder: Path) -> None:
    outputs = ("-o", "poses.npy", "--merged", "all.ply", "--graph", "graph.g2o", "--report", "report.html")
    done = multiway_command(*SCANS, *outputs, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("registered: 3 of 3 scans, by ")
    poses = np.load(folder / "poses.npy")
    merged = graphreg.read_cloud(folder / "all.ply")
    for number, name in enumerate(SCANS):
        mine = merged.points[merged.attributes["scan"] == number]
        assert np.array_equal(mine, transform(poses[number], graphreg.read(folder / name)))
    np.testing.assert_allclose(read_graph(folder / "graph.g2o").poses, poses, atol=1e-12)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "3 of 3 scans registered in one frame" in page
    assert all(name in page for name in SCANS)
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


@pytest.mark.slow
def test_a_graph_can_be_optimised_without_scans(folder: Path) -> None:
    multiway_command(*SCANS, "--graph", "again.g2o", "--quiet", cwd=folder)
    done = multiway_command("again.g2o", "-o", "finer.g2o", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 poses, 3 edges: chi2 ")
    before, after = (read_graph(folder / name) for name in ("again.g2o", "finer.g2o"))
    assert np.array_equal(before.pairs, after.pairs)
    # The edges are pairwise transforms, the poses those of multiview refinement: both are estimates of one pose.
    for name, one, other in zip(SCANS, before.poses, after.poses, strict=True):
        assert rmsd(one, other, graphreg.read(folder / name)) < 1e-4
    refused = multiway_command("again.g2o", "--merged", "all.ply", cwd=folder)
    assert refused.returncode == 2
    assert "need scans" in refused.stderr


@pytest.mark.slow
def test_a_scan_without_overlap_is_left_out_and_is_exit_status_1(folder: Path) -> None:
    done = multiway_command("casting.ply", *SCANS[:2], "-o", "poses.tum", "--json", cwd=folder)
    assert done.returncode == 1, done.stderr
    output = json.loads(done.stdout)
    assert list(output["left_out"]) == ["casting.ply"]
    assert output["groups"] == [list(SCANS[:2])]
    assert output["poses"][0] is None
    assert np.loadtxt(folder / "poses.tum")[:, 0].tolist() == [1, 2]
    written = multiway_command("casting.ply", *SCANS[:2], "-o", "poses", cwd=folder)
    assert written.returncode == 1
    assert "left out: casting.ply: " in written.stdout
    assert sorted(path.name for path in (folder / "poses").iterdir()) == ["scan0.txt", "scan1.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scan0.ply",), "expected a list of at least two"),
        (("scan0.ply", "scan0.ply"), "scan0.ply is named twice"),
        (("scan0.ply", "missing.ply"), "missing.ply"),
        (("scan0.ply", "notes.ply"), "notes.ply"),
        ((*SCANS, "--graph", "graph.txt"), "ends in .g2o"),
        ((*SCANS, "-o", "poses.xml"), "poses.xml"),
        ((*SCANS, "--report", "no/folder.html"), "no folder"),
    ],
)
def test_bad_input_is_exit_status_2_and_names_the_argument(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "notes.ply").write_text("not a scan\n")
    done = multiway_command(*arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
