"""The blocks of code and the command lines of README, docs and --help."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.hooks.generated import commands, examples_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r" *```(\w*)\n(.*?)\n *```", re.DOTALL)
MARKS = re.compile(r"(?: *<!-- (?:[^\n]*) -->\n)*\Z")
# Variables that change what a command does.
UNWANTED = ("GRAPHREG_DATA", "SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY")
# These run until they are stopped, download, or measure for minutes.
VIEW, GET, BENCH = LASTING = ("graphreg view", "graphreg data get", "graphreg bench")


@dataclass(frozen=True)
class Block:
    """A block of code in a page.

    Attributes
    ----------
    not_run : str or None
        Why it is not run.
    needs : str or None
        The other library or program that it needs.
    """

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None
    needs: str | None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        above = MARKS.search(text[: found.start()])
        marks = dict(re.findall(r"<!-- (not run|needs): (.+) -->", above[0] if above else ""))
        lines = found[2].splitlines()
        indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        yield Block(
            page,
            text[: found.start()].count("\n") + 2,
            found[1],
            "\n".join(line[indent:] for line in lines),
            marks.get("not run"),
            marks.get("needs"),
        )


BLOCKS = [block for page in PAGES for block in blocks(page)]
PYTHON = [block for block in BLOCKS if block.language == "python" and not block.not_run]
SHELL = [block for block in BLOCKS if block.language == "bash" and not block.not_run]


def lines_of_shell() -> dict[str, str | None]:
    """Every command line in the pages and in --help, once, with the other program that it needs, if any."""
    shown = {line: block.needs for block in SHELL for line in block.text.splitlines() if line.strip()}
    of_help = [line for _, command in commands() for line in examples_of(command)]
    return {line.partition("  #")[0].rstrip(): needs for line, needs in (shown | dict.fromkeys(of_help)).items()}


def lines_in_text(beginning: str) -> list[str]:
    """The command lines between backticks in sentences and tables that begin like this, each once."""
    found = {}
    for page in PAGES:
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        for quoted in re.findall(r"`([^`]+)`", text):
            _, begun, rest = " ".join(quoted.split()).partition(beginning + " ")
            if begun:
                found[begun + rest] = None
    return list(found)


def environment() -> dict[str, str]:
    """The environment for commands: `graphreg` of this Python, no real scans, no screen."""
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {name: value for name, value in os.environ.items() if name not in UNWANTED} | {"PATH": here}
