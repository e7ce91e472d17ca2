"""graphreg deform: files in, the deformed scan out, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.deforming_bodies import bent, bumpy_body
from typer.testing import CliRunner

import graphreg
from graphreg.cli import app


@pytest.fixture
def scans(tmp_path: Path) -> tuple[Path, Path]:
    for name, points in (("a.ply", bumpy_body(120)), ("b.ply", bent(bumpy_body(120, 1), 0.3))):
        graphreg.write(tmp_path / name, points)
    return tmp_path / "a.ply", tmp_path / "b.ply"


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_a_deformed_scan_and_its_strain(scans: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "deformed.ply"
    page = tmp_path / "page.html"
    words = ["deform", *map(str, scans), "-o", str(out), "--report", str(page), "--json", "--threads", "1"]
    done = CliRunner().invoke(app, words)
    assert "Strain of the points" in page.read_text(encoding="utf-8")
    found = graphreg.Deformation.from_json(done.stdout)
    assert done.exit_code == (0 if found.success else 1)
    written = graphreg.read_cloud(out)
    assert np.allclose(written.points, found.points, atol=1e-6)
    assert np.allclose(written.attributes["strain"], found.strain, atol=1e-6)
    assert json.loads(done.stdout)["method"] == "elastic"


@pytest.mark.slow
def test_several_targets_are_followed_in_time(scans: tuple[Path, Path]) -> None:
    done = CliRunner().invoke(app, ["deform", str(scans[0]), str(scans[0]), str(scans[1]), "--threads", "1"])
    assert "a.ply: deformed" in done.stdout
    assert "b.ply: " in done.stdout


@pytest.mark.slow
def test_another_unit_is_pointed_out(scans: tuple[Path, Path]) -> None:
    graphreg.write(scans[1], graphreg.read(scans[1]) * 1000)
    done = CliRunner().invoke(app, ["deform", *map(str, scans), "--threads", "1"])
    assert done.exit_code == 1
    assert "the source is about 1000 times smaller than the target: other unit?" in done.stderr


@pytest.mark.slow
def test_bad_arguments(scans: tuple[Path, Path]) -> None:
    for words in (
        ["--method", "magic"],
        ["--stiffness", "0"],
        ["-o", "missing/folder/out.ply"],
        ["--report", "page.pdf"],
        [str(scans[1]), "--method", "cpd"],
    ):
        assert CliRunner().invoke(app, ["deform", *map(str, scans), *words]).exception is not None
