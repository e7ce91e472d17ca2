"""graphreg compare: figures, outputs, and no figures where nothing is registered."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.support.commands import CommandLine
from tests.support.meshes import parts

import graphreg
from graphreg.poses import inverse, pose, rotation_from_vector, transform

T = pose(rotation_from_vector([0.5, -1, 2]), [30, 10, -20])
PART = parts()["prismatic"]
POINTS = PART.sample(6000, seed=3)[0] + np.random.default_rng(0).normal(0, 0.03, (6000, 3))


@pytest.fixture(autouse=True)
def files(run: CommandLine) -> None:
    graphreg.write("part.stl", PART)
    graphreg.write("aligned.ply", POINTS)
    graphreg.write("scan.ply", transform(inverse(T), POINTS))
    graphreg.write_poses("T.txt", T)


@pytest.mark.slow
def test_a_scan_is_registered_and_compared(run: CommandLine) -> None:
    done = run("compare", "scan.ply", "part.stl", "--tolerance", "0.1", "--save", "coloured.ply", "--json")
    assert done.status == 0, done.err
    figures = json.loads(done.out)
    assert figures["rms"] < 0.04
    assert figures["within_tolerance"] > 0.98
    assert np.allclose(figures["transformation"], T, atol=0.05)
    coloured = graphreg.read_cloud("coloured.ply")
    assert np.isclose(np.sqrt((coloured.attributes["deviation"] ** 2).mean()), figures["rms"])
    assert coloured.attributes["red"].dtype == np.uint8
    np.testing.assert_allclose(coloured.points, transform(figures["transformation"], graphreg.read("scan.ply")))


def test_scans_that_are_aligned_are_compared_as_they_are(run: CommandLine) -> None:
    done = run("compare", "aligned.ply", "part.stl", "--aligned", "--tolerance", "0.1")
    assert done.status == 0, done.err
    assert done.out.startswith("6,000 points: RMS 0.0")
    assert "within 0.1: 9" in done.out
    done = run("compare", "aligned.ply", "aligned.ply", "--aligned")
    assert "beyond the level of detection (95 %): 0.0 %" in done.out


@pytest.mark.slow
def test_a_known_pose_is_used(run: CommandLine) -> None:
    plain = run("compare", "aligned.ply", "part.stl", "--aligned")
    done = run("compare", "scan.ply", "part.stl", "--transform", "T.txt")
    assert (done.status, done.out) == (0, plain.out)
    result = graphreg.register(transform(inverse(T), POINTS), PART, init=T)
    with open("T.json", "w", encoding="utf-8") as file:
        file.write(result.to_json())
    done = run("compare", "scan.ply", "part.stl", "--transform", "T.json", "--json")
    assert json.loads(done.out)["transformation"] == result.transformation.tolist()


@pytest.mark.slow
@pytest.mark.usefixtures("small_pictures")
def test_a_page_is_written(run: CommandLine) -> None:
    done = run("compare", "aligned.ply", "part.stl", "--aligned", "--report", "page.html")
    assert done.status == 0, done.err
    with open("page.html", encoding="utf-8") as page:
        assert "aligned.ply compared with part.stl" in page.read()


@pytest.mark.slow
def test_nothing_is_compared_where_nothing_is_registered(run: CommandLine) -> None:
    graphreg.write("noise.ply", np.random.default_rng(0).normal(size=(500, 3)))
    done = run("compare", "noise.ply", "part.stl", "--save", "coloured.ply")
    assert done.status == 1
    assert done.out == ""
    assert "nothing was compared" in done.err


@pytest.mark.slow
def test_another_unit_is_pointed_out(run: CommandLine) -> None:
    graphreg.write("metres.ply", POINTS / 1000)
    done = run("compare", "metres.ply", "part.stl")
    assert done.status == 1
    assert "metres.ply is about 1000 times smaller than part.stl: other unit?" in done.err
    assert "--unit m,mm" in done.err


def test_two_poses_are_refused(run: CommandLine) -> None:
    done = run("compare", "scan.ply", "part.stl", "--aligned", "--transform", "T.txt")
    assert done.status == 2
    assert "expected one of them" in done.err
