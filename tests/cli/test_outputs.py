"""Output files of all commands: checked before anything is read, and complete or not written at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import CommandLine

import graphreg
from graphreg.clouds import Floats

OUTPUTS = {"-o": ".txt", "--save-aligned": ".ply", "--report": ".html", "--png": ".png"}


def files() -> set[str]:
    return {path.name for path in Path().iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/a{}", "nowhere/a{}: there is no folder nowhere to write it to"),
        ("a.doc", "a.doc: "),
        ("folder{}", "folder{}: is a folder, not a file"),
    ],
)
def test_outputs_are_checked_before_anything_is_read(run: CommandLine, option: str, path: str, message: str) -> None:
    Path(f"folder{OUTPUTS[option]}").mkdir()
    before = files()
    done = run("register", "none.ply", "none.ply", option, path.format(OUTPUTS[option]))
    assert done.status == 2
    assert done.err.startswith("graphreg: " + message.format(OUTPUTS[option]))
    assert done.err.count("\n") == 1
    assert files() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("register", "none.ply", "none.ply", "-o", "a.txt", "--save-aligned", "a.txt"),
            "a.txt: is the path of two outputs",
        ),
        (("register", "none.ply", "none.ply", "--png", "a.jpg"), "a.jpg: expected a picture that ends in .png"),
        (("register", "source.ply", "target.ply", "--init", "two.txt"), "two.txt: "),
        (("info", "none.ply", "--png", "nowhere/a.png"), "nowhere/a.png: there is no folder nowhere"),
        (("clean", "none.ply", "a.stl"), "a.stl: points cannot be written to .stl files"),
        (("convert", "none.ply", "a"), "a: it has no suffix"),
        (("apply", "T.txt", "none.ply", "a.doc"), "a.doc: its suffix '.doc' is not known"),
        (("apply", "none.txt", "source.ply", "a.ply"), "none.txt: No such file or directory"),
        (("apply", "source.ply", "source.ply", "a.ply"), "source.ply: expected a first row of 4 numbers"),
        (("register", "source.ply", "target.ply", "--save-aligned", "./source.ply"), "source.ply: is an input"),
        (("register", "source.ply", "target.ply", "--save-aligned", "target.ply"), "target.ply: is an input"),
        (("apply", "T.txt", "source.ply", "source.ply"), "source.ply: is an input, which would be lost"),
        (("convert", "source.ply", "source.ply", "--unit", "mm,m"), "source.ply: is an input, which would be lost"),
        (("compare", "source.ply", "target.ply", "--save", "source.ply"), "source.ply: is an input"),
        (("locate", "source.ply", "target.ply", "--save-aligned", "target.ply"), "target.ply: is an input"),
        (("deform", "source.ply", "target.ply", "-o", "target.ply"), "target.ply: is an input"),
        (("multiway", "source.ply", "target.ply", "--merged", "target.ply"), "target.ply: is an input"),
        (("batch", "T.csv", "--csv", "T.csv"), "T.csv: is an input"),
        (("demo", "--out", "T.txt"), "T.txt: is a file, expected a folder"),
        (("demo", "--out", "T.txt/below"), "T.txt/below: cannot be created, because "),
        (("bench", "x84", "--out", "T.txt"), "T.txt: is a file, expected a folder"),
    ],
)
def test_an_unusable_file_is_one_line(
    run: CommandLine, T_target_source: Floats, arguments: tuple[str, ...], message: str
) -> None:
    graphreg.write_poses("two.txt", [T_target_source, T_target_source])
    Path("T.csv").touch()
    before = files()
    done = run(*arguments)
    assert done.status == 2
    assert done.err.startswith(f"graphreg: {message}")
    assert done.err.count("\n") == 1
    assert files() == before


def test_a_missing_extra_is_reported_before_anything_is_read(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "laspy", None)
    done = run("convert", "none.ply", "a.laz")
    assert done.status == 2
    assert "writing LAS and LAZ files needs an extra that is not installed: pip install 'graphreg[las]'" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("register", "source.ply", "target.ply", "-o", "old.txt"),
        ("register", "source.ply", "target.ply", "--save-aligned", "old.txt"),
        ("apply", "T.txt", "source.ply", "old.txt"),
        ("convert", "source.ply", "old.txt"),
        ("clean", "source.ply", "old.txt"),
    ],
)
def test_an_interruption_leaves_the_old_file_and_no_other(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Ctrl-C when the new file is written, but not yet renamed."""

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    Path("old.txt").write_text("as it was")
    before = files()
    monkeypatch.setattr(os, "fsync", interrupt)
    assert run(*arguments).status == 130
    assert files() == before
    assert Path("old.txt").read_text() == "as it was"
