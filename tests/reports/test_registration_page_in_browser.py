"""The report of a registration in Chromium: what is displayed, what the controls do, and no errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.browser import Browser
from tests.support.strategies import small_scan

import graphreg
from graphreg.datasets import synthetic
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports import registration_page
from graphreg.reports.pictures import BLUE, ORANGE

pytestmark = pytest.mark.slow

# A translation by about the size of the body, so that before and after differ clearly.
T_TARGET_SOURCE = pose(rotation_from_vector([0.2, -0.3, 0.5]), [0.1, 0.05, 0.1])
Pixels = NDArray[np.uint8]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two halves of a scan with 10 % outliers, and a long history that ends at the true pose."""
    body = small_scan("hare")
    target, _ = synthetic.add_outliers(body[::2], 0.1, "gaussian", 0)
    source, _ = synthetic.add_outliers(transform(inverse(T_TARGET_SOURCE), body[1::2]), 0.1, "gaussian", 1)
    found = graphreg.register(source, target, method="graphreg-paper", init=T_TARGET_SOURCE, max_iterations=40)
    last = replace(found.history[-1], transformation=T_TARGET_SOURCE)
    found = replace(found, transformation=T_TARGET_SOURCE, history=(*found.history[:-1], last))
    path = tmp_path_factory.mktemp("page") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registration_page, "PICTURE", (400, 160))
        graphreg.report(found, source, target, path, names=("moving <b>", "fixed & firm"))
    return path


@pytest.fixture(scope="module")
def without_gl(chromium: Browser) -> Iterator[Browser]:
    opened = Browser("--disable-3d-apis")
    yield opened
    opened.close()


def open_page(browser: Browser, page: Path) -> Browser:
    """Open the report in a window in which the panels have a whole number of pixels."""
    browser.resize(802, 520)
    browser.open(page)
    return browser


@pytest.fixture
def shown(browser: Browser, page: Path) -> Browser:
    """The report, rendered with WebGL 2."""
    return open_page(browser, page)


@pytest.fixture(params=["webgl2", "canvas"])
def rendered(request: pytest.FixtureRequest, page: Path) -> Iterator[Browser]:
    """The report, rendered with either renderer."""
    browser: Browser = request.getfixturevalue("browser" if request.param == "webgl2" else "without_gl")
    browser.reset()
    open_page(browser, page)
    assert browser.evaluate("document.getElementById('clouds').dataset.renderer") == request.param
    yield browser
    assert browser.errors == []


def panels(browser: Browser) -> tuple[Pixels, Pixels]:
    """The two panels, without the line between them and the rounded corners."""
    whole = browser.pixels("#clouds")
    half = whole.shape[1] // 2
    return whole[:, 10 : half - 10], whole[:, half + 10 : 2 * half - 10]


def has_colour(pixels: Pixels, colour: tuple[float, float, float]) -> NDArray[np.bool_]:
    """Where a picture has this colour, in any brightness."""
    ratio = np.array(colour) / np.linalg.norm(colour)
    length = np.linalg.norm(pixels.astype(float), axis=2)
    return np.asarray((pixels @ ratio > 0.985 * length) & (length > 40))


def gap(panel: Pixels) -> float:
    """Distance between the medians of the blue and of the orange pixels."""
    medians = [np.median(np.argwhere(has_colour(panel, colour)), axis=0) for colour in (BLUE, ORANGE)]
    return float(np.linalg.norm(medians[0] - medians[1]))


def changed(one: Pixels, other: Pixels) -> float:
    return float(np.mean(np.abs(one.astype(int) - other.astype(int)).max(axis=2) > 24))


def set_slider(browser: Browser, share: float) -> None:
    browser.evaluate(
        f"((slider) => {{ slider.value = {share} * slider.max; slider.dispatchEvent(new Event('input')); }})"
        "(document.getElementById('iteration'))"
    )


