"""The layout of all pages: sections, sortable tables, light and dark, print, and escaped texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.browser import Browser
from tests.support.html_pages import Page

from graphreg.reports import charts
from graphreg.reports.page_layout import (
    ASSETS,
    asset,
    chart_figure,
    figure_cards,
    image,
    page_from_sections,
    sortable_table,
    table,
    timing_table,
    verdict_banner,
    write_page,
)

HOSTILE = '</script><b onclick=x>"quoted" & $body ${title}'
ROWS: list[dict[str, Any]] = [
    {"method": "icp", "right": "9 of 10", "degrees": 0.25, "paper: Dragon": 3, "seeds": [0, 1]},
    {"method": "cpd", "right": "10 of 10", "degrees": 1e-9, "paper: Dragon": None, "seeds": [0, 1]},
    {"method": "ecm", "right": "0 of 10", "degrees": None, "paper: Dragon": 20.5, "seeds": [0, 1]},
]


def sections(count: int) -> dict[str, str]:
    return {f"Part {k}": f"<p>text {k}</p>" for k in range(count)}


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_sections_come_in_order_and_many_have_contents(count: int) -> None:
    parsed = Page(page_from_sections("Title", {"": "<p>above</p>", **sections(count)}))
    assert parsed.texts["h1"] == ["Title"]
    assert parsed.texts["h2"] == [f"Part {k}" for k in range(count)]
    assert parsed.texts["p"][:-1] == ["graphreg · report", "above", *(f"text {k}" for k in range(count))]
    assert parsed.texts.get("a", []) == (parsed.texts["h2"] if count > 3 else [])
    anchors = {attributes["id"] for tag, attributes in parsed.elements if tag == "h2"}
    assert all(str(attributes["href"])[1:] in anchors for tag, attributes in parsed.elements if tag == "a")


def test_the_footer_names_the_versions() -> None:
    import graphreg

    assert (
        f"graphreg {graphreg.__version__}, numpy {np.__version__}" in Page(page_from_sections("T", {})).texts["p"][-1]
    )


def test_texts_are_escaped() -> None:
    rows = [{HOSTILE: HOSTILE, "x": 1}]
    body = "\n".join(
        [
            verdict_banner(False, HOSTILE, HOSTILE),
            figure_cards([(HOSTILE, HOSTILE, HOSTILE)]),
            chart_figure(charts.line_chart({HOSTILE: ([0, 1], [0, 1])}, HOSTILE, HOSTILE, HOSTILE), HOSTILE),
            image(b"", HOSTILE),
            table([("", HOSTILE), (HOSTILE, HOSTILE)], HOSTILE),
            sortable_table(rows, HOSTILE),
            timing_table({HOSTILE: 1.0}),
        ]
    )
    parsed = Page(page_from_sections(HOSTILE, {HOSTILE: body}, HOSTILE))
    assert not [attributes for _, attributes in parsed.elements if "onclick" in attributes]
    assert [tag for tag, _ in parsed.elements].count("script") == 2
    assert parsed.texts["h1"] == [HOSTILE]
    assert parsed.texts["h2"] == [HOSTILE, HOSTILE]
    assert parsed.texts["dd"] == [HOSTILE]
    assert parsed.texts["figcaption"] == [HOSTILE]
    assert parsed.texts["caption"].count(HOSTILE) == 2
    assert [attributes["alt"] for tag, attributes in parsed.elements if tag == "img"] == [HOSTILE]


def test_sortable_tables_leave_out_lists_and_mark_published_columns() -> None:
    parsed = Page(sortable_table(ROWS, "Methods"))
    assert [text for text in parsed.texts["th"] if text not in ("icp", "cpd", "ecm")] == [
        "method",
        "right",
        "degrees",
        "paper: Dragon",
    ]
    assert parsed.texts["td"] == ["9 of 10", "0.25", "3", "10 of 10", "1e-09", "-", "0 of 10", "-", "20.5"]
    marked = [
        attributes["class"] for tag, attributes in parsed.elements if tag in ("td", "th") and "class" in attributes
    ]
    assert marked.count("number published") == 4
    assert marked.count("number") == 4


def test_bars_are_shares_of_the_stages() -> None:
    parsed = Page(timing_table({"search": 1.0, "refine": 3.0, "total": 4.2}))
    assert [attributes["style"] for tag, attributes in parsed.elements if tag == "span"] == [
        "width:25.0%",
        "width:75.0%",
    ]
    assert parsed.texts["td"] == ["1.000 s", "3.000 s", "4.200 s"]
    assert Page(timing_table({})).texts["td"] == ["0.000 s"]


def test_every_colour_of_a_chart_follows_the_theme() -> None:
    style = asset("layout.css")
    for colour, _ in charts.STYLES:
        name = charts.hex_colour(colour)
        assert f'.chart [stroke="{name}"]' in style
        assert f'.chart [fill="{name}"]' in style


def test_no_asset_is_empty() -> None:
    files = sorted(ASSETS.iterdir())
    assert files
    assert all(file.stat().st_size > 100 for file in files)


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Browser]:
    seven = {str(k): ([0, 1], [k, k + 1]) for k in range(7)}
    figure = chart_figure(charts.line_chart(seven, "Lines", "x", "y"))
    body = {"Methods": sortable_table(ROWS, "Methods"), "Lines": figure, **sections(3)}
    write_page(tmp_path / "page.html", page_from_sections("Methods beside each other", body))
    browser.resize(900, 900)
    browser.open(tmp_path / "page.html")
    yield browser
    assert len([address for address in browser.requests if not address.startswith("data:")]) == 1


def column(browser: Browser, number: int) -> list[str]:
    script = f"[...document.querySelectorAll('tbody tr')].map((row) => row.cells[{number}].textContent)"
    texts: list[str] = browser.evaluate(script)
    return texts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "ascending"),
    [
        (0, ["cpd", "ecm", "icp"]),
        (1, ["0 of 10", "9 of 10", "10 of 10"]),
        (2, ["1e-09", "0.25", "-"]),
        (3, ["3", "20.5", "-"]),
    ],
)
def test_columns_are_sorted_by_a_click_or_a_key(shown: Browser, number: int, ascending: list[str]) -> None:
    head = f"document.querySelectorAll('thead th')[{number}]"
    shown.click(f"thead th:nth-child({number + 1}) button")
    assert column(shown, number) == ascending
    assert shown.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
    shown.evaluate(f"{head}.querySelector('button').focus()")
    shown.press(" ")
    last = [text for text in ascending if text == "-"]
    assert column(shown, number) == [*(text for text in reversed(ascending) if text != "-"), *last]
    assert shown.evaluate(f"{head}.getAttribute('aria-sort')") == "descending"


@pytest.mark.slow
def test_every_line_is_visible_in_light_and_dark(shown: Browser) -> None:
    """By the contrast that WCAG requires of graphics: 3, and 2 for the two palest."""
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
    """Contrast ratio of two colours such as rgb(1, 2, 3): 1 for equal ones, 21 for black and white."""
    luminances = []
    for colour in (one, other):
        channels = np.array(colour.removeprefix("rgb(").removesuffix(")").split(","), float) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        luminances.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


@pytest.mark.slow
def test_scroll_regions_are_focusable_and_named(shown: Browser) -> None:
    nodes = [node for node in shown.accessible() if not node.get("ignored")]
    named = {(node["role"]["value"], node["name"]["value"]) for node in nodes if "name" in node}
    assert {("region", "Methods"), ("table", "Methods"), ("navigation", "Contents"), ("button", "degrees")} <= named
    assert shown.evaluate("document.querySelector('.records').tabIndex") == 0


@pytest.mark.slow
def test_the_page_fits_a_narrow_window_and_print(shown: Browser) -> None:
    shown.resize(380, 700)
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.resize(900, 900)
    shown.prefer("dark")
    shown.print_preview(True)
    assert shown.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')") == "#23262d"
    assert shown.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert shown.pdf().startswith(b"%PDF")


@pytest.mark.slow
def test_folded_sections_are_printed(browser: Browser, tmp_path: Path) -> None:
    """As many pages as with open sections; afterwards the section is folded again."""
    lines = "<details><summary>Lines</summary>" + "<p>line</p>" * 300 + "</details>"
    write_page(tmp_path / "page.html", page_from_sections("Folded", {"Lines": lines}))
    browser.open(tmp_path / "page.html")
    sheets = pages_of(browser.pdf())
    assert not browser.evaluate("document.querySelector('details').open")
    browser.evaluate("document.querySelector('details').open = true; 0")
    assert sheets == pages_of(browser.pdf()) > 1
    assert browser.evaluate("document.querySelector('details').open")


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type */Page\b", pdf))


@pytest.mark.slow
def test_the_page_is_complete_without_scripts(browser: Browser, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", page_from_sections("Plain", {"Methods": sortable_table(ROWS, "Methods")}))
    browser.allow_scripts(False)
    browser.open(tmp_path / "page.html")
    browser.allow_scripts(True)
    assert browser.evaluate("document.querySelectorAll('thead button').length") == 0
    assert browser.evaluate("document.querySelector('#theme').getClientRects().length") == 0
    assert column(browser, 0) == ["icp", "cpd", "ecm"]


def test_numbers_do_not_break_and_rows_name_their_columns_on_phones() -> None:
    html = table([("", "x", "reason", "z"), ("scan_01", "4.3e-06", "not registered, 3 of 4", "-0.5 mm")], "t")
    assert '<td class="nowrap" data-label="x">4.3e-06</td>' in html
    assert '<td class="nowrap" data-label="z">-0.5 mm</td>' in html
    assert '<td class="text" data-label="reason">not registered, 3 of 4</td>' in html
    assert "scan_<wbr>01" in html
    assert figure_cards([("a", "0.0036°, 4.3e-06", "")]).count('class="nowrap"') == 2
