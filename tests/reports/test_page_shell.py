"""The shell of all pages: sections, tables that can be sorted, light and dark, and texts that cannot break it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.browser import Browser, installed
from tests.support.html_pages import Page

from graphreg.reports import charts
from graphreg.reports.page_shell import (
    chart,
    figures,
    page,
    part,
    picture,
    records,
    table,
    times,
    verdict,
    write_page,
)

NASTY = '</script><b onclick=x>"quoted" & $body ${title}'
ROWS: list[dict[str, Any]] = [
    {"method": "icp", "right": "9 of 10", "degrees": 0.25, "paper: Dragon": 3, "turned": [0, 1]},
    {"method": "cpd", "right": "10 of 10", "degrees": 1e-9, "paper: Dragon": None, "turned": [0, 1]},
    {"method": "ecm", "right": "0 of 10", "degrees": None, "paper: Dragon": 20.5, "turned": [0, 1]},
]


def sections(count: int) -> dict[str, str]:
    return {f"Part {k}": f"<p>text {k}</p>" for k in range(count)}


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_sections_come_in_order_and_many_have_contents(count: int) -> None:
    read = Page(page("Title", {"": "<p>above</p>", **sections(count)}))
    assert read.texts["h1"] == ["Title"]
    assert read.texts["h2"] == [f"Part {k}" for k in range(count)]
    assert read.texts["p"][:-1] == ["graphreg · report", "above", *(f"text {k}" for k in range(count))]
    assert read.texts.get("a", []) == (read.texts["h2"] if count > 3 else [])
    places = {attributes["id"] for tag, attributes in read.elements if tag == "h2"}
    assert all(str(attributes["href"])[1:] in places for tag, attributes in read.elements if tag == "a")


def test_the_footer_tells_what_wrote_it() -> None:
    import graphreg

    assert f"graphreg {graphreg.__version__}, numpy {np.__version__}" in Page(page("T", {})).texts["p"][-1]


def test_no_text_can_break_the_page() -> None:
    rows = [{NASTY: NASTY, "x": 1}]
    body = "\n".join(
        [
            verdict(False, NASTY, NASTY),
            figures([(NASTY, NASTY, NASTY)]),
            chart(charts.line_chart({NASTY: ([0, 1], [0, 1])}, NASTY, NASTY, NASTY), NASTY),
            picture(b"", NASTY),
            table([("", NASTY), (NASTY, NASTY)], NASTY),
            records(rows, NASTY),
            times({NASTY: 1.0}),
        ]
    )
    read = Page(page(NASTY, {NASTY: body}, NASTY))
    assert not [attributes for _, attributes in read.elements if "onclick" in attributes]
    assert [tag for tag, _ in read.elements].count("script") == 2
    assert read.texts["h1"] == [NASTY]
    assert read.texts["h2"] == [NASTY, NASTY]
    assert read.texts["dd"] == [NASTY]
    assert read.texts["figcaption"] == [NASTY]
    assert read.texts["caption"].count(NASTY) == 2
    assert [attributes["alt"] for tag, attributes in read.elements if tag == "img"] == [NASTY]


def test_records_show_what_can_be_shown_and_mark_what_others_published() -> None:
    read = Page(records(ROWS, "Methods"))
    assert [text for text in read.texts["th"] if text not in ("icp", "cpd", "ecm")] == [
        "method",
        "right",
        "degrees",
        "paper: Dragon",
    ]
    assert read.texts["td"] == ["9 of 10", "0.25", "3", "10 of 10", "1e-09", "-", "0 of 10", "-", "20.5"]
    marked = [attributes["class"] for tag, attributes in read.elements if tag in ("td", "th") and "class" in attributes]
    assert marked.count("number theirs") == 4
    assert marked.count("number") == 4


def test_stages_add_up_to_the_bars() -> None:
    read = Page(times({"search": 1.0, "refine": 3.0, "total": 4.2}))
    assert [attributes["style"] for tag, attributes in read.elements if tag == "span"] == ["width:25.0%", "width:75.0%"]
    assert read.texts["td"] == ["1.000 s", "3.000 s", "4.200 s"]
    assert Page(times({})).texts["td"] == ["0.000 s"]


def test_every_colour_of_a_chart_has_one_for_the_dark() -> None:
    style = part("shell.css")
    for colour, _ in charts.STYLES:
        name = charts._hex(colour)
        assert f'.chart [stroke="{name}"]' in style
        assert f'.chart [fill="{name}"]' in style


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if installed() is None:
        pytest.skip("no Chromium or Chrome is installed to open the page with")
    opened = Browser(width=900)
    yield opened
    opened.close()


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Browser]:
    seven = {str(k): ([0, 1], [k, k + 1]) for k in range(7)}
    drawn = chart(charts.line_chart(seven, "Lines", "x", "y"))
    body = {"Methods": records(ROWS, "Methods"), "Lines": drawn, **sections(3)}
    write_page(tmp_path / "page.html", page("Methods beside each other", body))
    browser.prefer("light")
    browser.open(tmp_path / "page.html")
    yield browser
    assert browser.complaints == []
    assert len([address for address in browser.requests if not address.startswith("data:")]) == 1


def column(browser: Browser, number: int) -> list[str]:
    script = f"[...document.querySelectorAll('tbody tr')].map((row) => row.cells[{number}].textContent)"
    told: list[str] = browser.evaluate(script)
    return told


@pytest.mark.parametrize(
    ("number", "upwards"),
    [
        (0, ["cpd", "ecm", "icp"]),
        (1, ["0 of 10", "9 of 10", "10 of 10"]),
        (2, ["1e-09", "0.25", "-"]),
        (3, ["3", "20.5", "-"]),
    ],
)
def test_columns_are_sorted_by_a_click_or_a_key(shown: Browser, number: int, upwards: list[str]) -> None:
    head = f"document.querySelectorAll('thead th')[{number}]"
    shown.click(f"thead th:nth-child({number + 1}) button")
    assert column(shown, number) == upwards
    assert shown.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
    shown.evaluate(f"{head}.querySelector('button').focus()")
    shown.press(" ")
    last = [text for text in upwards if text == "-"]
    assert column(shown, number) == [*(text for text in reversed(upwards) if text != "-"), *last]
    assert shown.evaluate(f"{head}.getAttribute('aria-sort')") == "descending"


def test_every_line_can_be_seen_in_light_and_dark(shown: Browser) -> None:
    """By the contrast that the guidelines for accessible pages ask of what is drawn: 3, and 2 for the palest."""
    for scheme in ("light", "dark"):
        shown.prefer(scheme)
        strokes, paper = shown.evaluate(
            "[[...document.querySelectorAll('.chart polyline')].map((line) => getComputedStyle(line).stroke),"
            " getComputedStyle(document.querySelector('.chart svg > rect')).fill]"
        )
        assert len(set(strokes)) == 7
        contrasts = sorted(contrast(stroke, paper) for stroke in strokes)
        assert contrasts[0] > 2
        assert contrasts[2] > 3


def contrast(one: str, other: str) -> float:
    """Of two colours like rgb(1, 2, 3): 1 for the same, 21 for black and white."""
    lights = []
    for colour in (one, other):
        channels = np.array(colour.removeprefix("rgb(").removesuffix(")").split(","), float) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        lights.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_what_scrolls_can_be_reached_and_has_a_name(shown: Browser) -> None:
    nodes = [node for node in shown.accessible() if not node.get("ignored")]
    named = {(node["role"]["value"], node["name"]["value"]) for node in nodes if "name" in node}
    assert {("region", "Methods"), ("table", "Methods"), ("navigation", "Contents"), ("button", "degrees")} <= named
    assert shown.evaluate("document.querySelector('.records').tabIndex") == 0


def test_it_fits_a_narrow_window_and_paper(shown: Browser) -> None:
    shown.resize(380, 700)
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.resize(900, 900)
    shown.prefer("dark")
    shown.print_preview(True)
    assert shown.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')") == "#23262d"
    assert shown.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert shown.pdf().startswith(b"%PDF")
    shown.print_preview(False)


def test_what_is_folded_is_on_paper_too(browser: Browser, tmp_path: Path) -> None:
    """As many pages as where nothing is folded; and on the screen it is folded again afterwards."""
    lines = "<details><summary>Lines</summary>" + "<p>line</p>" * 300 + "</details>"
    write_page(tmp_path / "page.html", page("Folded", {"Lines": lines}))
    browser.open(tmp_path / "page.html")
    leaves = pages_of(browser.pdf())
    assert not browser.evaluate("document.querySelector('details').open")
    browser.evaluate("document.querySelector('details').open = true; 0")
    assert leaves == pages_of(browser.pdf()) > 1
    assert browser.evaluate("document.querySelector('details').open")


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type */Page\b", pdf))


def test_without_scripts_it_is_all_there(browser: Browser, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", page("Plain", {"Methods": records(ROWS, "Methods")}))
    browser.allow_scripts(False)
    browser.open(tmp_path / "page.html")
    browser.allow_scripts(True)
    assert browser.evaluate("document.querySelectorAll('thead button').length") == 0
    assert browser.evaluate("document.querySelector('#theme').getClientRects().length") == 0
    assert column(browser, 0) == ["icp", "cpd", "ecm"]
