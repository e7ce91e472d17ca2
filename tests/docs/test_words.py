"""One vocabulary, that of the literature: words that were given up for it do not come back."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import graphreg

ROOT = Path(__file__).parents[2]
PACKAGE = Path(graphreg.__file__).parent
# A pattern, and what to write. Words with another, common meaning are not among them.
WORDS = {
    r"pieces? of surface|laid pieces?": "surfel",
    r"look(s|ing)? alike": "putative correspondence",
    r"laid (on|back|down|over)|lays? (\w+ ){0,3}on(to)?|places? that meet": "align to, register to, overlap",
    r"made scans?": "synthetic scan",
    r"spoil(t|s|ed|ing)?": "corrupted",
    r"strays?": "isolated points, outliers",
    r"what holds the pose|undetermined": "observability, degenerate directions",
    r"(second|another) look|look(s|ed|ing)? again": "retry on a uniformly subsampled cloud",
    r"settl(e|es|ed|ing)|last steps": "fine refinement",
    r"prepared (clouds?|scans?|views?)": "preprocessed cloud",
    r"rivals?": "baseline",
    r"told|(?<!-)held": "reported, stored, contained",
    r"driv(e|es|ing)": "sequence, LiDAR odometry",
    r"joint refinement": "multiview refinement",
    r"ways? of the (data|sensor)": "pipeline, trajectory",
    r"what (it|they) (is|are) like": "say what it is",
}
SOURCES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "mkdocs.yml")),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("examples/*.*"),
    *ROOT.glob("benchmarks/*.py"),
    *(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyi", ".html", ".js", ".css")),
]


@cache
def text_of(path: Path) -> str:
    """The text of a file; of the changelog without names, which may be former ones."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"`[^`\n]+`", "", text) if path.name == "CHANGELOG.md" else text


@pytest.mark.parametrize("pattern", WORDS, ids=lambda pattern: WORDS[pattern])
def test_the_words_are_those_of_the_literature(pattern: str) -> None:
    """In pages, docstrings, comments, names, messages and --help, which is made from docstrings."""
    word = re.compile(rf"\b({pattern})\b", re.IGNORECASE)
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in SOURCES
        if word.search(text_of(path))
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if word.search(line)
    ]
    assert not found, f"write {WORDS[pattern]!r}:\n" + "\n".join(found)
