"""An HTTP server on this machine that can misbehave, and archives to serve."""

from __future__ import annotations

import contextlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT = bytes(range(256)) * 4000


@dataclass
class FakeServer:
    """A file on an HTTP server, and how the server misbehaves.

    Parameters
    ----------
    content : bytes
        The file.
    ranges : bool
        Whether ranges are supported.
    cut : list of int
        Bytes after which each connection breaks, in this order; later connections are complete.
    length : int, optional
        Stated length of the file, instead of the true one; -1 for none.
    offset : int
        Bytes by which a range begins too late.
    status : int, optional
        The status of every answer.
    requests : list of str
        The Range header of each request.
    """

    content: bytes = CONTENT
    ranges: bool = True
    cut: list[int] = field(default_factory=list)
    length: int | None = None
    offset: int = 0
    status: int | None = None
    requests: list[str] = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def serving(fake: FakeServer) -> Iterator[FakeServer]:
    """Serve the file on this machine; sets `url`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range") or ""
            fake.requests.append(wanted)
            if fake.status is not None:
                return self.send_error(fake.status)
            total = len(fake.content) if fake.length is None else fake.length
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and fake.ranges else 0
            if start and start >= len(fake.content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(fake.content)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.send_response(206 if start else 200)
            if start:
                start += fake.offset
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            if total >= 0:
                self.send_header("Content-Length", str(total - start))
            self.end_headers()
            rest = fake.content[start:]
            self.wfile.write(rest[: fake.cut.pop(0)] if fake.cut else rest)
            return None

        def log_message(self, format: str, *arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}/toy.tar.gz"
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def tar_gz(files: dict[str, bytes], *links: tarfile.TarInfo) -> bytes:
    """A .tar.gz archive of the links and files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for link in links:
            archive.addfile(link)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    """A .zip archive of the files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()
