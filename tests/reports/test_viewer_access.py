"""Who may use the live viewer, by real requests to its server."""

from __future__ import annotations

import asyncio
import http.client
import io
import socket
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.reports.viewer_access import ViewerAccess

ADDRESS = "127.0.0.1:8080"


def refused(access: ViewerAccess, path: str = "/", **headers: str) -> bool:
    return access.refusal(path, [("Host", ADDRESS), *headers.items()]) is not None


def test_the_token_is_in_the_address_or_in_the_cookie() -> None:
    access = ViewerAccess("127.0.0.1")
    cookie = access.cookie().partition(";")[0]
    assert not refused(access, f"/{access.query()}")
    assert not refused(access, Cookie=f"other=1; {cookie}")
    assert refused(access)
    assert refused(access, "/?token=")
    assert refused(access, f"/{access.query()}x")
    assert refused(access, Cookie=f"{cookie}x")
    assert refused(ViewerAccess("127.0.0.1"), Cookie=cookie)


@given(st.text())
def test_no_other_text_is_the_token(text: str) -> None:
    access = ViewerAccess("127.0.0.1")
    assert refused(access, f"/?token={text}", Cookie=text)


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8080", "192.0.2.7:80", socket.gethostname()])
def test_addresses_and_names_of_this_machine_are_hosts(host: str) -> None:
    access = ViewerAccess("127.0.0.1")
    assert access.refusal(f"/{access.query()}", [("Host", host)]) is None
    assert access.refusal(f"/{access.query()}", [("Host", host), ("Origin", f"http://{host}")]) is None


@pytest.mark.parametrize(
    "headers",
    [
        [("Host", "evil.example")],
        [("Host", "127.0.0.1.evil.example:8080")],
        [("Host", "[::1")],
        [("Host", "")],
        [],
        [("Host", ADDRESS), ("Host", "evil.example")],
        [("Host", ADDRESS), ("Origin", "http://evil.example")],
        [("Host", ADDRESS), ("Origin", "http://127.0.0.1:9999")],
        [("Host", ADDRESS), ("Origin", "null")],
        [("Host", ADDRESS), ("origin", f"http://{ADDRESS}"), ("Origin", "http://evil.example")],
    ],
)
def test_other_hosts_and_origins_are_refused_even_with_the_token(headers: list[tuple[str, str]]) -> None:
    access = ViewerAccess("127.0.0.1")
    assert access.refusal(f"/{access.query()}", headers) is not None


@dataclass
class Running:
    """A server that listens."""

    port: int
    access: ViewerAccess

    def get(self, path: str, **headers: str) -> http.client.HTTPResponse:
        """The answer to a request, read to its end."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            assert (b"<html" in answer.read()) == (answer.status == 200)
            return answer

    def websocket(self, **headers: str) -> int:
        """The status of the answer to the opening handshake of a websocket: 101 where it is accepted."""
        import viser
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus

        async def opened() -> int:
            try:
                async with connect(
                    f"ws://127.0.0.1:{self.port}",
                    additional_headers=headers,
                    subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
                ) as connection:
                    await connection.recv()
                    return 101
            except InvalidStatus as problem:
                return problem.response.status_code

        return asyncio.run(opened())


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    pytest.importorskip("viser", reason="viser is not installed: pip install 'graphreg[view]'")
    from graphreg.reports.viewer import Server, free_port

    access = ViewerAccess("127.0.0.1")
    server = Server(access, "127.0.0.1", free_port("127.0.0.1", 0), "title")
    yield Running(server.get_port(), access)
    server.stop()


@pytest.mark.slow
def test_a_page_is_served_to_who_has_the_token(running: Running) -> None:
    answer = running.get(f"/{running.access.query()}")
    assert answer.status == 303
    assert answer.headers["Location"] == "/"
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    page = running.get("/", Cookie=cookie)
    assert page.status == 200
    assert page.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert running.get("/").status == 403
    assert running.get("/", Cookie=cookie, Origin="http://evil.example").status == 403
    assert running.get("/", Cookie=cookie, Host="evil.example").status == 403


@pytest.mark.slow
def test_a_websocket_is_opened_by_the_page_alone(running: Running) -> None:
    cookie, own = running.access.cookie().partition(";")[0], f"http://127.0.0.1:{running.port}"
    assert running.websocket(Cookie=cookie, Origin=own) == 101
    assert running.websocket(Origin=own) == 403
    assert running.websocket(Cookie=cookie, Origin="http://evil.example") == 403
    assert running.websocket(Cookie=cookie, Host="evil.example") == 403
    assert running.websocket() == 403


@pytest.mark.slow
def test_a_server_has_stopped_although_a_page_sleeps() -> None:
    """Which does not answer that the connection is closed; and a browser has a spare connection, without a request."""
    pytest.importorskip("viser", reason="viser is not installed: pip install 'graphreg[view]'")
    import viser

    from graphreg.reports.viewer import Server, free_port

    access = ViewerAccess("127.0.0.1")
    server = Server(access, "127.0.0.1", free_port("127.0.0.1", 0), "title")
    handshake = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": f"viser-v{viser.__version__}",
        "Cookie": access.cookie().partition(";")[0], "Origin": f"http://127.0.0.1:{server.get_port()}",
    }  # fmt: skip
    address = ("127.0.0.1", server.get_port())
    with closing(http.client.HTTPConnection(*address, timeout=60)) as page, socket.create_connection(address):
        page.request("GET", "/", headers=handshake)
        assert page.getresponse().status == 101
        with redirect_stdout(io.StringIO()) as printed:
            server.stop()
        # The last that its thread does.
        assert "Server stopped" in printed.getvalue()


@pytest.mark.slow
def test_a_viser_without_the_hook_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    viser = pytest.importorskip("viser", reason="viser is not installed: pip install 'graphreg[view]'")
    from graphreg.reports.viewer import Server

    stopped: list[bool] = []
    monkeypatch.setattr(viser.ViserServer, "__init__", lambda *_, **__: None)
    monkeypatch.setattr(viser.ViserServer, "stop", lambda _: stopped.append(True))
    with pytest.raises(RuntimeError, match="does not let its requests be checked"):
        Server(ViewerAccess("127.0.0.1"), "127.0.0.1", 0, "title")
    assert stopped
