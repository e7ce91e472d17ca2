"""The command line as users call it, in this process: to start another one takes most of a second."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner, Result

from graphreg.cli import app, command, main

# The command line as a program for `python -c`.
PROGRAM = "from graphreg.cli import main; main()"


@dataclass
class Completed:
    """Exit status, standard output and standard error of a command."""

    status: int
    out: str
    err: str


class CommandLine:
    """Runs commands in the current folder."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Completed:
        self._monkeypatch.setattr(sys, "argv", ["graphreg", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            main()
        captured = self._capsys.readouterr()
        return Completed(int(exit.value.code or 0), captured.out, captured.err)


def run_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `graphreg` with these arguments in a folder, as `subprocess.run` would."""
    command = ["graphreg", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before = Path.cwd()
    os.chdir(cwd)
    try:
        with patch.object(sys, "argv", command), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as exit:
        status = int(exit.code or 0)
    finally:
        os.chdir(before)
    return subprocess.CompletedProcess(command, status, *(_text(stream) for stream in (out, err)))


def invoke(arguments: list[str]) -> Result:
    """Run `graphreg` without real scans. Exceptions are in the result, which has both streams in one."""
    with patch("typer.testing._get_command", lambda _: command()):
        return CliRunner().invoke(app, arguments, env={"GRAPHREG_DATA": ""})


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
