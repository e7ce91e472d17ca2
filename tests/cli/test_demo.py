"""graphreg demo: the scans, pictures and figures, without files or network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.commands import CommandLine

import graphreg


@pytest.mark.slow
@pytest.mark.usefixtures("small_demo")
def test_scans_pictures_and_report_are_written(run: CommandLine) -> None:
    done = run("demo", "--body", "casting", "--animation", "registration.gif")
    assert done.status == 0, done.err
    assert Path("registration.gif").read_bytes()[:6] == b"GIF89a"
    folder = Path("graphreg-demo")
    assert sorted(path.name for path in folder.iterdir()) == [
        "registration.png",
        "report.html",
        "source.ply",
        "source.png",
        "target.ply",
        "target.png",
    ]
    assert "\nregistered: " in done.out
    for name in ("source", "target"):
        assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert len(graphreg.read(folder / f"{name}.ply")) > 10_000


@pytest.mark.slow
@pytest.mark.usefixtures("small_demo")
def test_figures_as_json(run: CommandLine) -> None:
    done = run("demo", "--body", "hand", "--out", "written", "--json")
    assert done.status == 0, done.err
    output = json.loads(done.out)
    graphreg_run = output["runs"]["graphreg"]
    assert graphreg_run["success"]
    assert graphreg_run["rotation_error_after"] < 1 < graphreg_run["rotation_error_before"]
    assert set(output["scans"]) == {"source", "target"}
    assert (Path(output["folder"]) / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"), [(("--body", "unicorn"), "unicorn"), (("--outliers", "-3"), "--outliers")]
)
def test_bad_input_writes_nothing(run: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    before = set(Path().iterdir())
    done = run("demo", *arguments)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert set(Path().iterdir()) == before
