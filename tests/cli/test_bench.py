"""graphreg bench: results as JSON and as a page, and options that an experiment does not have."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from tests.support.commands import CommandLine

from graphreg.bench.results_files import read_results


@pytest.fixture
def small_x84(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphreg.bench.x84.QUICK", ("hare",))
    monkeypatch.setattr("graphreg.bench.x84.QUICK_POINTS", 2000)
    monkeypatch.setattr("graphreg.bench.x84.RATIOS", (0.1, 0.5))
    monkeypatch.setattr("graphreg.bench.pairs.QUICK_POINTS", {"object": 1500})


@pytest.mark.slow
@pytest.mark.usefixtures("small_x84")
def test_results_as_json(run: CommandLine) -> None:
    done = run("bench", "x84", "--quick", "--out", "results", "--json", "--quiet")
    assert done.status == 0, done.err
    assert done.err == ""
    written = read_results(Path("results/x84.json"))
    assert written.rows
    assert json.loads(done.out) == {"x84": written.to_dict()}


@pytest.mark.slow
@pytest.mark.usefixtures("small_x84")
def test_a_page_of_new_results_and_of_existing_ones(run: CommandLine) -> None:
    assert run("bench", "x84", "--quick", "--out", "results", "--report", "x84.html").status == 0
    page = Path("x84.html").read_text(encoding="utf-8")
    assert json.loads(Path("results/x84.json").read_text())["title"] in page
    assert run("bench", "page", "--out", "results", "--report", "all.html").status == 0
    assert Path("all.html").is_file()


def test_a_wheel_without_the_experiments_says_where_they_are(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("graphreg.cli.bench"), "EXPERIMENTS", {})
    done = run("bench", "x84")
    assert done.status == 2
    assert done.err.startswith("graphreg: the experiments are not in this wheel, but in a clone")


@pytest.mark.parametrize(
    ("name", "message"), [("page.pdf", "ends in .html or .htm"), ("nowhere/page.html", "there is no folder nowhere")]
)
def test_the_path_of_the_page_is_checked_first(run: CommandLine, name: str, message: str) -> None:
    done = run("bench", "x84", "--out", "results", "--report", name)
    assert done.status == 2
    assert message in done.err
    assert not Path("results").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "NAME: expected one of accuracy"),
        (("x84", "nothing"), "got 'nothing'"),
        (("x84", "--data", "nowhere"), "nowhere is not a folder"),
        (("x84", "--starts", "2"), "starts: not an option of x84"),
        (("accuracy", "--quick", "--methods", "icq"), "methods: 'icq' is none of graphreg"),
        (("accuracy", "--budget", "-1"), "--budget"),
        (("page",), "results holds no results"),
        (("accuracy", "--data", "."), "pairs.json"),
    ],
)
def test_bad_input_is_one_line(run: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    done = run("bench", *arguments)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
