"""The live viewer in Chromium: what is displayed, what the controls do, and no errors."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.browser import Browser
from tests.support.strategies import small_scan

import graphreg
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports.display_clouds import describe_pair
from graphreg.reports.live import LiveRegistration, RunSettings, State
from graphreg.reports.pictures import BLUE, ORANGE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("viser") is None, reason="viser is not installed: pip install 'graphreg[view]'"),
]

Pixels = NDArray[np.uint8]
T_TARGET_SOURCE = pose(rotation_from_vector([0.1, -0.15, 0.2]), [0.1, 0.05, 0.1])
# As in a national grid, where single precision has a resolution of half a metre.
FAR = np.array([4_512_000.0, 5_403_000.0, 520.0])
# The red of the handle, which neither cloud has.
RED = (1.0, 0.2, 0.4)
# Seconds; long enough for any busy machine, so that only a failing test waits this long.
TIMEOUT = 600.0
# A warning of viser's own page.
KNOWN_WARNING = "THREE.Clock: This module has been deprecated"


@dataclass
class Shown:
    """A viewer and the browser that displays it."""

    live: LiveRegistration
    browser: Browser
    address: str
    saved: list[graphreg.Result]

    def text(self) -> str:
        text: str = self.browser.evaluate("document.body.innerText")
        return text

    def wait_for_text(self, words: str) -> None:
        self.wait_until(lambda: words in self.text(), words)

    def wait_until(self, condition: Callable[[], bool], name: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < deadline, f"timeout: {name}: {self.text()}"
            time.sleep(0.05)

    def press(self, label: str) -> None:
        """Click the button with this label as soon as it is enabled."""
        find = f"[...document.querySelectorAll('button')].find((it) => it.innerText.trim() === {json.dumps(label)})"
        self.wait_until(lambda: bool(self.browser.evaluate(f"{find} !== undefined && !{find}.disabled")), label)
        # By script, since texts above the button may move it away from the mouse.
        self.browser.evaluate(f"{find}.click()")

    def scene(self) -> Pixels:
        """The pixels between viser's notice and the controls."""
        return self.browser.pixels("body")[:, 320:-340]

    def gap(self) -> float:
        """Distance between the medians of the blue and of the orange pixels."""
        pixels = self.scene()
        medians = [np.median(np.argwhere(has_colour(pixels, colour)), axis=0) for colour in (BLUE, ORANGE)]
        return float(np.linalg.norm(medians[0] - medians[1]))


def has_colour(pixels: Pixels, colour: tuple[float, float, float]) -> NDArray[np.bool_]:
    """Where a picture has this colour, in any brightness."""
    ratio = np.array(colour) / np.linalg.norm(colour)
    length = np.linalg.norm(pixels.astype(float), axis=2)
    return np.asarray((pixels @ ratio > 0.985 * length) & (length > 40))


@pytest.fixture(scope="module")
def opened(chromium: Browser) -> Iterator[Shown]:
    body = small_scan("hare")
    target = body[::2] + FAR
    source = transform(inverse(T_TARGET_SOURCE), body[1::2]) + FAR
    from graphreg.reports.viewer import Viewer  # viser takes long to import

    live = LiveRegistration(source, target, threads=2)
    saved: list[graphreg.Result] = []

    def save(result: graphreg.Result) -> str:
        saved.append(result)
        if len(saved) > 1:
            raise OSError(28, "No space left on device", "moved.ply")
        return "written: T.txt, moved.ply"

    viewer = Viewer(live, describe_pair(source, target, 2), save, ("moving <b>.ply", "fixed.ply"), port=0)
    ended = threading.Event()

    def update() -> None:
        while not ended.is_set():
            viewer.update_once()

    updating = threading.Thread(target=update)
    updating.start()
    address = f"http://127.0.0.1:{viewer.port}"
    chromium.reset()
    # Wide enough for the clouds between a notification to the left and the docked controls to the right.
    chromium.resize(1500, 500)
    chromium.open(f"{address}/{viewer.query}")
    yield Shown(live, chromium, address, saved)
    chromium.open("about:blank")
    ended.set()
    updating.join()
    live.close()
    viewer.close()


@pytest.fixture
def shown(opened: Shown) -> Iterator[Shown]:
    """The initial state: idle, with the source as read."""
    opened.wait_for_text("Iterations/s")
    opened.live.stop()
    opened.wait_until(lambda: opened.live.snapshot.state in (State.IDLE, State.DONE), "stopped")
    opened.live.set_rate(1e6)
    opened.press("as read")
    opened.wait_for_text("Ready. ")
    opened.wait_until(lambda: has_colour(opened.scene(), BLUE).sum() > 1000, "displayed")
    yield opened
    assert [message for message in opened.browser.errors if KNOWN_WARNING not in message] == []


def test_both_scans_and_all_controls_are_displayed(shown: Shown) -> None:
    pixels = shown.scene()
    assert has_colour(pixels, BLUE).sum() > 1000
    assert has_colour(pixels, ORANGE).sum() > 1000
    assert shown.gap() > 60
    for label in ("moving <b>.ply → fixed.ply", "Method", "Seed", "Iterations/s", "Reset pose", "Pause", "Stop"):
        assert label in shown.text()
    # Requests go to the viewer only.
    requested = [address for address in shown.browser.requests if not address.startswith(("data:", "blob:"))]
    assert all(address.startswith((shown.address, shown.address.replace("http", "ws"))) for address in requested)


