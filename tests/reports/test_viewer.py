"""The live viewer in a real browser: what is drawn, what the controls do, and that nothing is complained of."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.browser import Browser, installed
from tests.support.strategies import small_scan

import graphreg
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports.display_clouds import samples_of
from graphreg.reports.live import Choice, Live, State
from graphreg.reports.pictures import BLUE, ORANGE

pytest.importorskip("viser", reason="viser is not installed: pip install 'graphreg[view]'")
if installed() is None:
    pytest.skip("no Chromium or Chrome is installed to open the viewer with", allow_module_level=True)

from graphreg.reports.viewer import Viewer

Pixels = NDArray[np.uint8]
MOTION = pose(rotation_from_vector([0.1, -0.15, 0.2]), [0.1, 0.05, 0.1])
# As in a national grid, where single precision ends at half a metre.
FAR = np.array([4_512_000.0, 5_403_000.0, 520.0])
# A handle's red, that neither cloud has.
RED = (1.0, 0.2, 0.4)
# Seconds; only a test that fails waits so long, on a machine however busy.
LONG = 600.0
# What viser's own page warns of.
KNOWN = "THREE.Clock: This module has been deprecated"


@dataclass
class Shown:
    """A viewer and the browser that looks at it."""

    live: Live
    browser: Browser
    address: str
    saved: list[graphreg.Result]

    def text(self) -> str:
        said: str = self.browser.evaluate("document.body.innerText")
        return said

    def until_it_says(self, words: str) -> None:
        self.until(lambda: words in self.text(), words)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LONG
        while not holds():
            assert time.monotonic() < deadline, f"{what!r} does not come about: {self.text()}"
            time.sleep(0.05)

    def press(self, label: str) -> None:
        """Click the button of that name, as soon as it can be clicked."""
        find = f"[...document.querySelectorAll('button')].find((it) => it.innerText.trim() === {json.dumps(label)})"
        self.until(lambda: bool(self.browser.evaluate(f"{find} !== undefined && !{find}.disabled")), label)
        # By script, as what is told above the button may push it away from under the mouse.
        self.browser.evaluate(f"{find}.click()")

    def scene(self) -> Pixels:
        """What is left of the controls and right of viser's own notice."""
        return self.browser.pixels("body")[:, 320:-340]

    def gap(self) -> float:
        """How far the middles of what is blue and of what is orange are apart, in pixels."""
        seen = self.scene()
        middles = [np.median(np.argwhere(like(seen, colour)), axis=0) for colour in (BLUE, ORANGE)]
        return float(np.linalg.norm(middles[0] - middles[1]))


def like(pixels: Pixels, colour: tuple[float, float, float]) -> NDArray[np.bool_]:
    """Where a picture has this colour, in light or in shade."""
    ratio = np.array(colour) / np.linalg.norm(colour)
    length = np.linalg.norm(pixels.astype(float), axis=2)
    return np.asarray((pixels @ ratio > 0.985 * length) & (length > 40))


@pytest.fixture(scope="module")
def opened() -> Iterator[Shown]:
    body = small_scan("hare")
    target = body[::2] + FAR
    source = transform(inverse(MOTION), body[1::2]) + FAR
    live = Live(source, target, threads=2)
    saved: list[graphreg.Result] = []

    def save(result: graphreg.Result) -> str:
        saved.append(result)
        if len(saved) > 1:
            raise OSError(28, "No space left on device", "moved.ply")
        return "written: T.txt, moved.ply"

    viewer = Viewer(live, samples_of(source, target, 2), save, ("moving <b>.ply", "fixed.ply"), port=0)
    over = threading.Event()

    def draw() -> None:
        while not over.is_set():
            viewer.draw_next()

    drawing = threading.Thread(target=draw)
    drawing.start()
    browser = Browser(width=1000, height=500)
    address = f"http://127.0.0.1:{viewer.port}"
    browser.open(address)
    yield Shown(live, browser, address, saved)
    browser.close()
    over.set()
    drawing.join()
    live.close()
    viewer.close()


@pytest.fixture
def shown(opened: Shown) -> Iterator[Shown]:
    """As at first: nothing runs, the source lies as read."""
    opened.until_it_says("Steps a second")
    opened.live.stop()
    opened.until(lambda: opened.live.moment.state in (State.IDLE, State.DONE), "stopped")
    opened.live.pace(1e6)
    opened.press("as read")
    opened.until_it_says("Ready. ")
    opened.until(lambda: like(opened.scene(), BLUE).sum() > 1000, "drawn")
    yield opened
    assert [words for words in opened.browser.complaints if KNOWN not in words] == []


def test_both_scans_and_all_controls_are_shown(shown: Shown) -> None:
    seen = shown.scene()
    assert like(seen, BLUE).sum() > 1000
    assert like(seen, ORANGE).sum() > 1000
    assert shown.gap() > 60
    for words in ("moving <b>.ply → fixed.ply", "Method", "Seed", "Steps a second", "Put back", "Pause", "Stop"):
        assert words in shown.text()
    # No cloud of viser's makers, and nothing from elsewhere.
    asked = [address for address in shown.browser.requests if not address.startswith(("data:", "blob:"))]
    assert all(address.startswith((shown.address, shown.address.replace("http", "ws"))) for address in asked)


