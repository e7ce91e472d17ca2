"""graphreg multiway: the exit status, the output files, and a pose graph without scans."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.files.test_viewpoints import write_pcd
from tests.support.commands import CommandLine, run_command
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
    graphreg.write(path / "few.ply", np.eye(3))
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
def test_a_scan_in_another_unit_is_pointed_out(folder: Path) -> None:
    graphreg.write(folder / "metres.ply", graphreg.read(folder / "scan2.ply") / 1000)
    done = multiway_command(*SCANS[:2], "metres.ply", cwd=folder)
    assert done.returncode == 1
    assert "metres.ply is about 1000 times smaller than scan0.ply: other unit?" in done.stderr


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
def test_a_scan_that_cannot_be_used_is_left_out_and_is_exit_status_1(folder: Path) -> None:
    done = multiway_command("few.ply", *SCANS[:2], "-o", "poses.tum", "--json", cwd=folder)
    assert done.returncode == 1, done.stderr
    output = json.loads(done.stdout)
    assert output["left_out"] == {"few.ply": "has 3 points, but at least 11 are needed"}
    assert output["groups"] == [list(SCANS[:2])]
    assert output["poses"][0] is None
    assert np.loadtxt(folder / "poses.tum")[:, 0].tolist() == [1, 2]
    written = multiway_command("few.ply", *SCANS[:2], "-o", "poses", cwd=folder)
    assert written.returncode == 1
    assert "left out: few.ply: has 3 points" in written.stdout
    assert sorted(path.name for path in (folder / "poses").iterdir()) == ["scan0.txt", "scan1.txt"]


@pytest.mark.slow
def test_a_folder_with_control_points_and_poses_of_a_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    for number, name in ((2, "s10.ply"), (0, "s8.ply"), (1, "s9.ply")):
        (tmp_path / "scans" / name).write_bytes((folder / f"scan{number}.ply").read_bytes())
    (tmp_path / "scans" / "notes.md").write_text("Monday")
    first = multiway_command("scans", "-o", "poses", "--fixed", "s9", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "scans: 3 scans; skipped: notes.md" in first.stderr
    assert first.stdout.index("s8.ply  ") < first.stdout.index("s9.ply  ") < first.stdout.index("s10.ply  ")
    assert "s10.ply to s9.ply" in first.stdout
    assert np.array_equal(np.loadtxt(tmp_path / "poses" / "s9.txt"), np.eye(4))
    rng = np.random.default_rng(0)
    rows = ["name,scan,x,y,z,X,Y,Z,sigma"]
    for number in range(6):
        x = rng.uniform(-1, 1, 3)
        X = transform(np.loadtxt(tmp_path / "poses" / f"s{8 + number % 3}.txt"), x[None])[0] + [100, 200, 300]
        x[0] += 0.5 * (number == 4)
        rows.append(",".join([f"P{number}", f"s{8 + number % 3}", *map(repr, (*x.tolist(), *X.tolist())), "0.001"]))
    (tmp_path / "control.csv").write_text("\n".join(rows))
    second = multiway_command("scans", "--init", "poses", "--control", "control.csv", "-o", "w.npy", cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    assert (
        "control point rejected: P4 in s9.ply: it contradicts the others by 0.5, 500 times its sigma" in second.stdout
    )
    world = np.load(tmp_path / "w.npy")
    for pose, name in zip(world, ("s8", "s9", "s10"), strict=True):
        before = np.loadtxt(tmp_path / "poses" / f"{name}.txt")
        assert np.abs(pose[:3, 3] - before[:3, 3] - [100, 200, 300]).max() < 3e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scan0.ply",), "SCANS: expected at least two scans"),
        (("scan0.ply", "scan0.ply"), "scan0.ply is named twice"),
        (("scan0.ply", "missing.ply"), "missing.ply"),
        (("scan0.ply", "notes.ply"), "notes.ply"),
        ((*SCANS, "--graph", "graph.txt"), "ends in .g2o"),
        ((*SCANS, "-o", "poses.xml"), "poses.xml"),
        ((*SCANS, "--report", "no/folder.html"), "no folder"),
        ((*SCANS, "--fixed", "roof"), "fixed: expected the name of a scan, got 'roof'"),
        ((*SCANS, "--init", "one.txt"), "has 1 poses, expected one for each of 3 scans"),
        ((*SCANS, "--init", "."), "has no poses of these scans, such as scan0.txt"),
        ((*SCANS, "--control", "missing.csv"), "missing.csv"),
        ((*SCANS, "--dof", "rz,z"), "dof: expected the translations across"),
    ],
)
def test_bad_input_is_exit_status_2_and_names_the_argument(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "notes.ply").write_text("not a scan\n")
    np.savetxt(folder / "one.txt", np.eye(4))
    done = multiway_command(*arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_viewpoints_of_the_files_are_initial_poses(run: CommandLine) -> None:
    scans = list(synthetic.sequence("hare", 3, 30, points=2000))
    for number, scan in enumerate(scans):
        write_pcd(Path(f"{number}.pcd"), scan.pose, scan.points)
    names = [f"{number}.pcd" for number in range(3)]
    done = run("multiway", *names, "--init", "viewpoint", "--fixed", "1.pcd", "-o", "poses.npy", "--json")
    assert done.status == 0, done.err
    poses = np.load("poses.npy")
    np.testing.assert_allclose(poses[1], scans[1].pose, atol=1e-12)  # as quaternions hold it
    for pose, scan in zip(poses, scans, strict=True):
        assert rmsd(pose, scan.pose, scan.points) < 0.01 * np.ptp(scan.points, axis=0).max()
    for name in ("c.xyz", "d.xyz"):
        graphreg.write(name, scans[0].points)
    refused = run("multiway", "c.xyz", "d.xyz", "--init", "viewpoint")
    assert refused.status == 2
    assert "no pose" in refused.err
