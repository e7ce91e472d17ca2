"""The option --columns of commands that read text files."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.commands import CommandLine

import graphreg
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
