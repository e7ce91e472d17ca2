"""What is written in several places agrees: the version, the checks, the map of the packages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphreg

ROOT = Path(__file__).parents[2]


def text_of(name: str) -> str:
    if name.startswith(".") and not (ROOT / name).exists():
        pytest.skip("a source distribution has no files of the repository's own")
    return (ROOT / name).read_text(encoding="utf-8")


def column(heading: str, number: int) -> Iterator[str]:
    """The words in backticks that begin a cell, in a column of the table under a heading of CONTRIBUTING.md."""
    section = text_of("CONTRIBUTING.md").split(f"## {heading}\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = line.split(" | ")
        if line.startswith("| ") and (quoted := re.match(r"`([^`]+)`", cells[number])):
            yield quoted[1]


def test_there_is_one_version() -> None:
    assert f"\nversion: {graphreg.__version__}\n" in text_of("CITATION.cff")
    assert 'dynamic = ["version"]' in text_of("pyproject.toml")
    assert re.search(rf"^## (Unreleased|{re.escape(graphreg.__version__)})", text_of("CHANGELOG.md"), re.MULTILINE)


def test_every_check_has_a_job() -> None:
    workflow = text_of(".github/workflows/ci.yml")
    commands = list(column("Checks", 1))
    assert len(commands) == 9
    for command in commands:
        assert command in workflow, command


def test_the_check_of_a_change_is_complete() -> None:
    """It runs README's test command; all tests include the fast ones and build the documentation."""
    script = text_of(".ci/run")
    everything, fast, *others, documentation = column("Checks", 1)
    assert "<!-- test command -->" in script
    assert re.search(rf"<!-- test command -->\n```bash\n.*/{re.escape(everything)}\n```", text_of("README.md"))
    assert fast.startswith(everything)
    assert documentation in text_of("tests/docs/test_site.py").replace('", "', " ")
    for command in others:
        assert command.removesuffix(" .") in script, command


def test_the_map_has_every_package_in_the_order_of_the_layers() -> None:
    package = Path(graphreg.__file__).parent
    modules = {path.stem for path in package.glob("*.py") if not path.stem.startswith("_")}
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    entries = [name.removesuffix("/").removesuffix(".py") for name in column("Architecture", 1)]
    assert set(entries) == modules | packages
    layers = text_of("pyproject.toml").split("\nlayers = [\n")[1].split("\n]\n")[0]
    assert entries == re.findall(r"\w+", layers)


def test_every_benchmark_is_listed() -> None:
    scripts = set(re.findall(r"`python (benchmarks/\w+\.py)`", text_of("CONTRIBUTING.md")))
    assert scripts == {path.relative_to(ROOT).as_posix() for path in ROOT.glob("benchmarks/*.py")}


def test_actions_are_pinned_by_commit() -> None:
    for line in re.findall(r"uses: (.+)", text_of(".github/workflows/ci.yml")):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+", line), line
