"""graphreg view: where it says it is to be seen, what it refuses, how it ends."""

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

import pytest
from tests.support.commands import Shell
from tests.support.strategies import small_scan

import graphreg

needs_viser = pytest.mark.skipif(
    find_spec("viser") is None, reason="viser is not installed: pip install 'graphreg[view]'"
)
COMMAND = "from graphreg.cli import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans")
    graphreg.write(path / "source.ply", small_scan("hare")[::2])
    graphreg.write(path / "target.ply", small_scan("hare")[1::2])
    return path


@contextmanager
def viewing(folder: Path, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, once it listens, and the first line that it says."""
    program = [sys.executable, "-c", COMMAND, "view", "source.ply", "target.ply", *options]
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
    """What else it says, until it ends."""
    assert running.stdout is not None
    assert running.stderr is not None
    said = running.stdout.read(), running.stderr.read()
    running.wait(600)
    return said


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """In this process, where viser need not be loaded anew for each test."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    return Shell(monkeypatch, capsys)


@pytest.fixture
def ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, as soon as it would wait for something to happen."""
    from graphreg.reports.viewer import Viewer

    def interrupted(viewer: Viewer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Viewer, "run", interrupted)


@needs_viser
def test_it_says_where_it_is_to_be_seen_and_ends_on_ctrl_c(folder: Path) -> None:
    with viewing(folder, "--no-browser", "--port", "0", SSH_CONNECTION="192.0.2.1 5000 192.0.2.2 22") as (
        running,
        said,
    ):
        assert said.startswith("open http://127.0.0.1:")
        address = said.split()[1]
        port = address.rpartition(":")[2]
        with urllib.request.urlopen(address, timeout=600) as answer:
            assert answer.status == 200
        running.send_signal(signal.SIGINT)
        out, err = rest(running)
    assert running.returncode == 0
    # From far away one needs a tunnel to the loopback address.
    assert f"ssh -L {port}:127.0.0.1:{port} " in out
    assert out.endswith("ended\n")
    assert err == ""
    assert sorted(path.name for path in folder.iterdir()) == ["source.ply", "target.ply"]


@needs_viser
@pytest.mark.usefixtures("ended_at_once")
def test_others_can_look_only_where_it_is_told_so(run: Shell) -> None:
    warned = "anyone who can reach this address can look at the scans"
    done = run("view", "source.ply", "target.ply", "--no-browser", "--port", "0", "--host", "0.0.0.0")
    assert done.status == 0
    assert done.out.startswith(f"open http://{socket.gethostname()}:")
    assert warned in done.out
    done = run("view", "source.ply", "target.ply", "--no-browser", "--port", "0")
    assert done.out.startswith("open http://127.0.0.1:")
    assert warned not in done.out


@needs_viser
@pytest.mark.usefixtures("ended_at_once")
@pytest.mark.parametrize("wanted", [True, False])
def test_the_browser_is_opened_where_there_is_a_screen(
    run: Shell, monkeypatch: pytest.MonkeyPatch, wanted: bool
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
def test_a_port_that_is_taken_is_told(run: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("view", "source.ply", "target.ply", "--port", port)
    assert done.status == 2
    assert f"cannot listen at '127.0.0.1' on port {port}" in done.err


@needs_viser
@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "." * 300, ""])
def test_an_address_that_is_not_ours_is_told(host: str) -> None:
    from graphreg.reports.viewer import free_port

    with pytest.raises(graphreg.InputError, match=re.escape(f"host, port: cannot listen at {host!r}")):
        free_port(host, None)


@needs_viser
def test_what_cannot_be_read_is_told(run: Shell) -> None:
    done = run("view", "source.ply", "none.ply")
    assert done.status == 2
    assert done.err == "graphreg: none.ply: No such file or directory\n"


def test_without_viser_it_says_how_to_install_it(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    monkeypatch.delitem(sys.modules, "graphreg.reports.viewer", raising=False)
    done = run("view", "source.ply", "target.ply")
    assert done.status == 2
    assert done.err == "graphreg: the live viewer needs an extra that is not installed: pip install 'graphreg[view]'\n"
