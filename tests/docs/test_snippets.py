"""What README and docs show is run: every block of Python, page by page, and every command line that soon ends."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.snippets import LASTING, PAGES, PYTHON, Block, blocks, environment, lines_of_shell
from tests.support.strategies import small_pair

import graphreg
from graphreg.poses import inverse, pose, rotation_from_vector, transform

LINES = {line: needs for line, needs in lines_of_shell().items() if not line.startswith(LASTING)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scans under every name that pages use. All are level: the motion between them is a turn about z and a shift."""
    for library in ("laspy", "pye57"):
        pytest.importorskip(library)
    place = tmp_path_factory.mktemp("scans")
    moving, fixed = scans()
    names = {
        "source": moving,
        "target": fixed,
        "a": moving,
        "b": fixed,
        "level": moving,
        "ground": fixed,
        "scan": fixed,
    }
    for name, points in names.items():
        for suffix in (".ply", ".pcd", ".las", ".laz", ".e57"):
            graphreg.write(place / f"{name}{suffix}", points)
    (place / "frames").mkdir()
    for number, points in enumerate((fixed, moving)):
        graphreg.write(place / "frames" / f"{number}.ply", points)
    graphreg.write_poses(place / "true_poses.kitti", [np.eye(4), motion()])
    (place / "jobs.csv").write_text("source,target\nsource.ply,target.ply\na.ply,b.ply\n")
    (place / "scans").mkdir()
    for name in ("a.ply", "b.ply"):
        graphreg.write(place / "scans" / name, names[name[0]])
    write_kitti(place / "scans" / "kitti_odometry" / "dataset", moving)
    write_threedmatch(place / "scans" / "3dmatch_redkitchen", moving, fixed)
    return place


def motion() -> np.ndarray:
    return pose(rotation_from_vector([0.0, 0.0, 0.2]), [0.05, -0.03, 0.02])


def scans() -> tuple[np.ndarray, np.ndarray]:
    pair = small_pair("dragon")
    return transform(inverse(motion()) @ pair.T_target_source, pair.source), pair.target


def write_kitti(root: Path, points: np.ndarray) -> None:
    sequence = root / "sequences" / "03"
    (sequence / "velodyne").mkdir(parents=True)
    graphreg.write(sequence / "velodyne" / "000000.bin", points)
    row = " ".join(str(value) for value in np.eye(4)[:3].ravel())
    (sequence / "calib.txt").write_text(f"Tr: {row}\n")
    (root / "poses").mkdir()
    (root / "poses" / "03.txt").write_text(f"{row}\n")


def write_threedmatch(root: Path, moving: np.ndarray, fixed: np.ndarray) -> None:
    for name in ("kitchen", "kitchen-evaluation"):
        (root / name).mkdir(parents=True)
    graphreg.write(root / "kitchen" / "cloud_bin_0.ply", fixed)
    graphreg.write(root / "kitchen" / "cloud_bin_1.ply", moving)
    rows = "\n".join(" ".join(str(value) for value in row) for row in motion())
    (root / "kitchen-evaluation" / "gt.log").write_text(f"0 1 2\n{rows}\n")


def names() -> dict[str, Any]:
    """What snippets take as given."""
    moving, fixed = scans()
    given = {"source": moving, "target": fixed, "level": moving, "ground": fixed, "T0": motion()}
    return given | {"graphreg": graphreg, "np": np, "watch": lambda step: None}


def run(chosen: list[Block]) -> None:
    held = names()
    for block in chosen:
        code = "\n" * (block.line - 1) + block.text
        exec(compile(code, str(block.page), "exec"), held)


@pytest.mark.parametrize("page", sorted({block.page for block in PYTHON}), ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    run([block for block in PYTHON if block.page == page and not block.needs])


@pytest.mark.parametrize("library", sorted({block.needs for block in PYTHON if block.needs}))
def test_the_python_of_another_library_runs(library: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    monkeypatch.chdir(folder)
    run([block for block in PYTHON if block.needs == library])


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_runs(line: str, folder: Path) -> None:
    needs = LINES[line]
    if needs and shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    done = subprocess.run(line, shell=True, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr + done.stdout


def test_what_is_found_is_what_stands_there() -> None:
    """Neither a block nor a mark is passed over: as many are found as a plain look at the lines counts."""
    for page in PAGES:
        lines = [line.strip() for line in page.read_text(encoding="utf-8").splitlines()]
        found = list(blocks(page))
        for language in ("python", "bash"):
            assert lines.count(f"```{language}") == sum(block.language == language for block in found), page
        marked = sum(line.startswith(("<!-- not run:", "<!-- needs:")) for line in lines)
        assert marked == sum(bool(block.not_run) + bool(block.needs) for block in found), page
