"""The report of a deformation, and of one along time: figures, charts, and the animation in Chromium."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.nonrigid.test_deformation import RESULT
from tests.support.browser import Browser
from tests.support.deforming_bodies import bent, bumpy_body

import graphreg
from graphreg.reports import deformation_page

SOURCE = np.vstack([bumpy_body(1500), [[np.nan] * 3]])
ANGLES = (0.4, 0.9)
TARGETS = [bent(bumpy_body(1200, seed), angle) for seed, angle in enumerate(ANGLES, 1)]
STRAIN = np.append(np.linspace(0, 0.1, 1500), np.nan)
FOUND = [
    replace(RESULT, points=np.vstack([bent(SOURCE[:-1], angle), [[np.nan] * 3]]), strain=angle * STRAIN)
    for angle in ANGLES
]


@pytest.fixture(autouse=True)
def small_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """The still picture takes longer than the rest of the page."""
    monkeypatch.setattr(deformation_page, "PICTURE", (150, 80))


def test_a_deformation_has_figures_charts_and_no_frames(tmp_path: Path) -> None:
    page = graphreg.report(FOUND[0], SOURCE, TARGETS[0], tmp_path / "page.html", names=("a <b>", "c"), threads=1)
    text = page.read_text(encoding="utf-8")
    assert "a &lt;b&gt;" in text
    for figure in ("Confidence", "Explained", "Strain", "Displacement"):
        assert re.search(f"<dt>(<abbr [^>]*>)?{figure}<", text)
    assert "Strain of the points" in text
    assert "Strain over time" not in text
    assert not re.search(r'(?:src|href)="(?!data:|#)', text)


def test_along_time_every_frame_is_listed(tmp_path: Path) -> None:
    failed = [FOUND[0], replace(FOUND[1], success=False, reason="not deformed: so")]
    page = graphreg.report(failed, SOURCE, TARGETS, tmp_path / "page.html", names=("a", "b", "c.ply"), threads=1)
    text = page.read_text(encoding="utf-8")
    assert "1 of 2 frames not deformed" in text
    assert "Strain over time" in text
    assert "c.ply" in text
    assert "frame 2" in graphreg.report(FOUND, SOURCE, TARGETS, page, threads=1).read_text(encoding="utf-8")


def test_clouds_and_names_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with pytest.raises(graphreg.InputError, match="source: has 20 points"):
        graphreg.report(FOUND[0], SOURCE[:20], TARGETS[0], page)
    with pytest.raises(graphreg.InputError, match="target: expected 2"):
        graphreg.report(FOUND, SOURCE, TARGETS[:1], page)
    with pytest.raises(graphreg.InputError, match="names: expected 3"):
        graphreg.report(FOUND, SOURCE, TARGETS, page, names=("a", "b"))
    assert not page.exists()


@pytest.mark.slow
def test_the_slider_moves_the_source_and_colours_change(browser: Browser, tmp_path: Path) -> None:
    page = graphreg.report(FOUND, SOURCE, TARGETS, tmp_path / "page.html", threads=1)
    browser.open(page)
    end = browser.pixels("#clouds")
    assert len(np.unique(end @ [1, 256, 256**2])) > 50  # colours
    browser.evaluate(
        "(() => { const s = document.getElementById('time'); s.value = 0; s.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate("document.getElementById('frame').textContent") == "rigid pose"
    begin = browser.pixels("#clouds")
    assert (begin != end).any(axis=-1).mean() > 0.02
    browser.click("[name=colour][value=scans] + span")
    assert (browser.pixels("#clouds") != begin).any(axis=-1).mean() > 0.02
    assert [request for request in browser.requests if not request.startswith("data:")] == [page.as_uri()]
