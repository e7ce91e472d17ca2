"""The report of many scans in a real browser: each in its colour, shown or not, and nothing is complained of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.support.browser import Browser, installed
from tests.support.strategies import random_transform, small_scan

import graphreg
from graphreg import InputError
from graphreg.poses import transform
from graphreg.reports.multiway_page import report

pytestmark = pytest.mark.skipif(
    installed() is None, reason="no Chromium or Chrome is installed to open the report with"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    body = small_scan("hare")
    clouds = [transform(random_transform(number, 0.3), body[number::3]) for number in range(3)]
    report(graphreg.multiway(clouds, names=["first <b>", "second", "third"]), path)
    return path


@pytest.fixture
def browser(page: Path) -> Iterator[Browser]:
    opened = Browser()
    opened.open(page)
    yield opened
    assert opened.complaints == []
    opened.close()


def painted(browser: Browser) -> int:
    """Pixels of the picture that have a colour: paper and words have next to none."""
    browser.settle()
    seen = browser.pixels("#clouds")[:, :, :3].astype(int)
    return int(np.count_nonzero(np.ptp(seen, axis=2) > 40))


def test_scans_are_drawn_and_can_be_hidden(browser: Browser) -> None:
    assert "first <b>" in browser.evaluate("document.body.innerText")
    everything = painted(browser)
    assert everything > 1000
    for number in range(3):
        browser.evaluate(f"document.querySelectorAll('[name=show]')[{number}].click()")
    assert painted(browser) < everything / 50


def test_paper_gets_a_still_picture_and_names_its_columns(browser: Browser) -> None:
    assert browser.evaluate("getComputedStyle(document.querySelector('.still')).display") == "none"
    browser.print_preview(True)
    picture = browser.pixels(".still")[:, :, :3].astype(int)
    assert np.count_nonzero(np.ptp(picture, axis=2) > 40) > 1000
    browser.print_preview(False)
    assert all(browser.evaluate("[...document.querySelectorAll('th')].map((head) => head.textContent)"))


def test_it_fits_a_narrow_window_and_sentences_have_room(browser: Browser) -> None:
    browser.resize(380, 700)
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    widths = browser.evaluate(
        "[...document.querySelectorAll('.wide-table tr')].map((row) => row.lastChild.clientWidth)"
    )
    assert min(widths) > 100


def test_only_a_result_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="result: expected what multiway\\(\\) returned, got ndarray"):
        report(np.eye(4), tmp_path / "report.html")  # type: ignore[arg-type]
