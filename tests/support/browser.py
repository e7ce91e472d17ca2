"""Chromium without a screen, controlled with the DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.png_images import decoded

NAMES = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-quic", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
    "--remote-debugging-pipe",
)  # fmt: skip
# The browser uses the file descriptors 3 and 4; this program puts the pipes there.
LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
# Seconds; long enough for any busy machine, so that only a failing test waits this long.
TIMEOUT = 600.0


def installed() -> str | None:
    """Return the path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser with one page.

    Attributes
    ----------
    errors : list of str
        Exceptions, and errors and warnings of the console, since the page was opened.
    requests : list of str
        Addresses that the page requested.
    """

    def __init__(self, *flags: str, width: int = 1200, height: int = 900) -> None:
        self._scripts, self._size = True, (width, height)
        program = installed()
        assert program is not None
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # Above 4, so that moving one there does not overwrite the other.
        child_in, self._out = (_duplicated(end) for end in os.pipe())
        self._in, child_out = (_duplicated(end) for end in os.pipe())
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(child_in), str(child_out), program, *FLAGS, *flags,
             f"--user-data-dir={self._home.name}", "about:blank"],
            pass_fds=(child_in, child_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(child_in)
        os.close(child_out)
        self._numbers = itertools.count(1)
        self._pending = b""
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")
        self.resize(width, height)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._home.cleanup()

    def reset(self) -> None:
        """Restore the initial window, colour scheme and media, for the next test."""
        self.allow_scripts(True)
        self.resize(*self._size)
        self._send(
            "Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "light"}]
        )

    def resize(self, width: int, height: int, touch: bool = False) -> None:
        """Set the size of the window in pixels, and whether it has a touch screen."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self._send("Emulation.setTouchEmulationEnabled", enabled=touch)

    def prefer(self, scheme: str) -> None:
        """Set the colour scheme of the system, "light" or "dark"."""
        self._send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def print_preview(self, on: bool) -> None:
        """Switch to the layout for print."""
        self._send("Emulation.setEmulatedMedia", media="print" if on else "")

    def accessible(self) -> list[dict[str, Any]]:
        """Return the nodes of the accessibility tree, which screen readers use."""
        nodes: list[dict[str, Any]] = self._send("Accessibility.getFullAXTree")["nodes"]
        return nodes

    def allow_scripts(self, on: bool) -> None:
        """Enable or disable scripts, from the next page on."""
        self._scripts = on
        self._send("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, page: Path | str) -> None:
        """Open a file or an address."""
        self.errors.clear()
        self.requests.clear()
        answer = self._send("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        assert "errorText" not in answer, answer["errorText"]
        deadline = time.monotonic() + TIMEOUT
        while self._evaluate("document.readyState") != "complete":
            assert time.monotonic() < deadline, "the page does not load"
        self.wait_for_frame()

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression; a promise is awaited."""
        return self._evaluate(script)

    def wait_for_frame(self) -> None:
        """Wait until two frames have been rendered."""
        if not self._scripts:
            return
        self._evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector: str) -> None:
        """Click an element with the mouse."""
        x, y = self._evaluate(
            f"((it) => {{ it.scrollIntoView(); const {{x, y, width, height}} = it.getBoundingClientRect(); "
            f"return [x + width / 2, y + height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        self._send("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y} for x, y in points])

    def press(self, key: str, shift: bool = False) -> None:
        code = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(key, ord(key[0]))
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self._send(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=8 * shift,
                **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    def pixels(self, selector: str) -> NDArray[np.uint8]:
        """Return the (H, W, 3) pixels of an element."""
        return decoded(self.screenshot(selector))

    def screenshot(self, selector: str | None = None) -> bytes:
        """Return a PNG of an element, or of the whole page."""
        self.wait_for_frame()
        more: dict[str, Any] = {}
        if selector is not None:
            box = self._evaluate(
                f"(({{x, y, width, height}}) => ({{x: x + scrollX, y: y + scrollY, width, height}}))"
                f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
            )
            more = {"clip": {**box, "scale": 1}}
        shot = self._send("Page.captureScreenshot", captureBeyondViewport=True, optimizeForSpeed=True, **more)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """Print the page."""
        return base64.b64decode(
            self._send("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.7)["data"]
        )

    def _evaluate(self, script: str) -> Any:
        answer = self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def _send(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._handle(answer)

    def _handle(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.errors.append(json.dumps(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"][:200])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._in], [], [], TIMEOUT)
            assert ready, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._pending += part
        text, _, self._pending = self._pending.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        return answer


def _duplicated(descriptor: int) -> int:
    higher = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
    os.close(descriptor)
    return higher
