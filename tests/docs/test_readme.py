"""README can be read in a minute; its figures are those that were recorded, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphreg.bench.results_files import read_results

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
METHODS = {
    "**graphreg**": "graphreg",
    "KISS-Matcher, then small_gicp": "kiss+gicp",
    "Open3D: FPFH, RANSAC, ICP": "ransac+icp",
    "Open3D: FPFH, FGR, ICP": "fgr+icp",
    "small_gicp alone (local)": "gicp",
}
CORRUPTIONS = [("clean", "all"), ("50 % outliers", "object"), ("noise 0.8 %", "object"), ("noise 1.4 %", "object")]


def test_it_is_short() -> None:
    assert len(README.split()) < 900


def test_it_begins_with_what_it_does_and_an_animation() -> None:
    title, sentence, picture = [line for line in README.splitlines() if line][:3]
    assert title == "# graphreg"
    assert sentence.startswith("**Align any two 3D scans")
    path = re.search(r"\((\S+\.gif)\)", picture)
    assert path
    if not (ROOT / path[1]).exists():
        pytest.skip("a source distribution has no pictures")
    assert (ROOT / path[1]).stat().st_size < 2_000_000


def test_its_table_is_what_was_measured() -> None:
    results = ROOT / "docs/results/engine.json"
    if not results.exists():
        pytest.skip("a source distribution has no results")
    recorded = {(row["corruption"], row["kind"], row["method"]): row for row in read_results(results).shown[""]}
    shown = [line.strip("| ").split(" | ") for line in README.splitlines() if " of 42" in line]
    assert [cells[0] for cells in shown] == list(METHODS)
    for name, *cells in shown:
        right, error, seconds, *others = (cell.strip("*") for cell in cells)
        rows = [recorded[(*corruption, METHODS[name])] for corruption in CORRUPTIONS]
        assert [right, *others] == [row["correct"] for row in rows]
        assert error == f"{rounded(rows[0]['median rotation error (deg)'])}°"
        assert seconds == f"{rounded(rows[0]['median (s)'])} s"


def rounded(value: float) -> str:
    """With two digits."""
    return f"{float(f'{value:.2g}'):g}"


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", README):
        if not target.startswith(("http", "docs/pictures", "docs/results")):
            assert (ROOT / target).exists(), target
