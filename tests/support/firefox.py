"""Firefox without a screen, controlled with its own protocol, Marionette: JSON messages over a socket."""

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
    "marionette.port": 0,  # any free port, which Firefox writes into the profile
    "ui.systemUsesDarkTheme": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}
# Seconds; long enough for any busy machine, so that only a failing test waits this long.
TIMEOUT = 600.0
# Errors of the page; the console also contains many messages about the browser's own code.
ERRORS = """
  return Services.console.getMessageArray()
    .filter((message) => message instanceof Ci.nsIScriptError && message.sourceName.startsWith("file:"))
    .filter((message) => !(message.flags & Ci.nsIScriptError.warningFlag))
    .map((message) => message.errorMessage);
"""


def installed() -> str | None:
    """Return the path of Firefox, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """A Firefox with one page."""

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
            self._receive()  # the greeting
            self._send("WebDriver:NewSession")
        except BaseException:
            self._process.kill()
            raise

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._home.cleanup()

    def open(self, page: Path) -> None:
        self._send("WebDriver:Navigate", url=page.resolve().as_uri())

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression."""
        return self._send("WebDriver:ExecuteScript", script=f"return {script}", args=[])["value"]

    def wait_for_frame(self) -> None:
        """Wait until two frames have been rendered."""
        script = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        self._send("WebDriver:ExecuteAsyncScript", script=script, args=[])

    def errors(self) -> list[str]:
        """Return the errors of the page in the console."""
        self._send("Marionette:SetContext", value="chrome")
        found: list[str] = self._send("WebDriver:ExecuteScript", script=ERRORS, args=[], sandbox="system")["value"]
        self._send("Marionette:SetContext", value="content")
        return found

    def _connected(self) -> socket.socket:
        deadline = time.monotonic() + TIMEOUT
        port_file = Path(self._home.name, "MarionetteActivePort")
        while True:
            assert self._process.poll() is None, "Firefox has ended"
            assert time.monotonic() < deadline, "Firefox does not answer"
            if port_file.exists() and (port := port_file.read_text(encoding="utf-8").strip()):
                return socket.create_connection(("127.0.0.1", int(port)), TIMEOUT)
            time.sleep(0.05)

    def _send(self, command: str, **parameters: Any) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(str(len(message)).encode() + b":" + message)
        _, _, problem, result = self._receive()
        assert problem is None, f"{command}: {problem}"
        return result

    def _receive(self) -> Any:
        """Read a message: its length, a colon, and JSON."""
        length = b""
        while not length.endswith(b":"):
            length += self._read(1)
        return json.loads(self._read(int(length[:-1])))

    def _read(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            part = self._socket.recv(count - len(received))
            assert part, "Firefox has ended"
            received += part
        return received
