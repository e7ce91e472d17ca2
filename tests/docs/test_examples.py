"""Every example runs, and does what it says."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphreg
from graphreg.metrics import angular_error

FOLDER = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.usefixtures("small_demo")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / name))


def test_all_of_them_are_here_and_in_the_docs() -> None:
    tested = set(re.findall(r'run\("(\w+\.py)"\)', Path(__file__).read_text(encoding="utf-8")))
    assert tested == {path.name for path in FOLDER.glob("*.py")}
    page = (FOLDER.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- example (\S+) -->", page)) == tested


@pytest.mark.slow
def test_two_scans(tmp_path: Path) -> None:
    held = run("two_scans.py")
    assert held["result"].success
    assert angular_error(held["result"].transformation, held["pair"].T_target_source) < 0.2
    assert len(graphreg.read("aligned.ply")) == len(held["pair"].source)
    assert (tmp_path / "report.html").stat().st_size > 100_000


@pytest.mark.slow
def test_a_pose_is_refined() -> None:
    held = run("refine.py")
    truth = held["pair"].T_target_source
    assert held["result"].success
    assert held["result"].hypotheses == 1
    assert angular_error(held["result"].transformation, truth) < 0.1 * angular_error(held["initial"], truth)


@pytest.mark.slow
def test_level_scans_stay_level() -> None:
    held = run("level_scans.py")
    assert held["result"].success
    np.testing.assert_allclose(held["result"].transformation[2, :3], [0, 0, 1], atol=1e-12)
    assert angular_error(held["result"].transformation, held["truth"]) < 0.1


@pytest.mark.slow
def test_the_covariance_of_a_point() -> None:
    held = run("covariance.py")
    assert held["of_point"].shape == (3, 3)
    assert (np.linalg.eigvalsh(held["of_point"]) > 0).all()
    # The Jacobian against sampled rotations and translations, applied to the point.
    result = held["result"]
    sampled = np.random.default_rng(0).multivariate_normal(np.zeros(6), result.covariance, 20_000)
    displacement = np.cross(sampled[:, :3], held["point"] - result.centre) + sampled[:, 3:]
    np.testing.assert_allclose(np.cov(displacement.T).diagonal(), held["of_point"].diagonal(), rtol=0.05)
    assert not held["sphere"].success
    assert held["sphere"].degenerate_directions


@pytest.mark.slow
def test_formats(capsys: pytest.CaptureFixture[str]) -> None:
    run("formats.py")
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == list(graphreg.formats())
    assert lines[-1] == "['intensity']"


@pytest.mark.slow
def test_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    held = run("bad_input.py")
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[: len(held["attempts"])]] == list(held["attempts"])
    assert not held["result"].success


@pytest.mark.slow
def test_the_notebook(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    notebook = json.loads((FOLDER / "first_registration.ipynb").read_text(encoding="utf-8"))
    held: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "outputs are not kept"
            exec(compile("".join(cell["source"]), "first_registration.ipynb", "exec"), held)
    assert held["result"].success
    assert angular_error(held["result"].transformation, held["pair"].T_target_source) < 0.2
    assert (tmp_path / "before_after.png").exists()
