"""The report in a real browser: what is drawn, what the controls do, and that nothing is complained of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.browser import Browser, installed
from tests.support.strategies import small_scan

import graphreg
from graphreg.datasets import synthetic
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports import html
from graphreg.reports.pictures import BLUE, ORANGE

pytestmark = pytest.mark.skipif(
    installed() is None, reason="no Chromium or Chrome is installed to open the report with"
)

# Apart by about the size of the body, so that before and after differ at a glance.
MOTION = pose(rotation_from_vector([0.2, -0.3, 0.5]), [0.1, 0.05, 0.1])
Pixels = NDArray[np.uint8]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half of a scan laid on the other half, a tenth as many outliers; a long history that ends at the truth."""
    body = small_scan("hare")
    target, _ = synthetic.add_outliers(body[::2], 0.1, "gaussian", 0)
    source, _ = synthetic.add_outliers(transform(inverse(MOTION), body[1::2]), 0.1, "gaussian", 1)
    found = graphreg.register(source, target, method="graphreg-paper", init=MOTION, max_iterations=40)
    last = replace(found.history[-1], transformation=MOTION)
    found = replace(found, transformation=MOTION, history=(*found.history[:-1], last))
    path = tmp_path_factory.mktemp("page") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "PICTURE", (400, 160))
        graphreg.report(found, source, target, path, names=("moving <b>", "fixed & firm"))
    return path


def running(*flags: str) -> Iterator[Browser]:
    opened = Browser(*flags)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def with_gl() -> Iterator[Browser]:
    yield from running()


@pytest.fixture(scope="module")
def without_gl() -> Iterator[Browser]:
    yield from running("--disable-3d-apis")


def opened(browser: Browser, page: Path) -> Iterator[Browser]:
    """The page, as it is at first. Panels of such a width have whole pixels."""
    browser.resize(802, 520)
    browser.prefer("light")
    browser.open(page)
    yield browser
    assert browser.complaints == []


@pytest.fixture
def browser(with_gl: Browser, page: Path) -> Iterator[Browser]:
    yield from opened(with_gl, page)


@pytest.fixture(params=["webgl2", "canvas"])
def painted(request: pytest.FixtureRequest, page: Path) -> Iterator[Browser]:
    """The same, drawn by either painter."""
    one: Browser = request.getfixturevalue("with_gl" if request.param == "webgl2" else "without_gl")
    for at_first in opened(one, page):
        assert at_first.evaluate("document.getElementById('clouds').dataset.painter") == request.param
        yield at_first


def panels(browser: Browser) -> tuple[Pixels, Pixels]:
    """The two halves of the picture, without the line between them and the rounded corners."""
    whole = browser.pixels("#clouds")
    half = whole.shape[1] // 2
    return whole[:, 10 : half - 10], whole[:, half + 10 : 2 * half - 10]


def like(pixels: Pixels, colour: tuple[float, float, float]) -> NDArray[np.bool_]:
    """Where a picture has this colour, in light or in shade."""
    ratio = np.array(colour) / np.linalg.norm(colour)
    length = np.linalg.norm(pixels.astype(float), axis=2)
    return np.asarray((pixels @ ratio > 0.985 * length) & (length > 40))


def gap(panel: Pixels) -> float:
    """How far the middles of what is blue and of what is orange are apart, in pixels."""
    middles = [np.median(np.argwhere(like(panel, colour)), axis=0) for colour in (BLUE, ORANGE)]
    return float(np.linalg.norm(middles[0] - middles[1]))


def changed(one: Pixels, other: Pixels) -> float:
    return float(np.mean(np.abs(one.astype(int) - other.astype(int)).max(axis=2) > 24))


def slide(browser: Browser, share: float) -> None:
    browser.evaluate(
        f"((slider) => {{ slider.value = {share} * slider.max; slider.dispatchEvent(new Event('input')); }})"
        "(document.getElementById('moment'))"
    )


def click(browser: Browser, selector: str) -> None:
    browser.evaluate(f"document.querySelector({selector!r}).click()")


def test_both_scans_are_drawn_apart_and_then_together(painted: Browser) -> None:
    before, after = panels(painted)
    for panel in (before, after):
        assert like(panel, BLUE).sum() > 1000
        assert like(panel, ORANGE).sum() > 1000
    assert gap(before) > 60
    assert gap(after) < 15


def test_the_slider_moves_the_source(painted: Browser) -> None:
    slide(painted, 0)
    before, now = panels(painted)
    # Where the motion begins both panels show the same, names and all.
    assert changed(before, now) < 0.002
    assert painted.evaluate("document.getElementById('after').textContent") == "Before"
    seen = []
    for share in (0.0, 0.5, 1.0):
        slide(painted, share)
        seen.append(panels(painted)[1])
    assert changed(seen[0], seen[1]) > 0.02
    assert gap(seen[0]) > gap(seen[2]) + 45
    assert changed(panels(painted)[0], before) < 0.002