def click(browser: Browser, selector: str) -> None:
    browser.evaluate(f"document.querySelector({selector!r}).click()")


def test_the_scans_are_apart_before_and_together_after(rendered: Browser) -> None:
    before, after = panels(rendered)
    for panel in (before, after):
        assert has_colour(panel, BLUE).sum() > 1000
        assert has_colour(panel, ORANGE).sum() > 1000
    assert gap(before) > 60
    assert gap(after) < 15


def test_the_slider_sets_the_pose_of_the_source(rendered: Browser) -> None:
    set_slider(rendered, 0)
    before, now = panels(rendered)
    # At the initial pose both panels are the same, labels included.
    assert changed(before, now) < 0.002
    assert rendered.evaluate("document.getElementById('after').textContent") == "Before"
    pictures = []
    for share in (0.0, 0.5, 1.0):
        set_slider(rendered, share)
        pictures.append(panels(rendered)[1])
    assert changed(pictures[0], pictures[1]) > 0.02
    assert gap(pictures[0]) > gap(pictures[2]) + 45
    assert changed(panels(rendered)[0], before) < 0.002


def test_the_slider_names_the_iteration(shown: Browser) -> None:
    set_slider(shown, 0.5)
    text = shown.evaluate("document.getElementById('progress').value")
    assert text.startswith("Iteration 20 of 40: ")
    assert text.endswith(" from the final pose")
    aria_text = shown.evaluate("document.getElementById('iteration').getAttribute('aria-valuetext')")
    assert aria_text == text.replace(": ", ", ")
    marks = shown.evaluate("[...document.querySelectorAll('.over-iterations .cursor')].map((c) => c.getBBox().x)")
    frames = shown.evaluate(
        "[...document.querySelectorAll('.over-iterations .frame')]"
        ".map(({x, width}) => [x.baseVal.value, width.baseVal.value])"
    )
    assert len(marks) == 3
    # The axes of the charts go from 0 to 40.
    assert marks == pytest.approx([left + width / 2 for left, width in frames], abs=1)
    set_slider(shown, 1)
    assert shown.evaluate("document.getElementById('progress').value") == "After: final pose"


def test_the_iterations_play_to_the_end(browser: Browser, page: Path) -> None:
    browser.open(page)
    set_slider(browser, 0.9)
    click(browser, "#play")
    assert browser.evaluate("document.getElementById('play').getAttribute('aria-label')") == "Pause the iterations"
    ended = "document.getElementById('play').getAttribute('aria-label') === 'Play the iterations'"
    browser.evaluate(
        f"new Promise((done) => {{ const look = () => {ended} ? done(1) : requestAnimationFrame(look); look(); }})"
    )
    assert browser.evaluate("document.getElementById('iteration').value === document.getElementById('iteration').max")


@pytest.mark.parametrize("mode", ["residual", "intensity", "variation"])
def test_points_can_be_coloured_by_signals(rendered: Browser, mode: str) -> None:
    click(rendered, f"[name=colour][value={mode}]")
    for panel in panels(rendered):
        assert has_colour(panel, ORANGE).mean() < 0.002
        coloured = panel.reshape(-1, 3)[np.ptp(panel.reshape(-1, 3).astype(int), axis=1) > 40]
        assert len(coloured) > 2000
        # Both ends of the colour scale: deep blue and yellow.
        assert has_colour(panel, (0.19, 0.17, 0.45)).sum() > 20
        assert has_colour(panel, (0.98, 0.90, 0.25)).sum() > 20
    assert rendered.evaluate("document.getElementById('legend').hidden") is False
    assert rendered.evaluate("document.getElementById('legend-low').textContent") != ""
    click(rendered, "[name=colour][value=scans]")
    assert rendered.evaluate("document.getElementById('legend').hidden") is True
    assert gap(panels(rendered)[0]) > 60


