"""Downloads over HTTP that resume after a broken connection."""

from __future__ import annotations

import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from graphreg.errors import FileError
from graphreg.files.input_file import CHUNK_BYTES, Progress

# Seconds without a byte after which a connection counts as broken.
TIMEOUT_SECONDS = 60.0
# Connections for one file; each must add to it.
MAX_CONNECTIONS = 20


def fetch(url: str, path: Path, progress: Progress, max_bytes: int) -> None:
    """Download a file; it appears under its name only when it has the length that the server stated.

    After a broken connection the received bytes remain in a file that ends in .part, and the next connection resumes
    there if the server supports ranges.

    Parameters
    ----------
    url : str
    path : Path
    progress : callable
        Called with the number of bytes received, and the total.
    max_bytes : int
        The largest file that is accepted.

    Raises
    ------
    ConnectionError
        If a connection adds nothing to the file.
    FileError
        If the server states or sends more than `max_bytes`. Nothing of it is kept.
    """
    part = path.with_name(path.name + ".part")
    for _ in range(MAX_CONNECTIONS):
        before = _size(part)
        problem = _connect(url, part, progress, max_bytes)
        if problem is None:
            os.replace(part, path)
            return
        dropped = before > 0 and not part.exists()
        if _size(part) <= before and not dropped:
            break
    raise ConnectionError(f"{url}: {problem}; {_size(part)} bytes received; try again to resume")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _connect(url: str, part: Path, progress: Progress, max_bytes: int) -> str | None:
    """Open one connection and append to `part`, or delete `part` if it does not match the file on the server.

    Returns None if the file is complete, else the problem.
    """
    have = _size(part)
    headers = {"User-Agent": "graphreg", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS) as response:
            start, total = _extent(response)
            if start not in (0, have):
                part.unlink(missing_ok=True)
                return "the server sent another range of the file than requested"
            _append(response, part, start, total, progress, max_bytes)
    except urllib.error.HTTPError as answer:
        answer.close()
        if answer.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
            raise ConnectionError(f"{url}: the server answered {answer.code} {answer.reason}") from answer
        if answer.headers.get("Content-Range") == f"bytes */{have}":  # complete
            return None
        part.unlink()
        return "the file on the server is shorter than what was received"
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as problem:
        return f"the connection failed ({getattr(problem, 'reason', None) or problem})"
    if total is not None and _size(part) != total:
        return f"the server stated {total} bytes and sent {_size(part)}"
    return None


def _extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """The first byte of the response within the file, and the length of the file, None if not stated."""
    if response.status == http.client.PARTIAL_CONTENT:
        stated = re.fullmatch(r"bytes ([0-9]+)-[0-9]+/([0-9]+|\*)", response.headers.get("Content-Range") or "")
        if stated is None:
            return -1, None
        return int(stated[1]), None if stated[2] == "*" else int(stated[2])
    length = response.headers.get("Content-Length") or ""
    return 0, int(length) if length.isdecimal() else None


def _append(response: IO[bytes], part: Path, start: int, total: int | None, progress: Progress, max_bytes: int) -> None:
    done = start
    _refuse_large(part, total or 0, max_bytes)
    with open(part, "ab") as file:
        file.truncate(start)
        for chunk in _chunks(response):
            done += len(chunk)
            _refuse_large(part, done, max_bytes)
            file.write(chunk)
            progress(done, total or done)


def _refuse_large(part: Path, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        part.unlink(missing_ok=True)
        raise FileError(part.with_suffix(""), f"the server sends more than {max_bytes} bytes; nothing was kept")


def _chunks(response: IO[bytes]) -> Iterator[bytes]:
    """The content of a response; its errors are ConnectionErrors, to tell them from those of the disk."""
    while True:
        try:
            chunk = response.read(CHUNK_BYTES)
        except OSError as problem:
            raise ConnectionError(str(problem)) from problem
        if not chunk:
            return
        yield chunk