def test_start_lays_the_source_on_the_target(shown: Shown) -> None:
    before = shown.gap()
    shown.press("Start")
    shown.until_it_says("Registered: ")
    result = shown.live.moment.result
    assert result is not None
    assert f"confidence {result.confidence:.2f}" in shown.text()
    assert f"energy {result.history[-1].energy:.6g}" in shown.text()
    shown.until(lambda: shown.gap() < 15, "both scans in one place")
    assert before > 60


def test_step_pause_and_stop(shown: Shown) -> None:
    shown.live.step(Choice("graphreg-paper"))
    shown.until_it_says("step 1: energy")
    shown.until_it_says("Paused")
    shown.press("Step")
    shown.until_it_says("step 2: energy")
    shown.live.pace(2)  # so few a second that it cannot come to its end before the pause
    shown.press("Go on")
    shown.until_it_says("Running")
    shown.until_it_says("step 3: energy")
    shown.press("Pause")
    shown.until_it_says("Paused")
    assert 2 < len(shown.live.moment.steps) < 100
    shown.press("Stop")
    shown.until(lambda: shown.live.moment.state is State.DONE, "stopped")
    shown.until_it_says("confidence")


def test_beta_is_there_for_methods_that_cool_down(shown: Shown) -> None:
    assert "Beta" not in shown.text()
    choose(shown, "graphreg-paper")
    shown.until_it_says("Beta")
    shown.press("Step")
    shown.until_it_says("temperature")
    shown.live.stop()
    shown.until(lambda: shown.live.moment.state is State.DONE, "stopped")
    result = shown.live.moment.result
    assert result is not None
    assert (result.method, result.settings["beta"]) == ("graphreg-paper", 0.9)
    choose(shown, "graphreg")
    shown.until(lambda: "Beta" not in shown.text(), "no beta")


def choose(shown: Shown, method: str) -> None:
    """Pick a method from the list, as a person does."""
    shown.browser.evaluate("document.querySelector('input[aria-haspopup=listbox]').click()")
    option = f"[...document.querySelectorAll('[role=option]')].find((it) => it.innerText.trim() === {method!r})"
    shown.until(lambda: bool(shown.browser.evaluate(f"{option} !== undefined")), method)
    shown.browser.evaluate(f"{option}.click()")


def test_the_handle_moves_the_source(shown: Shown) -> None:
    seen = shown.scene()
    # Of all that is red, a place within: of the pixels whose neighbours are red as well.
    red = like(seen, RED)
    inside = red[2:-2, 2:-2].copy()
    for down, across in ((0, 2), (4, 2), (2, 0), (2, 4)):
        inside &= red[down : red.shape[0] - 4 + down, across : red.shape[1] - 4 + across]
    y, x = (np.argwhere(inside)[0] + 2).tolist()
    browser, left = shown.browser, 320
    before = np.median(np.argwhere(like(seen, BLUE)), axis=0)
    browser.mouse("mouseMoved", left + x, y)
    # It takes another colour as soon as the page knows that the mouse is over it.
    shown.until(lambda: not like(shown.scene()[y : y + 1, x : x + 1], RED).any(), "the handle under the mouse")
    browser.mouse("mousePressed", left + x, y, button="left", buttons=1, clickCount=1)
    for part in range(1, 11):
        browser.mouse("mouseMoved", left + x + 8 * part, y + 8 * part, button="left", buttons=1)
        browser.settle()
    browser.mouse("mouseReleased", left + x + 80, y + 80, button="left", clickCount=1)
    # From now on it starts where it stands: our engine then only refines.
    ticked = "[...document.querySelectorAll('input[type=checkbox]')].at(-1).checked"
    shown.until(lambda: bool(browser.evaluate(ticked)), "start where it stands")
    after = np.median(np.argwhere(like(shown.scene(), BLUE)), axis=0)
    assert np.linalg.norm(after - before) > 20
    shown.press("Start")
    shown.until(lambda: shown.live.moment.state is State.DONE, "done")
    moment = shown.live.moment
    assert moment.result is not None
    assert moment.result.hypotheses == 1
    # By about what is seen, of a body of half a metre that lies far from the origin.
    assert 0.005 < np.linalg.norm(transform(moment.began, FAR[None])[0] - FAR) < 1
    shown.press("as started")
    shown.until(lambda: np.allclose(shown.live.moment.pose, moment.began), "put back")


def test_save_says_where_or_why_not(shown: Shown) -> None:
    shown.live.start(Choice())
    shown.until_it_says("confidence")
    shown.press("Save")
    shown.until_it_says("written: T.txt, moved.ply")
    assert shown.saved[0] is shown.live.moment.result
    shown.press("Save")
    shown.until_it_says("No space left on device")


def test_problems_are_shown_as_text(shown: Shown) -> None:
    shown.live.start(Choice("<b>magic</b>"))
    shown.until_it_says("got '<b>magic</b>'")
    shown.press("Start")
    shown.until_it_says("Registered: ")


def test_who_comes_later_sees_the_same(shown: Shown) -> None:
    shown.press("Start")
    shown.until_it_says("Registered: ")
    shown.browser.open(shown.address)
    shown.until_it_says("Registered: ")
    shown.until(lambda: like(shown.scene(), BLUE).sum() > 1000, "drawn")
    shown.until(lambda: shown.gap() < 15, "both scans in one place")
