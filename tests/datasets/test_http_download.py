"""Downloads from servers that behave and that misbehave, all on this machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.support.fake_server import CONTENT, FakeServer, serving

from graphreg import FileError
from graphreg.datasets import http_download
from graphreg.datasets.http_download import fetch


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(http_download, "TIMEOUT_SECONDS", 5.0)


def ignore_progress(done: int, total: int) -> None: ...


def test_a_file_is_complete_and_progress_is_reported(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    with serving(FakeServer()) as server:
        fetch(server.url, tmp_path / "file", lambda done, total: reported.append((done, total)), len(CONTENT) + 2000)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert reported[-1] == (len(CONTENT), len(CONTENT))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_connection_is_resumed(tmp_path: Path, ranges: bool) -> None:
    with serving(FakeServer(cut=[100_000, 300_000], ranges=ranges)) as server:
        fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == ["", "bytes=100000-", "bytes=400000-" if ranges else "bytes=300000-"]


def test_another_call_resumes_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT[:70_000])
    with serving(FakeServer()) as server:
        fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == ["bytes=70000-"]


def test_a_complete_part_is_only_renamed(tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT)
    with serving(FakeServer()) as server:
        fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "server", [FakeServer(), FakeServer(offset=7)], ids=["longer than the file", "answered with another range"]
)
def test_a_part_that_does_not_match_is_deleted(tmp_path: Path, server: FakeServer) -> None:
    left = CONTENT[:5000] if server.offset else CONTENT + b"more"
    (tmp_path / "file.part").write_bytes(left)
    with serving(server):
        fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == [f"bytes={len(left)}-", ""]


def test_after_repeated_failure_the_received_bytes_remain(tmp_path: Path) -> None:
    with (
        serving(FakeServer(cut=[1000, 0, 0])) as server,
        pytest.raises(ConnectionError, match=r"stated 1024000 bytes and sent 1000; 1000 bytes received; try again"),
    ):
        fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
    assert (tmp_path / "file.part").read_bytes() == CONTENT[:1000]
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_stated_length_that_is_too_large(tmp_path: Path, ranges: bool) -> None:
    """A server that supports ranges states the true length when asked for more; else it cannot be known."""
    with serving(FakeServer(length=len(CONTENT) + 1000, ranges=ranges)) as server:
        if ranges:
            fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
            assert (tmp_path / "file").read_bytes() == CONTENT
        else:
            with pytest.raises(ConnectionError, match="stated 1025000 bytes and sent 1024000"):
                fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
            assert not (tmp_path / "file").exists()


def test_no_stated_length(tmp_path: Path) -> None:
    with serving(FakeServer(length=-1)) as server:
        fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("length", [len(CONTENT), -1])
@pytest.mark.parametrize("received", [0, 1000])
def test_a_file_that_is_too_large_is_refused_and_not_kept(tmp_path: Path, length: int, received: int) -> None:
    if received:
        (tmp_path / "file.part").write_bytes(CONTENT[:received])
    with (
        serving(FakeServer(length=length, ranges=length > 0)) as server,
        pytest.raises(FileError, match="file: the server sends more than 100000 bytes; nothing was kept"),
    ):
        fetch(server.url, tmp_path / "file", ignore_progress, 100_000)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("status", [403, 404, 416, 503])
def test_an_error_status(tmp_path: Path, status: int) -> None:
    with (
        serving(FakeServer(status=status)) as server,
        pytest.raises(ConnectionError, match=rf"{server.url}.*answered {status} "),
    ):
        fetch(server.url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
    assert not list(tmp_path.iterdir())


def test_a_refused_connection(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
        with pytest.raises(ConnectionError, match=r"the connection failed .*; 0 bytes received"):
            fetch(url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)


def test_a_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_download, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/file"
        with pytest.raises(ConnectionError, match="timed out"):
            fetch(url, tmp_path / "file", ignore_progress, len(CONTENT) + 2000)
