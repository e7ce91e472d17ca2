"""The committed results: each says what it was measured with, and none is older than the previous release."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from graphreg._version import __version__
from graphreg.bench.results_files import ROWS_SUFFIX, Results, markdown, pictures_of, read_results

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "results"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def present_and_previous_release() -> list[str]:
    """The version of the package, and the one before it in the changelog."""
    released = re.findall(
        r"^## \[?v?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return [__version__, *(version for version in released if version != __version__)][:2]


@cache
def committed() -> dict[str, Results]:
    return {name: read_results(FOLDER / f"{name}.json") for name in NAMES}


def test_every_file_says_what_it_was_measured_with() -> None:
    for name, results in committed().items():
        provenance = results.provenance
        assert re.match(r"(graphreg bench|python benchmarks/)", provenance.command), name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", provenance.date), name
        assert {"graphreg", "numpy", "scipy", "python"} <= set(provenance.versions), name
        assert {"system", "architecture", "processor", "cores", "load average"} <= set(provenance.machine), name
        assert provenance.fingerprint is None or provenance.parts, name


def test_no_file_is_older_than_the_previous_release() -> None:
    released = present_and_previous_release()
    for name, results in committed().items():
        version = results.provenance.versions["graphreg"]
        assert version in released, name
        # Measured before fingerprints were recorded: measure again before the next release.
        assert results.provenance.fingerprint is not None or version == __version__, name


def test_the_pages_show_what_the_files_hold() -> None:
    for name, results in committed().items():
        pictures = [file.name for file in pictures_of(FOLDER, name)]
        assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == markdown(results, pictures), name


def test_there_is_nothing_but_results_and_their_pictures() -> None:
    expected = {FOLDER / "README.md"}
    for name in NAMES:
        expected |= {FOLDER / f"{name}{suffix}" for suffix in (".json", ".md", ROWS_SUFFIX)}
        pictures = pictures_of(FOLDER, name)
        assert len({path.stem for path in pictures}) == len(pictures), "charts are SVG alone"
        expected |= {*pictures}
    assert {path for path in FOLDER.iterdir() if not path.name.endswith(".runs.jsonl")} <= expected
