"""The code of README, docs and --help runs: blocks of Python, page by page, and command lines that end soon."""

from __future__ import annotations

import glob
import shlex
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.bags import write_bag
from tests.support.commands import CommandLine
from tests.support.snippets import LASTING, PAGES, PYTHON, UNWANTED, Block, blocks, environment, lines_of_shell
from tests.support.strategies import small_pair

import graphreg
from graphreg.clouds import as_cloud
from graphreg.datasets import city, deformed_bodies
from graphreg.poses import inverse, pose, rotation_from_vector, transform

LINES = {line: needs for line, needs in lines_of_shell().items() if not line.startswith(LASTING)}
OURS = [line for line, needs in LINES.items() if needs is None]
FOREIGN = [line for line, needs in LINES.items() if needs is not None]
GRAPH = """VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1
VERTEX_SE3:QUAT 1 1 0 0 0 0 0 1
EDGE_SE3:QUAT 0 1 1 0 0 0 0 0 1 1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files under every name that pages use. The scans are level: rotated about z and translated."""
    for library in ("laspy", "pye57"):
        pytest.importorskip(library)
    path = tmp_path_factory.mktemp("scans")
    source, target = scans()
    names = {
        "source": source,
        "target": target,
        "a": source,
        "b": target,
        "level": source,
        "ground": target,
        "scan": target,
        "photogrammetry": source / 3,
        **dict.fromkeys(("part", "bolt", "frame"), source),
        **dict.fromkeys(("scene", "bin", "map"), target),
    }
    for name, points in names.items():
        for suffix in (".ply", ".pcd", ".las", ".laz", ".e57"):
            graphreg.write(path / f"{name}{suffix}", points)
    for name in ("epoch1", "epoch2"):
        graphreg.write(path / f"{name}.laz", target)
    # A mesh of triangles between neighbouring points.
    nearest = graphreg.neighbour_graph(target, 2).neighbours
    graphreg.write(path / "part.stl", graphreg.Mesh(target, np.c_[np.arange(len(target)), nearest]))
    for name in ("frames", "ouster"):
        (path / name).mkdir()
        for number, points in enumerate((target, source)):
            times = np.linspace(0, 0.1, len(points))
            graphreg.write(path / name / f"{number}.ply", as_cloud(points, attributes={"t": times}))
    frames = [(points, {"t": np.arange(len(points), dtype=np.uint32)}) for points in (target, source)]
    write_bag(path, "street.bag", {"/points": frames, "/other": frames})
    graphreg.write_poses(path / "ground_truth.kitti", [np.eye(4), T_target_source()])
    graphreg.write_poses(path / "T.txt", T_target_source())
    (path / "graph.g2o").write_text(GRAPH)
    write_e57(path / "site.e57", transform(T_target_source(), source), target)
    for name in ("survey.csv", "survey.txt"):
        np.savetxt(path / name, np.c_[np.zeros(len(source)), source], delimiter=";")
    (path / "jobs.csv").write_text("source,target\nsource.ply,target.ply\na.ply,b.ply\n")
    (path / "scans").mkdir()
    for name in ("a.ply", "b.ply"):
        graphreg.write(path / "scans" / name, names[name[0]])
    (path / "control.csv").write_text(control_table(names["a"], names["b"]))
    write_kitti(path / "scans" / "kitti_odometry" / "dataset", source)
    write_threedmatch(path / "scans" / "3dmatch_redkitchen", source, target)
    return path


