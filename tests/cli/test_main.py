"""The command line as a whole: help, version, wrong usage, closed pipes, shell completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import PROGRAM, CommandLine, run_command

import graphreg

COMMANDS = (
    "register",
    "sequence",
    "multiway",
    "view",
    "batch",
    "info",
    "clean",
    "apply",
    "convert",
    "demo",
    "bench",
    "data",
)


@pytest.mark.slow
def test_every_command_has_help_with_an_example_and_the_exit_status(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    overview = run("--help")
    assert overview.status == 0
    assert "Examples:" in overview.out
    for command in COMMANDS:
        assert f" {command} " in overview.out
        text = run(command, "--help")
        assert text.status == 0
        assert f"graphreg {command}" in text.out.split("Example", 1)[1]
        assert command == "data" or "Exit status: 0 " in text.out


def test_version(tmp_path: Path) -> None:
    assert run_command("--version", cwd=tmp_path).stdout == f"graphreg {graphreg.__version__}\n"


@pytest.mark.slow
def test_it_runs_as_a_module_and_paragraphs_have_the_width_of_the_terminal(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "graphreg", "info", "-h"]
    done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0
    assert "graphreg info [OPTIONS]" in done.stdout
    assert "from how the points are distributed about the origin" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["register", "a.ply"], "Missing argument 'TARGET' (see `graphreg register --help`)"),
        (["unicorn"], "No such command 'unicorn' (see `graphreg --help`)"),
        (["data", "put"], "No such command 'put' (see `graphreg data --help`)"),
        (
            ["info", "a.ply", "-q", "-v"],
            "expected one of --quiet and --verbose, got both (see `graphreg info --help`)",
        ),
    ],
)
def test_wrong_usage_is_one_line(run: CommandLine, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("graphreg: ")
    assert done.err.count("\n") == 1
    assert message in done.err


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes are closed otherwise there")
@pytest.mark.parametrize("arguments", [["data"], []], ids=" ".join)
def test_a_closed_pipe_is_not_a_failed_registration(tmp_path: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "data"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
    assert done.returncode == 2
    assert done.stderr == "graphreg: No space left on device\n"


@pytest.mark.slow
def test_the_help_imports_only_what_it_needs() -> None:
    script = "import graphreg.cli, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "laspy", "pye57", "graphreg.inspection"} & set(loaded)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("graphreg reg", ["register"]),
        ("graphreg register --method icp-", ["icp-kp", "icp-kn"]),
        ("graphreg demo --body h", ["hare", "hand"]),
        ("graphreg data get k", ["kitti_odometry"]),
    ],
)
def test_the_shell_completes_commands_and_names(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, words: str, expected: list[str]
) -> None:
    environment = {"_GRAPHREG_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run().out.split() == expected


def test_completion_can_be_installed(run: CommandLine) -> None:
    assert "--install-completion" in run("--help").out
