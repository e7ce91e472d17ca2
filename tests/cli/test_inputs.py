"""Columns of text files, units, and voxels that are too large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.commands import CommandLine

import graphreg
from graphreg.cli.inputs import unit_hint
from graphreg.clouds import Floats


def test_columns_of_text_files(run: CommandLine, hare: Floats) -> None:
    np.savetxt("survey.csv", np.column_stack([np.zeros(len(hare)), hare]), delimiter=";", header="k;a;b;c", comments="")
    failed = run("convert", "survey.csv", "out.ply")
    assert failed.status == 2
    assert "has no x coordinate, only k, a, b, c; line 2, " in failed.err
    assert "as in --columns 1,2,3" in failed.err
    assert run("convert", "survey.csv", "out.ply", "--columns", "2,3,4").status == 0
    np.testing.assert_array_equal(graphreg.read("out.ply"), hare)
    assert run("register", "survey.csv", "target.ply", "--columns", "2,3,4").status == 0
    assert run("info", "survey.csv", "--columns", "2,3,4").status == 0


@pytest.mark.parametrize(
    ("path", "columns", "message"),
    [
        ("a.csv", "2,3", "--columns: expected three numbers such as 2,3,4, got '2,3'"),
        ("a.csv", "x,y,z", "--columns: expected three numbers"),
        ("a.ply", "2,3,4", "--columns: only text files have columns"),
    ],
)
def test_wrong_columns_are_refused(run: CommandLine, path: str, columns: str, message: str) -> None:
    done = run("info", path, "--columns", columns)
    assert done.status == 2
    assert message in done.err


UNITS = {"mm,m": 1000.0, "m,mm": 0.001, "mm,in": 25.4, "in,ft": 12.0, "ft,m": 3.28, "m,ft": 0.3048}


@pytest.mark.parametrize("units", UNITS)
def test_sizes_that_differ_as_units_do_are_pointed_out(run: CommandLine, hare: Floats, units: str) -> None:
    hint = unit_hint(hare * UNITS[units], hare)
    assert hint is not None
    assert hint.endswith(f"other unit? To try: graphreg convert IN OUT --unit {units}")
    graphreg.write("source.ply", hare * UNITS[units])
    assert run("convert", "source.ply", "converted.ply", "--unit", units).status == 0
    np.testing.assert_allclose(graphreg.read("converted.ply"), hare, rtol=2e-3)


@pytest.mark.slow
def test_a_registration_that_fails_points_them_out(run: CommandLine, hare: Floats) -> None:
    graphreg.write("source.ply", hare * UNITS["ft,m"])
    done = run("register", "source.ply", "target.ply")
    assert done.status == 1
    assert f"{unit_hint(hare * UNITS['ft,m'], hare)}\n" in done.err


def test_equal_sizes_are_not_pointed_out(hare: Floats) -> None:
    assert unit_hint(hare, hare) is None
    assert unit_hint(hare[:1], hare) is None
    assert unit_hint(hare, hare[:1]) is None


def test_las_files_and_meshes_in_another_unit(run: CommandLine, hare: Floats) -> None:
    pytest.importorskip("laspy")
    graphreg.write("a.las", hare.round(3))
    assert run("convert", "a.las", "b.las", "--unit", "m,mm").status == 0
    before, after = graphreg.read_cloud("a.las"), graphreg.read_cloud("b.las")
    np.testing.assert_allclose(after.points, 1000 * before.points, rtol=0, atol=1e-9)
    assert after.header.scale == tuple(1000 * scale for scale in before.header.scale)
    Path("a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert run("convert", "a.obj", "b.obj", "--unit", "m,cm").status == 0
    assert graphreg.read_mesh("b.obj").vertices.max() == 100


@pytest.mark.parametrize("unit", ["mm", "mm,parsec", "mm,m,m"])
def test_unknown_units_are_refused(run: CommandLine, unit: str) -> None:
    done = run("convert", "source.ply", "a.ply", "--unit", unit)
    assert done.status == 2
    assert done.err.startswith("graphreg: --unit: expected two of m cm mm")


@pytest.mark.parametrize("command", ["register", "multiway"])
def test_a_voxel_larger_than_a_scan_is_refused(run: CommandLine, command: str) -> None:
    done = run(command, "source.ply", "target.ply", "--voxel", "100")
    assert done.status == 2
    assert "--voxel: 100 is larger than source.ply, whose longest side is " in done.err
