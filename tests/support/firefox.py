"""Firefox without a screen, driven by its own protocol, Marionette: messages of JSON over a socket."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("firefox", "firefox-esr")
SETTINGS = {
    "marionette.port": 0,  # any that is free; it is then written into the profile
    "ui.systemUsesDarkTheme": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}
# Seconds; only a test that fails waits so long, on a machine however busy.
PATIENCE = 600.0
# What the page did wrong, of all that the browser's console holds: in its own code it finds much to warn of.
COMPLAINTS = """
  return Services.console.getMessageArray()
    .filter((told) => told instanceof Ci.nsIScriptError && told.sourceName.startsWith("file:"))
    .filter((told) => !(told.flags & Ci.nsIScriptError.warningFlag))
    .map((told) => told.errorMessage);
"""


def installed() -> str | None:
    """The path of Firefox, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """One page."""

    def __init__(self, **settings: Any) -> None:
        program = installed()
        assert program is not None
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        lines = (
            f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in (SETTINGS | settings).items()
        )
        Path(self._home.name, "user.js").write_text("\n".join(lines), encoding="utf-8")
        flags = ("--headless", "--no-remote", "--marionette", "--remote-allow-system-access")
        self._process = subprocess.Popen(
            [program, *flags, "--profile", self._home.name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._home.name},
        )
        self._number = 0
        try:
            self._socket = self._connected()
            self._receive()  # it greets first
            self._tell("WebDriver:NewSession")
        except BaseException:
            self._process.kill()
            raise

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._home.cleanup()

    def open(self, page: Path) -> None:
        self._tell("WebDriver:Navigate", url=page.resolve().as_uri())

    def evaluate(self, script: str) -> Any:
        """The value of an expression."""
        return self._tell("WebDriver:ExecuteScript", script=f"return {script}", args=[])["value"]

    def settle(self) -> None:
        """Wait until what was asked for has been drawn."""
        script = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        self._tell("WebDriver:ExecuteAsyncScript", script=script, args=[])

    def complaints(self) -> list[str]:
        """Errors and warnings of the page, as its console shows them."""
        self._tell("Marionette:SetContext", value="chrome")
        told: list[str] = self._tell("WebDriver:ExecuteScript", script=COMPLAINTS, args=[], sandbox="system")["value"]
        self._tell("Marionette:SetContext", value="content")
        return told

    def _connected(self) -> socket.socket:
        deadline = time.monotonic() + PATIENCE
        place = Path(self._home.name, "MarionetteActivePort")
        while True:
            assert self._process.poll() is None, "Firefox has ended"
            assert time.monotonic() < deadline, "Firefox does not answer"
            if place.exists() and (port := place.read_text(encoding="utf-8").strip()):
                return socket.create_connection(("127.0.0.1", int(port)), PATIENCE)
            time.sleep(0.05)

    def _tell(self, command: str, **parameters: Any) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(str(len(message)).encode() + b":" + message)
        _, _, problem, result = self._receive()
        assert problem is None, f"{command}: {problem}"
        return result

    def _receive(self) -> Any:
        """A message is its length, a colon, and JSON."""
        length = b""
        while not length.endswith(b":"):
            length += self._some(1)
        return json.loads(self._some(int(length[:-1])))

    def _some(self, count: int) -> bytes:
        held = b""
        while len(held) < count:
            part = self._socket.recv(count - len(held))
            assert part, "Firefox has ended"
            held += part
        return held