def test_outliers_are_red_and_can_be_hidden(rendered: Browser) -> None:
    red = (0.83, 0.18, 0.20)
    click(rendered, "[name=colour][value=outliers]")
    shown = panels(rendered)
    click(rendered, "[name=show][value=outliers]")
    hidden = panels(rendered)
    for with_them, without in zip(shown, hidden, strict=True):
        assert has_colour(with_them, red).sum() > 100
        assert has_colour(without, red).sum() == 0


@pytest.mark.parametrize(("name", "gone", "left"), [("source", BLUE, ORANGE), ("target", ORANGE, BLUE)])
def test_either_scan_can_be_hidden(rendered: Browser, name: str, gone: Any, left: Any) -> None:
    click(rendered, f"[name=show][value={name}]")
    for panel in panels(rendered):
        assert has_colour(panel, gone).sum() == 0
        assert has_colour(panel, left).sum() > 1000


def test_points_can_be_larger(shown: Browser) -> None:
    areas = []
    for size in (-2, 2):
        shown.evaluate(
            f"((slider) => {{ slider.value = {size}; slider.dispatchEvent(new Event('input')); }})"
            "(document.getElementById('size'))"
        )
        areas.append(sum(has_colour(panel, BLUE).sum() for panel in panels(shown)))
    assert areas[1] > 1.5 * areas[0]


def left_panel_centre(browser: Browser) -> tuple[float, float]:
    x, y = browser.evaluate(
        "(({x, y, width, height}) => [x + width / 4, y + height / 2])"
        "(document.getElementById('clouds').getBoundingClientRect())"
    )
    return x, y


def test_keys_rotate_zoom_and_reset(shown: Browser) -> None:
    shown.evaluate("document.getElementById('clouds').focus()")
    home = panels(shown)
    for key in ("ArrowLeft", "ArrowUp", "+"):
        shown.press(key)
        for was, now in zip(home, panels(shown), strict=True):
            assert changed(was, now) > 0.01, key
        shown.press("0")
    for was, now in zip(home, panels(shown), strict=True):
        assert changed(was, now) == 0


def test_keys_pan_in_their_direction(shown: Browser) -> None:
    shown.evaluate("document.getElementById('clouds').focus()")
    medians = []
    for key in ("0", "ArrowRight", "ArrowUp"):
        shown.press(key, shift=len(key) > 1)
        medians.append(np.median(np.argwhere(has_colour(panels(shown)[1], BLUE)), axis=0))
    (down, right), (_, further), (higher, _) = medians
    assert further > right + 8
    assert higher < down - 8


def test_the_mouse_rotates_and_pans(shown: Browser) -> None:
    x, y = left_panel_centre(shown)
    for button in ("left", "right"):
        home = panels(shown)
        shown.mouse("mousePressed", x, y, button=button, clickCount=1)
        shown.mouse("mouseMoved", x + 60, y + 20, button=button, buttons=1 if button == "left" else 2)
        shown.mouse("mouseReleased", x + 60, y + 20, button=button, clickCount=1)
        for was, now in zip(home, panels(shown), strict=True):
            assert changed(was, now) > 0.02
        click(shown, "#home")
        for was, now in zip(home, panels(shown), strict=True):
            assert changed(was, now) == 0


def test_the_wheel_scrolls_the_page_until_the_picture_is_clicked(shown: Browser) -> None:
    x, y = left_panel_centre(shown)
    home = panels(shown)
    shown.mouse("mouseWheel", x, y, deltaX=0, deltaY=0.5)
    assert changed(home[0], panels(shown)[0]) == 0
    for kind in ("mousePressed", "mouseReleased"):
        shown.mouse(kind, x, y, button="left", clickCount=1)
    shown.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    assert changed(home[0], panels(shown)[0]) > 0.02