@pytest.fixture
def small_city(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (city.city_map, city.frame):
        monkeypatch.setitem(function.__kwdefaults__, "size", 200.0)


@pytest.fixture
def small_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sixth of the points, also in the frames that are made of pairs."""

    def smaller(*arguments: Any, points: int, **options: Any) -> Any:
        return deformed_pair(*arguments, points=points // 6, **options)

    deformed_pair = deformed_bodies.deformed_pair
    monkeypatch.setattr(deformed_bodies, "deformed_pair", smaller)


def T_target_source() -> np.ndarray:
    return pose(rotation_from_vector([0.0, 0.0, 0.2]), [0.05, -0.03, 0.02])


def scans() -> tuple[np.ndarray, np.ndarray]:
    """With few points: whether a line runs does not depend on them."""
    pair = small_pair("dragon")
    return transform(inverse(T_target_source()) @ pair.T_target_source, pair.source[::3]), pair.target[::3]


def control_table(a: np.ndarray, b: np.ndarray) -> str:
    """Three control points in each of two scans, in the frame of b moved to a place on a map."""
    rows = ["name,scan,x,y,z,X,Y,Z,sigma"]
    for scan, T, points in (("a", T_target_source(), a[:3]), ("b", np.eye(4), b[:3])):
        for number, (x, X) in enumerate(
            zip(points, transform(pose(np.eye(3), [5e5, 5e6, 0]) @ T, points), strict=True)
        ):
            values = ",".join(map(repr, (*x.tolist(), *X.tolist())))
            rows.append(f"{scan}{number},{scan},{values},0.001")
    return "\n".join(rows)


def write_e57(path: Path, *scans: np.ndarray) -> None:
    with import_module("pye57").E57(str(path), "w") as file:
        for points in scans:
            file.write_scan_raw({f"cartesian{axis}": points[:, i].copy() for i, axis in enumerate("XYZ")})


def write_kitti(root: Path, points: np.ndarray) -> None:
    sequence = root / "sequences" / "03"
    (sequence / "velodyne").mkdir(parents=True)
    graphreg.write(sequence / "velodyne" / "000000.bin", points)
    row = " ".join(str(value) for value in np.eye(4)[:3].ravel())
    (sequence / "calib.txt").write_text(f"Tr: {row}\n")
    (root / "poses").mkdir()
    (root / "poses" / "03.txt").write_text(f"{row}\n")


def write_threedmatch(root: Path, source: np.ndarray, target: np.ndarray) -> None:
    for name in ("kitchen", "kitchen-evaluation"):
        (root / name).mkdir(parents=True)
    graphreg.write(root / "kitchen" / "cloud_bin_0.ply", target)
    graphreg.write(root / "kitchen" / "cloud_bin_1.ply", source)
    rows = "\n".join(" ".join(str(value) for value in row) for row in T_target_source())
    (root / "kitchen-evaluation" / "gt.log").write_text(f"0 1 2\n{rows}\n")


def names() -> dict[str, Any]:
    """The variables that snippets use without defining them."""
    source, target = scans()
    clouds = {
        "source": source,
        "target": target,
        "scan": target,
        "level": source,
        "ground": target,
        "T0": T_target_source(),
    }
    return clouds | {"graphreg": graphreg, "np": np, "watch": lambda step: None}


def run(chosen: list[Block]) -> None:
    variables = names()
    for block in chosen:
        code = "\n" * (block.line - 1) + block.text
        exec(compile(code, str(block.page), "exec"), variables)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({block.page for block in PYTHON}), ids=lambda page: page.name)
@pytest.mark.usefixtures("small_pictures", "small_city", "small_bodies")
def test_the_python_of_a_page_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    run([block for block in PYTHON if block.page == page and not block.needs])


@pytest.mark.slow
@pytest.mark.parametrize("library", sorted({block.needs for block in PYTHON if block.needs}))
def test_the_python_of_another_library_runs(library: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library, exc_type=ImportError)
    monkeypatch.chdir(folder)
    run([block for block in PYTHON if block.needs == library])


@pytest.mark.slow
@pytest.mark.parametrize("line", OURS)
@pytest.mark.usefixtures("small_demo")
def test_a_command_line_runs(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for name in UNWANTED:
        monkeypatch.delenv(name, raising=False)
    program, *words = shlex.split(line)
    assert program == "graphreg"
    expanded = [name for word in words for name in (sorted(glob.glob(word)) or [word])]
    done = CommandLine(monkeypatch, capsys)(*expanded)
    assert done.status == 0, done.err + done.out


@pytest.mark.slow
@pytest.mark.parametrize("line", FOREIGN)
def test_a_command_line_of_another_program_runs(line: str, folder: Path) -> None:
    needs = LINES[line]
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    done = subprocess.run(line, shell=True, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr + done.stdout


def test_every_block_and_mark_is_found() -> None:
    """As many as there are lines that begin one."""
    for page in PAGES:
        lines = [line.strip() for line in page.read_text(encoding="utf-8").splitlines()]
        found = list(blocks(page))
        for language in ("python", "bash"):
            assert lines.count(f"```{language}") == sum(block.language == language for block in found), page
        marked = sum(line.startswith(("<!-- not run:", "<!-- needs:")) for line in lines)
        assert marked == sum(bool(block.not_run) + bool(block.needs) for block in found), page
