"""The committed results: each says what it was measured with, and none is older than the previous release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphreg._version import __version__
from graphreg.bench.results_files import ROWS_SUFFIX, markdown, pictures_of, read_results

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "results"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def present_and_previous_release() -> list[str]:
    """The version of the package, and the one before it in the changelog."""
    released = re.findall(
        r"^## \[?v?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return [__version__, *(version for version in released if version != __version__)][:2]


@pytest.mark.parametrize("name", NAMES)
def test_every_file_says_what_it_was_measured_with(name: str) -> None:
    provenance = read_results(FOLDER / f"{name}.json").provenance
    assert re.match(r"(graphreg bench|python benchmarks/)", provenance.command)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", provenance.date)
    assert {"graphreg", "numpy", "scipy", "python"} <= set(provenance.versions)
    assert {"system", "architecture", "processor", "cores", "load average"} <= set(provenance.machine)
    assert provenance.fingerprint is None or provenance.parts


@pytest.mark.parametrize("name", NAMES)
def test_no_file_is_older_than_the_previous_release(name: str) -> None:
    provenance = read_results(FOLDER / f"{name}.json").provenance
    assert provenance.versions["graphreg"] in present_and_previous_release()
    # Measured before fingerprints were recorded: measure again before the next release.
    assert provenance.fingerprint is not None or provenance.versions["graphreg"] == __version__


@pytest.mark.parametrize("name", NAMES)
def test_the_pages_show_what_the_files_hold(name: str) -> None:
    pictures = [file.name for file in pictures_of(FOLDER, name)]
    expected = markdown(read_results(FOLDER / f"{name}.json"), pictures)
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == expected


def test_there_is_nothing_but_results_and_their_pictures() -> None:
    expected = {FOLDER / "README.md"}
    for name in NAMES:
        expected |= {FOLDER / f"{name}{suffix}" for suffix in (".json", ".md", ROWS_SUFFIX)}
        pictures = pictures_of(FOLDER, name)
        assert len({path.stem for path in pictures}) == len(pictures), "charts are SVG alone"
        expected |= {*pictures}
    assert {path for path in FOLDER.iterdir() if not path.name.endswith(".runs.jsonl")} <= expected