def test_the_slider_says_where_it_is(browser: Browser) -> None:
    slide(browser, 0.5)
    said = browser.evaluate("document.getElementById('where').value")
    assert said.startswith("Step 20 of 40: ")
    assert said.endswith(" to go")
    told = browser.evaluate("document.getElementById('moment').getAttribute('aria-valuetext')")
    assert told == said.replace(": ", ", ")
    marks = browser.evaluate("[...document.querySelectorAll('.over-steps .cursor')].map((c) => c.getBBox().x)")
    frames = browser.evaluate(
        "[...document.querySelectorAll('.over-steps .frame')]"
        ".map(({x, width}) => [x.baseVal.value, width.baseVal.value])"
    )
    assert len(marks) == 3
    # The axes of the charts go from 0 to 40.
    assert marks == pytest.approx([left + width / 2 for left, width in frames], abs=1)
    slide(browser, 1)
    assert browser.evaluate("document.getElementById('where').value") == "After: where it was laid"


def test_the_motion_plays_to_its_end(with_gl: Browser, page: Path) -> None:
    with_gl.open(page)
    slide(with_gl, 0.9)
    click(with_gl, "#play")
    assert with_gl.evaluate("document.getElementById('play').getAttribute('aria-label')") == "Pause the motion"
    ended = "document.getElementById('play').getAttribute('aria-label') === 'Play the motion'"
    with_gl.evaluate(
        f"new Promise((done) => {{ const look = () => {ended} ? done(1) : requestAnimationFrame(look); look(); }})"
    )
    assert with_gl.evaluate("document.getElementById('moment').value === document.getElementById('moment').max")
    assert with_gl.complaints == []


@pytest.mark.parametrize("mode", ["residual", "intensity", "variation"])
def test_colours_can_be_switched_to_signals(painted: Browser, mode: str) -> None:
    click(painted, f"[name=colour][value={mode}]")
    for panel in panels(painted):
        assert like(panel, ORANGE).mean() < 0.002
        drawn = panel.reshape(-1, 3)[np.ptp(panel.reshape(-1, 3).astype(int), axis=1) > 40]
        assert len(drawn) > 2000
        # Of the scale both ends are there: deep blue and yellow.
        assert like(panel, (0.19, 0.17, 0.45)).sum() > 20
        assert like(panel, (0.98, 0.90, 0.25)).sum() > 20
    assert painted.evaluate("document.getElementById('legend').hidden") is False
    assert painted.evaluate("document.getElementById('legend-low').textContent") != ""
    click(painted, "[name=colour][value=scans]")
    assert painted.evaluate("document.getElementById('legend').hidden") is True
    assert gap(panels(painted)[0]) > 60


def test_outliers_are_red_and_can_be_hidden(painted: Browser) -> None:
    red = (0.83, 0.18, 0.20)
    click(painted, "[name=colour][value=outliers]")
    shown = panels(painted)
    click(painted, "[name=show][value=outliers]")
    hidden = panels(painted)
    for with_them, without in zip(shown, hidden, strict=True):
        assert like(with_them, red).sum() > 100
        assert like(without, red).sum() == 0


@pytest.mark.parametrize(("name", "gone", "left"), [("source", BLUE, ORANGE), ("target", ORANGE, BLUE)])
def test_either_scan_can_be_hidden(painted: Browser, name: str, gone: Any, left: Any) -> None:
    click(painted, f"[name=show][value={name}]")
    for panel in panels(painted):
        assert like(panel, gone).sum() == 0
        assert like(panel, left).sum() > 1000


def test_points_can_be_larger(browser: Browser) -> None:
    drawn = []
    for size in (-2, 2):
        browser.evaluate(
            f"((slider) => {{ slider.value = {size}; slider.dispatchEvent(new Event('input')); }})"
            "(document.getElementById('size'))"
        )
        drawn.append(sum(like(panel, BLUE).sum() for panel in panels(browser)))
    assert drawn[1] > 1.5 * drawn[0]


def middle(browser: Browser) -> tuple[float, float]:
    x, y = browser.evaluate(
        "(({x, y, width, height}) => [x + width / 4, y + height / 2])"
        "(document.getElementById('clouds').getBoundingClientRect())"
    )
    return x, y


def test_keys_turn_zoom_and_go_back(browser: Browser) -> None:
    browser.evaluate("document.getElementById('clouds').focus()")
    home = panels(browser)
    for key in ("ArrowLeft", "ArrowUp", "+"):
        browser.press(key)
        for was, now in zip(home, panels(browser), strict=True):
            assert changed(was, now) > 0.01, key
        browser.press("0")
    for was, now in zip(home, panels(browser), strict=True):
        assert changed(was, now) == 0


def test_what_is_moved_goes_where_it_is_moved_to(browser: Browser) -> None:
    browser.evaluate("document.getElementById('clouds').focus()")
    places = []
    for key in ("0", "ArrowRight", "ArrowUp"):
        browser.press(key, shift=len(key) > 1)
        places.append(np.median(np.argwhere(like(panels(browser)[1], BLUE)), axis=0))
    (down, right), (_, further), (higher, _) = places
    assert further > right + 8
    assert higher < down - 8


