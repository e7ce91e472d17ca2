"""graphreg locate: the verdict, the exit status and the output files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.commands import run_command

import graphreg
from graphreg.datasets import clutter
from graphreg.poses import transform

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans")
    example = clutter.table("bracket", instances=2, objects=4, spacing=0.04)
    graphreg.write(path / "part.ply", example.part)
    graphreg.write(path / "scene.ply", example.scene)
    graphreg.write(path / "other.ply", clutter.table("cube", instances=0, objects=4, spacing=0.04).scene)
    np.save(path / "poses.npy", example.poses)
    return path


def test_every_instance_is_printed_and_written(folder: Path) -> None:
    outputs = ("-o", "T.npy", "--save-aligned", "moved.ply")
    done = run_command("locate", "part.ply", "scene.ply", "--most", 3, "--json", *outputs, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = [graphreg.Location.from_json(json.dumps(each)) for each in json.loads(done.stdout)]
    assert [location.success for location in found] == [True, True]
    written = np.load(folder / "T.npy")
    assert np.array_equal(written, [location.transformation for location in found])
    true = np.load(folder / "poses.npy")
    assert sorted(int(np.argmin(np.abs(true - T).max(axis=(1, 2)))) for T in written) == [0, 1]
    # The part is written at the best of the poses.
    moved = graphreg.read(folder / "moved.ply")
    assert np.allclose(moved, transform(written[0], graphreg.read(folder / "part.ply")))


def test_the_verdict_is_printed_and_poses_are_text(folder: Path) -> None:
    """A part in a scene of nothing else, which takes less time."""
    done = run_command("locate", "part.ply", "part.ply", "-o", "T.txt", cwd=folder)
    assert done.stdout.startswith("located: overlap")
    assert np.allclose(np.loadtxt(folder / "T.txt"), np.eye(4), atol=0.02)


def test_what_is_not_there_has_exit_status_1(folder: Path) -> None:
    done = run_command("locate", "part.ply", "other.ply", cwd=folder)
    assert done.returncode == 1
    assert "not located" in done.stdout or "ambiguous" in done.stdout


def test_bad_input_has_exit_status_2(folder: Path) -> None:
    for arguments in (("missing.ply", "scene.ply"), ("part.ply", "scene.ply", "--most", 0)):
        assert run_command("locate", *arguments, cwd=folder).returncode == 2