def test_start_registers_the_source_to_the_target(shown: Shown) -> None:
    before = shown.gap()
    shown.press("Start")
    shown.wait_for_text("Registered: ")
    result = shown.live.snapshot.result
    assert result is not None
    assert f"confidence {result.confidence:.2f}" in shown.text()
    assert f"energy {result.history[-1].energy:.6g}" in shown.text()
    shown.wait_until(lambda: shown.gap() < 15, "aligned")
    assert before > 60


def test_step_pause_and_stop(shown: Shown) -> None:
    shown.live.step(RunSettings("graphreg-paper"))
    shown.wait_for_text("iteration 1: energy")
    shown.wait_for_text("Paused")
    shown.press("Step")
    shown.wait_for_text("iteration 2: energy")
    shown.live.set_rate(2)  # so that the run does not end before the pause
    shown.press("Continue")
    shown.wait_for_text("Running")
    shown.wait_for_text("iteration 3: energy")
    shown.press("Pause")
    shown.wait_for_text("Paused")
    assert 2 < len(shown.live.snapshot.iterations) < 100
    shown.press("Stop")
    shown.wait_until(lambda: shown.live.snapshot.state is State.DONE, "stopped")
    shown.wait_for_text("confidence")


def test_beta_is_a_setting_of_methods_with_annealing(shown: Shown) -> None:
    assert "Beta" not in shown.text()
    choose(shown, "graphreg-paper")
    shown.wait_for_text("Beta")
    shown.press("Step")
    shown.wait_for_text("temperature")
    shown.live.stop()
    shown.wait_until(lambda: shown.live.snapshot.state is State.DONE, "stopped")
    result = shown.live.snapshot.result
    assert result is not None
    assert (result.method, result.settings["beta"]) == ("graphreg-paper", 0.9)
    choose(shown, "graphreg")
    shown.wait_until(lambda: "Beta" not in shown.text(), "no beta")


def choose(shown: Shown, method: str) -> None:
    """Select a method from the list."""
    shown.browser.evaluate("document.querySelector('input[aria-haspopup=listbox]').click()")
    option = f"[...document.querySelectorAll('[role=option]')].find((it) => it.innerText.trim() === {method!r})"
    shown.wait_until(lambda: bool(shown.browser.evaluate(f"{option} !== undefined")), method)
    shown.browser.evaluate(f"{option}.click()")


def test_the_handle_moves_the_source(shown: Shown) -> None:
    pixels = shown.scene()
    # A pixel inside the red arrow, whose neighbours are red as well.
    red = has_colour(pixels, RED)
    inside = red[2:-2, 2:-2].copy()
    for down, across in ((0, 2), (4, 2), (2, 0), (2, 4)):
        inside &= red[down : red.shape[0] - 4 + down, across : red.shape[1] - 4 + across]
    y, x = (np.argwhere(inside)[0] + 2).tolist()
    browser, left = shown.browser, 320
    before = np.median(np.argwhere(has_colour(pixels, BLUE)), axis=0)
    browser.mouse("mouseMoved", left + x, y)
    # The handle changes its colour as soon as the page knows that the mouse is over it.
    shown.wait_until(
        lambda: not has_colour(shown.scene()[y : y + 1, x : x + 1], RED).any(), "the handle under the mouse"
    )
    browser.mouse("mousePressed", left + x, y, button="left", buttons=1, clickCount=1)
    for part in range(1, 11):
        browser.mouse("mouseMoved", left + x + 8 * part, y + 8 * part, button="left", buttons=1)
        browser.wait_for_frame()
    browser.mouse("mouseReleased", left + x + 80, y + 80, button="left", clickCount=1)
    # From now on runs start from this pose: the graphreg method then only refines.
    ticked = "[...document.querySelectorAll('input[type=checkbox]')].at(-1).checked"
    shown.wait_until(lambda: bool(browser.evaluate(ticked)), "start from this pose")
    after = np.median(np.argwhere(has_colour(shown.scene(), BLUE)), axis=0)
    assert np.linalg.norm(after - before) > 20
    shown.press("Start")
    shown.wait_until(lambda: shown.live.snapshot.state is State.DONE, "done")
    snapshot = shown.live.snapshot
    assert snapshot.result is not None
    assert snapshot.result.hypotheses == 1
    # By the displayed distance, for a body of half a metre far from the origin.
    assert 0.005 < np.linalg.norm(transform(snapshot.start_pose, FAR[None])[0] - FAR) < 1
    shown.press("last start")
    shown.wait_until(lambda: np.allclose(shown.live.snapshot.pose, snapshot.start_pose), "reset")


def test_save_reports_the_path_or_the_error(shown: Shown) -> None:
    shown.live.start(RunSettings())
    shown.wait_for_text("confidence")
    shown.press("Save")
    shown.wait_for_text("written: T.txt, moved.ply")
    assert shown.saved[0] is shown.live.snapshot.result
    shown.press("Save")
    shown.wait_for_text("No space left on device")


def test_errors_are_escaped(shown: Shown) -> None:
    shown.live.start(RunSettings("<b>magic</b>"))
    shown.wait_for_text("got '<b>magic</b>'")
    shown.press("Start")
    shown.wait_for_text("Registered: ")


def test_a_reloaded_page_displays_the_same(shown: Shown) -> None:
    shown.press("Start")
    shown.wait_for_text("Registered: ")
    shown.browser.open(shown.address)
    shown.wait_for_text("Registered: ")
    shown.wait_until(lambda: has_colour(shown.scene(), BLUE).sum() > 1000, "displayed")
    shown.wait_until(lambda: shown.gap() < 15, "aligned")
