"""graphreg view: the address that it prints, what it refuses, how it stops."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.support.commands import PROGRAM, CommandLine
from tests.support.strategies import small_scan

import graphreg

needs_viser = pytest.mark.skipif(
    find_spec("viser") is None, reason="viser is not installed: pip install 'graphreg[view]'"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans")
    graphreg.write(path / "source.ply", small_scan("hare")[::2])
    graphreg.write(path / "target.ply", small_scan("hare")[1::2])
    return path


@contextmanager
def viewing(folder: Path, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, once it listens, and the first line that it prints."""
    program = [sys.executable, "-c", PROGRAM, "view", "source.ply", "target.ply", *options]
    usual = {name: value for name, value in os.environ.items() if name not in ("SSH_CONNECTION", "DISPLAY")}
    with subprocess.Popen(
        program, cwd=folder, env={**usual, "PYTHONUNBUFFERED": "1", **environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        try:
            assert running.stdout is not None
            yield running, running.stdout.readline()
        finally:
            running.kill()


def rest(running: subprocess.Popen[str]) -> tuple[str, str]:
    """The rest of its output, until it stops."""
    assert running.stdout is not None
    assert running.stderr is not None
    said = running.stdout.read(), running.stderr.read()
    running.wait(600)
    return said


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Commands in this process, where viser is imported only once."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    return CommandLine(monkeypatch, capsys)


@pytest.fixture
def interrupted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C as soon as the server waits."""
    from graphreg.reports.viewer import Viewer

    def interrupted(viewer: Viewer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Viewer, "run", interrupted)


@pytest.mark.slow
@needs_viser
def test_it_prints_its_address_and_stops_on_ctrl_c(folder: Path) -> None:
    with viewing(folder, "--no-browser", "--port", "0", SSH_CONNECTION="192.0.2.1 5000 192.0.2.2 22") as (
        running,
        said,
    ):
        assert said.startswith("open http://127.0.0.1:")
        address = said.split()[1]
        port = str(urlsplit(address).port)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address, timeout=600) as answer:
            assert answer.status == 200
        running.send_signal(signal.SIGINT)
        out, err = rest(running)
    assert running.returncode == 0
    # From another machine a tunnel to the loopback address is needed.
    assert f"ssh -L {port}:127.0.0.1:{port} " in out
    assert out.endswith("stopped\n")
    assert err == ""
    assert sorted(path.name for path in folder.iterdir()) == ["source.ply", "target.ply"]


@pytest.mark.slow
@needs_viser
@pytest.mark.usefixtures("interrupted_at_once")
def test_other_machines_have_access_only_on_request(run: CommandLine) -> None:
    warned = "anyone who has this address can see the scans"
    done = run("view", "source.ply", "target.ply", "--no-browser", "--port", "0", "--host", "0.0.0.0")
    assert done.status == 0
    assert done.out.startswith(f"open http://{socket.gethostname()}:")
    assert warned in done.out
    done = run("view", "source.ply", "target.ply", "--no-browser", "--port", "0")
    assert done.out.startswith("open http://127.0.0.1:")
    assert warned not in done.out


@pytest.mark.slow
@needs_viser
@pytest.mark.usefixtures("interrupted_at_once")
@pytest.mark.parametrize("wanted", [True, False])
def test_a_browser_is_opened_if_there_is_a_display(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":7")
    done = run("view", "source.ply", "target.ply", "--port", "0", *([] if wanted else ["--no-browser"]))
    assert opened == [done.out.split()[1]] * wanted
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY")
    run("view", "source.ply", "target.ply", "--port", "0")
    assert len(opened) == wanted


@needs_viser
def test_a_port_in_use_is_refused(run: CommandLine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("view", "source.ply", "target.ply", "--port", port)
    assert done.status == 2
    assert f"cannot listen at '127.0.0.1' on port {port}" in done.err


@needs_viser
@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "." * 300, ""])
def test_the_address_of_another_machine_is_refused(host: str) -> None:
    from graphreg.reports.viewer import free_port

    with pytest.raises(graphreg.InputError, match=re.escape(f"host, port: cannot listen at {host!r}")):
        free_port(host, None)


@needs_viser
def test_a_missing_file_is_one_line(run: CommandLine) -> None:
    done = run("view", "source.ply", "none.ply")
    assert done.status == 2
    assert done.err == "graphreg: none.ply: No such file or directory\n"


def test_without_viser_the_error_has_the_install_command(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    monkeypatch.delitem(sys.modules, "graphreg.reports.viewer", raising=False)
    done = run("view", "source.ply", "target.ply")
    assert done.status == 2
    assert done.err == "graphreg: the live viewer needs an extra that is not installed: pip install 'graphreg[view]'\n"
