"""The command line as users type it."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from graphreg.cli import main


@dataclass
class Done:
    status: int
    out: str
    err: str


class Shell:
    """Runs commands in this process, which takes a fraction of the time of a new one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["graphreg", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = self._capsys.readouterr()
        return Done(int(left.value.code or 0), captured.out, captured.err)