def test_the_mouse_turns_and_moves(browser: Browser) -> None:
    x, y = middle(browser)
    for button in ("left", "right"):
        home = panels(browser)
        browser.mouse("mousePressed", x, y, button=button, clickCount=1)
        browser.mouse("mouseMoved", x + 60, y + 20, button=button, buttons=1 if button == "left" else 2)
        browser.mouse("mouseReleased", x + 60, y + 20, button=button, clickCount=1)
        for was, now in zip(home, panels(browser), strict=True):
            assert changed(was, now) > 0.02
        click(browser, "#home")
        for was, now in zip(home, panels(browser), strict=True):
            assert changed(was, now) == 0


def test_the_wheel_is_the_pages_until_the_picture_is_clicked(browser: Browser) -> None:
    x, y = middle(browser)
    home = panels(browser)
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=0.5)
    assert changed(home[0], panels(browser)[0]) == 0
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, x, y, button="left", clickCount=1)
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    assert changed(home[0], panels(browser)[0]) > 0.02


def test_fingers_turn_and_pinch(with_gl: Browser, page: Path) -> None:
    with_gl.resize(400, 800, touch=True)
    with_gl.prefer("light")
    with_gl.open(page)
    home = with_gl.pixels("#clouds")
    left, top, width, height = with_gl.evaluate(
        "(({x, y, width, height}) => [x, y, width, height])(document.getElementById('clouds').getBoundingClientRect())"
    )
    # One panel above the other where it is narrow.
    for panel in (home[: height // 2], home[height // 2 :]):
        assert like(panel, BLUE).sum() > 1000
        assert like(panel, ORANGE).sum() > 1000
    x, y = left + width / 2, top + height / 4
    with_gl.touch("touchStart", (x, y))
    with_gl.touch("touchMove", (x + 50, y + 10))
    with_gl.touch("touchEnd")
    assert changed(home, with_gl.pixels("#clouds")) > 0.02
    click(with_gl, "#home")
    assert changed(home, with_gl.pixels("#clouds")) == 0
    with_gl.touch("touchStart", (x - 20, y), (x + 20, y))
    with_gl.touch("touchMove", (x - 60, y), (x + 60, y))
    with_gl.touch("touchEnd")
    closer = with_gl.pixels("#clouds")
    assert like(closer, BLUE).sum() > 1.3 * like(home, BLUE).sum()
    assert with_gl.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert with_gl.complaints == []


def test_light_and_dark(browser: Browser, page: Path) -> None:
    def brightness() -> float:
        return float(np.median(browser.pixels("header")))

    assert brightness() > 200
    browser.prefer("dark")
    assert brightness() < 60
    assert np.median(panels(browser)[0]) < 60
    click(browser, "#theme")
    assert brightness() > 200
    browser.open(page)
    assert brightness() < 60
    assert browser.evaluate("document.getElementById('theme').getAttribute('aria-pressed')") == "true"


def test_the_matrix_can_be_copied(browser: Browser) -> None:
    browser.evaluate(
        "window.answered = new Promise((done) => new MutationObserver(() => done(1)).observe("
        "document.getElementById('copied'), {childList: true})); 0"
    )
    browser.click("#copy")
    browser.evaluate("window.answered")
    assert browser.evaluate("document.getElementById('copied').textContent") == "copied"


def test_paper_gets_the_still_picture_in_light(browser: Browser) -> None:
    browser.prefer("dark")
    shown = "getComputedStyle(document.querySelector(%r)).display"
    assert browser.evaluate(shown % ".still") == "none"
    browser.print_preview(True)
    assert browser.evaluate(shown % ".still") == "block"
    assert browser.evaluate(shown % ".stage") == "none"
    assert browser.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')") == "#23262d"
    assert browser.pdf().startswith(b"%PDF")
    browser.print_preview(False)


def test_without_scripts_there_is_the_still_picture(with_gl: Browser, page: Path) -> None:
    with_gl.resize(1200, 900)
    with_gl.prefer("light")
    with_gl.allow_scripts(False)
    with_gl.open(page)
    with_gl.allow_scripts(True)
    still = with_gl.pixels(".still")
    assert like(still, BLUE).sum() > 500
    assert with_gl.evaluate("document.querySelector('.stage').getClientRects().length") == 0


def test_it_asks_for_nothing(browser: Browser, page: Path) -> None:
    asked = [address for address in browser.requests if not address.startswith("data:")]
    assert asked == [page.resolve().as_uri()]


def test_names_are_text(browser: Browser) -> None:
    assert browser.evaluate("document.querySelector('h1').innerText") == "moving <b> → fixed & firm"


def test_everything_has_a_name_for_those_who_listen(browser: Browser) -> None:
    named = {"button", "slider", "radio", "checkbox", "meter", "application", "image", "table", "group", "radiogroup"}
    met = set()
    for node in browser.accessible():
        role = node["role"]["value"]
        if role in named and not node.get("ignored"):
            met.add(role)
            assert node["name"]["value"], node
    assert {"button", "slider", "radio", "checkbox", "meter", "application"} <= met


def test_the_tab_key_is_not_caught(browser: Browser) -> None:
    browser.evaluate("document.getElementById('clouds').focus()")
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.id") == "play"
