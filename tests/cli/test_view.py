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

import graphreg
from drawn import scanned

needs_viser = pytest.mark.skipif(
    find_spec("viser") is None, reason="viser is not installed: pip install 'graphreg[view]'"
)
COMMAND = "from graphreg.cli import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans")
    graphreg.write(path / "source.ply", scanned("hare")[::2])
    graphreg.write(path / "target.ply", scanned("hare")[1::2])
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
    running.wait(60)
    return said


def refused(folder: Path, *arguments: str, command: str = COMMAND) -> str:
    done = subprocess.run(
        [sys.executable, "-c", command, "view", *arguments], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    return done.stderr


@needs_viser
def test_it_says_where_it_is_to_be_seen_and_ends_on_ctrl_c(folder: Path) -> None:
    with viewing(folder, "--no-browser", "--port", "0", SSH_CONNECTION="192.0.2.1 5000 192.0.2.2 22") as (
        running,
        said,
    ):
        assert said.startswith("open http://127.0.0.1:")
        address = said.split()[1]
        port = address.rpartition(":")[2]
        with urllib.request.urlopen(address, timeout=60) as answer:
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
def test_it_listens_to_this_machine_alone_unless_told(folder: Path) -> None:
    with viewing(folder, "--no-browser", "--port", "0", "--host", "0.0.0.0") as (running, said):
        port = said.split()[1].rpartition(":")[2]
        assert socket.gethostname() in said
        running.send_signal(signal.SIGINT)
        out, _ = rest(running)
    assert "anyone who can reach this address can look at the scans" in out
    assert port != "0"


@needs_viser
def test_the_browser_is_opened_where_there_is_a_screen(folder: Path, tmp_path: Path) -> None:
    """BROWSER names the program, as Python's webbrowser takes it."""
    program = tmp_path / "browser"
    program.write_text(
        f"#!/bin/sh\necho \"$1\" > '{tmp_path}/asked.part' && mv '{tmp_path}/asked.part' '{tmp_path}/asked'\n"
    )
    program.chmod(0o755)
    with viewing(folder, "--port", "0", DISPLAY=":7", BROWSER=str(program)) as (running, said):
        while not (tmp_path / "asked").exists():
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        rest(running)
    assert (tmp_path / "asked").read_text().strip() == said.split()[1]


@needs_viser
def test_a_port_that_is_taken_is_told(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = refused(folder, "source.ply", "target.ply", "--port", str(port))
    assert f"cannot listen at '127.0.0.1' on port {port}" in told


@needs_viser
@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "." * 300, ""])
def test_an_address_that_is_not_ours_is_told(host: str) -> None:
    from graphreg.reports.viewer import free_port

    with pytest.raises(graphreg.InputError, match=re.escape(f"host, port: cannot listen at {host!r}")):
        free_port(host, None)


@needs_viser
def test_what_cannot_be_read_is_told(folder: Path) -> None:
    assert "none.ply: No such file or directory" in refused(folder, "source.ply", "none.ply")


def test_without_viser_it_says_how_to_install_it(folder: Path) -> None:
    without = f"import sys; sys.modules['viser'] = None; {COMMAND}"
    told = refused(folder, "source.ply", "target.ply", command=without)
    assert told == "graphreg: the live viewer needs an extra that is not installed: pip install 'graphreg[view]'\n"