def test_touch_rotates_and_zooms(browser: Browser, page: Path) -> None:
    browser.resize(400, 800, touch=True)
    browser.open(page)
    home = browser.pixels("#clouds")
    left, top, width, height = browser.evaluate(
        "(({x, y, width, height}) => [x, y, width, height])(document.getElementById('clouds').getBoundingClientRect())"
    )
    # In a narrow window one panel is above the other.
    for panel in (home[: height // 2], home[height // 2 :]):
        assert has_colour(panel, BLUE).sum() > 1000
        assert has_colour(panel, ORANGE).sum() > 1000
    x, y = left + width / 2, top + height / 4
    browser.touch("touchStart", (x, y))
    browser.touch("touchMove", (x + 50, y + 10))
    browser.touch("touchEnd")
    assert changed(home, browser.pixels("#clouds")) > 0.02
    click(browser, "#home")
    assert changed(home, browser.pixels("#clouds")) == 0
    browser.touch("touchStart", (x - 20, y), (x + 20, y))
    browser.touch("touchMove", (x - 60, y), (x + 60, y))
    browser.touch("touchEnd")
    closer = browser.pixels("#clouds")
    assert has_colour(closer, BLUE).sum() > 1.3 * has_colour(home, BLUE).sum()
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_light_and_dark(shown: Browser, page: Path) -> None:
    def brightness() -> float:
        return float(np.median(shown.pixels("header")))

    assert brightness() > 200
    shown.prefer("dark")
    assert brightness() < 60
    assert np.median(panels(shown)[0]) < 60
    click(shown, "#theme")
    assert brightness() > 200
    shown.open(page)
    assert brightness() < 60
    assert shown.evaluate("document.getElementById('theme').getAttribute('aria-pressed')") == "true"


def test_the_matrix_can_be_copied(shown: Browser) -> None:
    shown.evaluate(
        "window.answered = new Promise((done) => new MutationObserver(() => done(1)).observe("
        "document.getElementById('copied'), {childList: true})); 0"
    )
    shown.click("#copy")
    shown.evaluate("window.answered")
    assert shown.evaluate("document.getElementById('copied').textContent") == "copied"


def test_print_has_the_still_picture_and_the_light_theme(shown: Browser) -> None:
    shown.prefer("dark")
    display = "getComputedStyle(document.querySelector(%r)).display"
    assert shown.evaluate(display % ".still") == "none"
    shown.print_preview(True)
    assert shown.evaluate(display % ".still") == "block"
    assert shown.evaluate(display % ".stage") == "none"
    assert shown.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')") == "#23262d"
    assert shown.pdf().startswith(b"%PDF")


def test_without_scripts_there_is_a_still_picture(browser: Browser, page: Path) -> None:
    browser.allow_scripts(False)
    browser.open(page)
    browser.allow_scripts(True)
    still = browser.pixels(".still")
    assert has_colour(still, BLUE).sum() > 500
    assert browser.evaluate("document.querySelector('.stage').getClientRects().length") == 0


def test_the_page_requests_no_other_resource(shown: Browser, page: Path) -> None:
    requested = [address for address in shown.requests if not address.startswith("data:")]
    assert requested == [page.resolve().as_uri()]


def test_names_are_escaped(shown: Browser) -> None:
    assert shown.evaluate("document.querySelector('h1').innerText") == "moving <b> → fixed & firm"


def test_every_control_has_an_accessible_name(shown: Browser) -> None:
    named = {"button", "slider", "radio", "checkbox", "meter", "application", "image", "table", "group", "radiogroup"}
    found = set()
    for node in shown.accessible():
        role = node["role"]["value"]
        if role in named and not node.get("ignored"):
            found.add(role)
            assert node["name"]["value"], node
    assert {"button", "slider", "radio", "checkbox", "meter", "application"} <= found


def test_the_tab_key_leaves_the_picture(shown: Browser) -> None:
    shown.evaluate("document.getElementById('clouds').focus()")
    shown.press("Tab")
    assert shown.evaluate("document.activeElement.id") == "play"
