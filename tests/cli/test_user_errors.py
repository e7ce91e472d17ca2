"""Errors of commands name options and files, not the arguments of functions; Ctrl-C says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.commands import CommandLine
from tests.support.strategies import small_scan

import graphreg
from graphreg import registration
from graphreg.cli.user_errors import in_terms_of_options


@pytest.fixture
def scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graphreg.write("a.ply", small_scan("hare"))
    graphreg.write("few.ply", small_scan("hare")[:3])


@pytest.mark.usefixtures("scans")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("register a.ply a.ply --seed -1", "--seed: expected a whole number"),
        ("register a.ply a.ply --threads 0", "--threads: expected a whole number"),
        ("register a.ply a.ply --voxel -1", "--voxel: expected"),
        ("register a.ply a.ply --method ipc", "did you mean 'icp'?"),
        ("register a.ply a.ply --method icp --iterations 0", "--iterations: expected"),
        ("register a.ply few.ply", "few.ply: has 3 "),
        ("register a.ply a.ply --method tricp --set overlaps=1", "--set overlaps: no setting of tricp"),
        ("register a.ply a.ply --set voxel=-1", "--set voxel: expected"),
        ("register a.ply a.ply --scale 2,1", "--scale: expected any, or the smallest and the largest as LOW,HIGH"),
        ("register a.ply a.ply --voxel", "'--voxel' requires an argument (see `graphreg register --help`)"),
        ("data get uwa --folder", "'--folder' requires an argument (see `graphreg data get --help`)"),
        ("register aa.ply a.ply", "aa.ply: No such file or directory; did you mean a.ply?\n"),
        ("register a.pyl a.ply", "a.pyl: its suffix"),
        ("register feww.ply a.ply", "did you mean few.ply?\n"),
        ("register nowhere/a.ply a.ply", "nowhere/a.ply: No such file or directory\n"),
        ("info scans", "scans: No such file or directory\n"),
        ("info .", ".: is a folder, and no map of tiles"),
        ("batch .", ".: is a folder"),
        ("demo --body hrse", "--body: expected one of dragon"),
        ("multiway a.ply", "SCANS: expected at least two scans, or a folder of them"),
        ("multiway nowhere", "nowhere: No such file or directory\n"),
        ("locate a.ply a.ply --most 0", "--most: expected"),
        ("locate few.ply a.ply", "few.ply: has 3 "),
        ("sequence a.ply", "a.ply is no folder"),
        ("compare a.ply a.ply --tolerance -1", "--tolerance: expected"),
        ("bench acuracy", "did you mean 'accuracy'?"),
        ("data get stanford_bunnny", "did you mean 'stanford_bunny'?"),
        ("data get stanford_bunnny", "NAME: expected one of"),
    ],
)
def test_errors_name_the_option_or_the_file(run: CommandLine, line: str, message: str) -> None:
    done = run(*line.split())
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("graphreg: ")
    assert message in done.err
    assert done.err.count("\n") == 1


@pytest.mark.usefixtures("scans")
def test_ctrl_c_says_so(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(registration, "run_method", interrupted)
    done = run("register", "a.ply", "a.ply")
    assert (done.status, done.out, done.err) == (130, "", "graphreg: interrupted\n")


def test_other_messages_stay() -> None:
    for text in ("no colon", "two words: x", "a: b"):
        assert str(in_terms_of_options(graphreg.InputError(text), [], {})) == text
