"""graphreg register: the verdict, the exit status and the files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphreg
from graphreg.clouds import as_cloud
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import inverse, pose, rotation_from_vector, transform

TURNED = pose(rotation_from_vector(np.radians([8.0, -12.0, 10.0])), [0.03, -0.02, 0.01])


def register_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from graphreg.cli import main; main()", "register", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans")
    body = synthetic.scan("dragon", points=6000).points
    shade = np.arange(len(body), dtype=np.int32)
    graphreg.write(path / "target.ply", body)
    graphreg.write(path / "source.ply", as_cloud(transform(inverse(TURNED), body), attributes={"shade": shade}))
    graphreg.write(path / "other.ply", synthetic.scan("casting", points=6000).points)
    return path


def test_matrix_and_aligned_scan_are_written(folder: Path) -> None:
    done = register_command("source.ply", "target.ply", "-o", "T.txt", "--save-aligned", "moved.ply", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("registered: ")
    found = np.loadtxt(folder / "T.txt")
    assert angular_error(found, TURNED) < 1
    moved = graphreg.read_cloud(folder / "moved.ply")
    assert np.array_equal(moved.points, transform(found, graphreg.read(folder / "source.ply")))
    assert np.array_equal(moved.attributes["shade"], np.arange(len(moved)))


def test_json_is_the_whole_result(folder: Path) -> None:
    done = register_command("source.ply", "target.ply", "--json", "--seed", 3, "--iterations", 60, cwd=folder)
    said = graphreg.Result.from_json(done.stdout)
    same = graphreg.register(
        graphreg.read(folder / "source.ply"), graphreg.read(folder / "target.ply"), seed=3, max_iterations=60
    )
    assert np.array_equal(said.transformation, same.transformation)
    assert len(said.history) == 60


def test_init_and_method(folder: Path) -> None:
    np.savetxt(folder / "init.txt", TURNED)
    done = register_command("source.ply", "target.ply", "--init", "init.txt", "--method", "pipl", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    said = graphreg.Result.from_json(done.stdout)
    assert said.method == "pipl"
    assert angular_error(said.transformation, TURNED) < 1


def test_a_registration_that_fails_is_exit_status_1(folder: Path) -> None:
    done = register_command("other.ply", "target.ply", cwd=folder)
    assert done.returncode == 1
    assert done.stdout.startswith("not registered: ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("source.ply",), "target"),
        (("nothing.ply", "target.ply"), "nothing.ply: No such file"),
        (("source.ply", "target.ply", "--method", "magic"), "expected one of"),
        (("source.ply", "target.ply", "--init", "source.ply"), "source.ply: holds no matrix"),
        (("source.ply", "target.ply", "--iterations", "0"), "max_iterations"),
    ],
)
def test_bad_input_is_exit_status_2(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    done = register_command(*arguments, cwd=folder)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_method_with_its_own_settings(folder: Path) -> None:
    done = register_command(
        "source.ply", "target.ply", "--method", "tricp", "--set", "overlap=0.9", "--set", "max_iterations=30", "--json",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = graphreg.Result.from_json(done.stdout)
    assert said.method == "tricp"
    assert (said.settings["overlap"], said.settings["max_iterations"]) == (0.9, 30)
    assert len(said.history) <= 30


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("overlap", "--set: expected name=value"),
        ("speed=1", "speed: no setting"),
        ("overlap=most", "overlap: expected"),
    ],
)
def test_settings_that_cannot_be_used(folder: Path, setting: str, told: str) -> None:
    done = register_command("source.ply", "target.ply", "--method", "tricp", "--set", setting, cwd=folder)
    assert done.returncode == 2
    assert told in done.stderr
