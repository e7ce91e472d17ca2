"""Pages in Firefox: they are displayed, their controls work, and there are no errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.firefox import Firefox, installed
from tests.support.strategies import small_scan

import graphreg
from graphreg.reports import registration_page
from graphreg.reports.page_layout import page_from_sections, sortable_table, write_page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(installed() is None, reason="Firefox is not installed")]

# Numbers of blue and of orange pixels, the colours of the two scans.
COLOURS = """(() => {
  const clouds = document.getElementById("clouds"), copy = document.createElement("canvas");
  [copy.width, copy.height] = [clouds.width, clouds.height];
  const context = copy.getContext("2d");
  context.drawImage(clouds, 0, 0);
  const { data } = context.getImageData(0, 0, copy.width, copy.height), found = [0, 0];
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 2] > 1.5 * data[i]) found[0]++;
    if (data[i] > 1.5 * data[i + 2]) found[1]++;
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Firefox]:
    opened = Firefox()
    yield opened
    opened.close()


def test_the_report_of_a_registration(browser: Firefox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration_page, "PICTURE", (140, 56))
    source, target = small_scan("hare")[::3], small_scan("hare")[1::3] + 0.05
    graphreg.report(graphreg.register(source, target, method="icp"), source, target, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    browser.wait_for_frame()
    assert min(browser.evaluate(COLOURS)) > 1000
    browser.evaluate("document.querySelector('[name=show][value=target]').click()")
    browser.wait_for_frame()
    blue, orange = browser.evaluate(COLOURS)
    assert blue > 1000
    assert orange == 0
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert browser.errors() == []


def test_tables_can_be_sorted(browser: Firefox, tmp_path: Path) -> None:
    rows = [{"method": "icp", "degrees": 20.5}, {"method": "cpd", "degrees": None}, {"method": "ecm", "degrees": 3.0}]
    write_page(tmp_path / "page.html", page_from_sections("Methods", {"Errors": sortable_table(rows, "Errors")}))
    browser.open(tmp_path / "page.html")
    browser.evaluate("document.querySelectorAll('thead button')[1].click()")
    shown = "[...document.querySelectorAll('tbody tr')].map((row) => row.cells[0].textContent)"
    assert browser.evaluate(shown) == ["ecm", "icp", "cpd"]
    assert browser.errors() == []
