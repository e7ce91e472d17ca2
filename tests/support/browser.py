"""A real browser without a screen, driven by the DevTools protocol over two pipes."""

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
# The browser talks over descriptors 3 and 4; a few lines put the pipes there.
LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
# Seconds; only a test that fails waits so long, on a machine however busy.
PATIENCE = 600.0


def installed() -> str | None:
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. What its console says and what it throws is kept in `complaints`."""

    def __init__(self, *flags: str, width: int = 1200, height: int = 900) -> None:
        self._scripts = True
        program = installed()
        assert program is not None
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # Above 4, so that neither stands in the way of the other when they move there.
        theirs_in, self._out = (_raised(end) for end in os.pipe())
        self._in, theirs_out = (_raised(end) for end in os.pipe())
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out), program, *FLAGS, *flags,
             f"--user-data-dir={self._home.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers = itertools.count(1)
        self._pending = b""
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self._tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._tell(f"{domain}.enable")
        self.resize(width, height)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._home.cleanup()

    def resize(self, width: int, height: int, touch: bool = False) -> None:
        self._tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self._tell("Emulation.setTouchEmulationEnabled", enabled=touch)

    def prefer(self, scheme: str) -> None:
        """Light or dark, as the system would say."""
        self._tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def print_preview(self, on: bool) -> None:
        """Whether the page is laid out as on paper."""
        self._tell("Emulation.setEmulatedMedia", media="print" if on else "")

    def accessible(self) -> list[dict[str, Any]]:
        """What a screen reader is told of."""
        nodes: list[dict[str, Any]] = self._tell("Accessibility.getFullAXTree")["nodes"]
        return nodes

    def allow_scripts(self, on: bool) -> None:
        self._scripts = on
        self._tell("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, page: Path | str) -> None:
        """A file, or an address."""
        self.complaints.clear()
        self.requests.clear()
        told = self._tell("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        assert "errorText" not in told, told["errorText"]
        deadline = time.monotonic() + PATIENCE
        while self._ask("document.readyState") != "complete":
            assert time.monotonic() < deadline, "the page does not load"
        self.settle()

    def evaluate(self, script: str) -> Any:
        """The value of an expression, after waiting for it where it is a promise."""
        return self._ask(script)

    def settle(self) -> None:
        """Wait until what was asked for has been drawn."""
        if not self._scripts:
            return
        self._ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self._tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector: str) -> None:
        """As a person does, with the mouse."""
        x, y = self._ask(
            f"((it) => {{ it.scrollIntoView(); const {{x, y, width, height}} = it.getBoundingClientRect(); "
            f"return [x + width / 2, y + height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        self._tell("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y} for x, y in points])

    def press(self, key: str, shift: bool = False) -> None:
        code = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(key, ord(key[0]))
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self._tell(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=8 * shift,
                **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    def pixels(self, selector: str) -> NDArray[np.uint8]:
        """An element as it is seen: (H, W, 3)."""
        return decoded(self.screenshot(selector))

    def screenshot(self, selector: str | None = None) -> bytes:
        """A PNG of an element, or of the whole page."""
        self.settle()
        more: dict[str, Any] = {}
        if selector is not None:
            box = self._ask(
                f"(({{x, y, width, height}}) => ({{x: x + scrollX, y: y + scrollY, width, height}}))"
                f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
            )
            more = {"clip": {**box, "scale": 1}}
        shot = self._tell("Page.captureScreenshot", captureBeyondViewport=True, optimizeForSpeed=True, **more)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(
            self._tell("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.7)["data"]
        )

    def _ask(self, script: str) -> Any:
        told = self._tell("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise AssertionError(told["exceptionDetails"])
        return told["result"].get("value")

    def _tell(self, method: str, **parameters: Any) -> Any:
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
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        held = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(held["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if held["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(held["args"]))
            case "Log.entryAdded" if held["entry"]["level"] == "error":
                self.complaints.append(held["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(held["request"]["url"][:200])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._pending += part
        text, _, self._pending = self._pending.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        return answer


def _raised(descriptor: int) -> int:
    higher = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
    os.close(descriptor)
    return higher
