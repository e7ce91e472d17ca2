"""The site builds without a warning, and the parts made from the code are complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from docs.hooks.generated import commands, every_command, examples_of, settings_of_every_method, undocumented
from tests.support.browser import Browser, installed
from tests.support.commands import invoke

import graphreg

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / "docs" / "results").exists():
        pytest.skip("a source distribution has no results and pictures")
    for library in ("material", "mkdocstrings", "latex2mathml"):
        if find_spec(library) is None:
            pytest.skip("the site is not built: pip install 'graphreg[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def text_of(site: Path, page: str) -> str:
    return (site / page / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_page_is_reached_from_every_other(site: Path) -> None:
    made = {path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")}
    start = text_of(site, ".")
    for page in made - {"."}:
        assert f'href="{page}/"' in start, page


@pytest.mark.slow
@pytest.mark.skipif(installed() is None, reason="needs Chromium")
def test_tables_of_words_fit_a_phone_and_the_scheme_follows_the_system(site: Path) -> None:
    browser = Browser()
    try:
        browser.resize(390, 844, touch=True)
        for page in ("index.html", "performance/index.html", "moving/index.html", "glossary/index.html"):
            browser.open(site / page)
            widest = (
                "Math.max(...[...document.querySelectorAll('article a')].map((a) => a.getBoundingClientRect().right))"
            )
            assert browser.evaluate(widest) <= 390, page
        for scheme, name in (("light", "default"), ("dark", "slate"), ("light", "default")):
            browser.prefer(scheme)
            browser.open(site / "index.html")
            assert browser.evaluate("document.body.dataset.mdColorScheme") == name
    finally:
        browser.close()


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', path.read_text(encoding="utf-8"))
        assert not loaded, path


@pytest.mark.slow
def test_formulas_are_made(site: Path) -> None:
    text = text_of(site, "method")
    written = (ROOT / "docs" / "method.md").read_text(encoding="utf-8").count("$$") // 2
    assert text.count('display="block"') == written
    assert "arithmatex" not in text
    formulas = re.findall(r"<math.*?</math>", text, re.DOTALL)
    assert not [formula for formula in formulas if "\\" in formula], "a command that the converter does not know"


@pytest.mark.slow
def test_the_reference_has_every_public_name_and_no_internals(site: Path) -> None:
    entries = set(re.findall(r'<h[34] id="graphreg\.([\w.]+)"', text_of(site, "reference")))
    assert {name.rpartition(".")[2] for name in entries} >= set(graphreg.__all__) - {"__version__"}
    assert not [name for name in entries if "._" in name]
    assert {name for name in entries if name.startswith("PreprocessedCloud.")} == {"PreprocessedCloud.points"}


@pytest.mark.slow
def test_parameters_and_examples_are_parsed(site: Path) -> None:
    """They are tables and highlighted code, and no underlined headings are left."""
    text = text_of(site, "reference")
    for name in ("register", "prepare", "multiway", "inliers", "voxel_downsample"):
        entry = text.split(f'id="graphreg.{name}"')[1].split('class="doc doc-heading"')[1]
        assert "Parameters:" in entry, name
        assert "Examples:" in entry, name
    assert "--------" not in text


@pytest.mark.slow
def test_settings_and_commands_are_in_the_site(site: Path) -> None:
    assert all(f'<h2 id="{name}"' in text_of(site, "settings") for name in graphreg.methods())
    assert all(f'<h2 id="{words.replace(" ", "-")}"' in text_of(site, "commands") for words, _ in commands())


@pytest.mark.slow
def test_every_setting_is_described() -> None:
    pytest.importorskip("griffe")
    assert undocumented() == []


def test_settings_have_their_own_defaults() -> None:
    """PIPL shares the settings of the published method, but not the values."""
    pytest.importorskip("griffe")
    page = settings_of_every_method()
    of_paper, of_pipl = (page.split(f"## {name}\n")[1].split("\n## ")[0] for name in ("graphreg-paper", "pipl"))
    assert "| `masses` | `True` |" in of_paper
    assert "| `masses` | `False` |" in of_pipl


def test_examples_fit_a_terminal_of_80_columns() -> None:
    """Where they stand by three columns to the right, and one stays free."""
    for words, command in commands():
        examples = examples_of(command)
        assert examples, words
        assert max(map(len, examples)) <= 76, words


@pytest.mark.slow
def test_options_are_those_of_help(monkeypatch: pytest.MonkeyPatch) -> None:
    page = every_command()
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    done = invoke(["register", "--help"])
    section = page.split("## graphreg register\n")[1].split("\n## ")[0]
    options = set(re.findall(r"--[a-z][\w-]+", done.stdout)) - {"--help"}
    assert len(options) > 10
    assert options <= set(re.findall(r"--[a-z][\w-]+", section))
