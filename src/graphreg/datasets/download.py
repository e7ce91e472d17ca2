"""Downloads that go on where they were cut, and archives that are unpacked whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import re
import shutil
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from graphreg.datasets.catalogue import Archive, Dataset
from graphreg.errors import FileError, InputError
from graphreg.files.input_file import CHUNK_BYTES, EXPANSION_ALLOWANCE_BYTES, MAX_EXPANSION, Progress
from graphreg.files.output_file import atomic_write

# Seconds without a byte before a connection counts as cut.
PATIENCE = 60.0
# Connections at most for one file; each must bring it on.
MOST_CONNECTIONS = 20

Watch = Callable[[str], AbstractContextManager[Progress]]
# Name, size and content of each file of an archive.
Members = Generator[tuple[str, int, IO[bytes]], None, None]


@dataclass(frozen=True)
class Download:
    """What was downloaded: whether its checksum was known beforehand, published or from an earlier download."""

    url: str
    size: int
    sha256: str
    known: bool


@contextmanager
def unwatched(name: str) -> Iterator[Progress]:
    yield lambda done, total: None


def get(dataset: Dataset, folder: Path, watch: Watch = unwatched) -> tuple[Path, list[Download]]:
    """Download a data set into a folder of its name below `folder`, which appears only when all of it is there.

    watch  called with the name of each file; what it gives is told how many bytes of it are there

    Downloads are kept in a folder beside it until then, so that another call goes on with them. The SHA-256 of each
    archive is written beside it too (as `sha256sum` does), and holds for later downloads of archives for which nobody
    published a checksum.
    """
    if not dataset.archives:
        raise InputError(f"dataset: {dataset.name} cannot be downloaded like this; get it from {dataset.page}")
    target = folder / dataset.name
    if target.exists():
        raise FileError(target, "is there already; move it away to download it anew")
    work, record = folder / f"{dataset.name}.download", folder / f"{dataset.name}.sha256"
    unpacked = work / "unpacked"
    work.mkdir(parents=True, exist_ok=True)
    try:
        paths = [_fetched(archive, work, watch) for archive in dataset.archives]
        if unpacked.exists():  # by a call that was killed
            shutil.rmtree(unpacked)
        unpacked.mkdir()
        pairs = zip(dataset.archives, paths, strict=True)
        downloads = [_unpacked(archive, path, unpacked, record) for archive, path in pairs]
        with atomic_write(record) as output:
            lines = [f"{done.sha256}  {path.name}\n" for done, path in zip(downloads, paths, strict=True)]
            output.file.write("".join(lines).encode())
        os.rename(unpacked, target)
    except BaseException:
        shutil.rmtree(unpacked, ignore_errors=True)
        with suppress(OSError):  # it stays where it holds a download
            work.rmdir()
        raise
    shutil.rmtree(work)
    return target, downloads


def _fetched(archive: Archive, work: Path, watch: Watch) -> Path:
    path = work / archive.name
    if not path.exists():
        with watch(archive.name) as progress:
            fetch(archive.url, path, progress)
    return path


def _unpacked(archive: Archive, path: Path, into: Path, record: Path) -> Download:
    try:
        download = _checked(archive, path, _read_record(record).get(archive.name), record)
        unpack(path, into)
    except FileError:
        path.unlink()
        raise
    return download


def _checked(archive: Archive, path: Path, earlier: str | None, record: Path) -> Download:
    sha256 = digest(path, "sha256")
    if archive.checksum is not None:
        kind, _, expected = archive.checksum.partition(":")
        found = digest(path, kind)
        if found != expected:
            raise FileError(path, f"has the {kind} {found}, but should have {expected}; it was deleted, try again")
    elif earlier is not None and sha256 != earlier:
        raise FileError(
            path,
            f"has the sha256 {sha256}, but {earlier} when it was first downloaded; it was deleted, try again, "
            f"or delete {record} if its owners have changed it",
        )
    return Download(archive.url, path.stat().st_size, sha256, archive.checksum is not None or earlier is not None)


def _read_record(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    lines = re.findall("^([0-9a-f]{64})  (.+)$", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return {name: sha256 for sha256, name in lines}


def digest(path: Path, kind: str) -> str:
    """The checksum of a file, in hexadecimal digits."""
    checksum = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            checksum.update(chunk)
    return checksum.hexdigest()


# ------------------------------------------------------------------------------------------------------- fetching


def fetch(url: str, path: Path, progress: Progress) -> None:
    """Download a file, which appears only when it is as long as the server said.

    What is there when a connection is cut stays in a file that ends in .part, and the next one goes on from there where
    the server can do that. ConnectionError where a connection brings nothing new.
    """
    part = path.with_name(path.name + ".part")
    for _ in range(MOST_CONNECTIONS):
        before = _size(part)
        problem = _connect(url, part, progress)
        if problem is None:
            os.replace(part, path)
            return
        dropped = before > 0 and not part.exists()
        if _size(part) <= before and not dropped:
            break
    raise ConnectionError(f"{url}: {problem}; {_size(part)} bytes are there, try again to go on")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _connect(url: str, part: Path, progress: Progress) -> str | None:
    """One connection: add what it brings to `part`, or drop that if it does not belong to the file on the server.

    Returns None where the file is whole, else what is wrong.
    """
    have = _size(part)
    headers = {"User-Agent": "graphreg", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE) as response:
            start, total = _extent(response)
            if start not in (0, have):
                part.unlink(missing_ok=True)
                return "the server sent another part of the file than it was asked for"
            _append(response, part, start, total, progress)
    except urllib.error.HTTPError as answer:
        answer.close()
        if answer.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
            raise ConnectionError(f"{url}: the server says {answer.code} {answer.reason}") from answer
        if answer.headers.get("Content-Range") == f"bytes */{have}":  # nothing is missing
            return None
        part.unlink()
        return "the server has less of the file than was there"
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as cut:
        return f"the connection failed ({getattr(cut, 'reason', None) or cut})"
    if total is not None and _size(part) != total:
        return f"the server said {total} bytes and sent {_size(part)}"
    return None


def _extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Which byte of the file comes first, and how many the file has, where the server says so."""
    if response.status == http.client.PARTIAL_CONTENT:
        said = re.fullmatch(r"bytes ([0-9]+)-[0-9]+/([0-9]+|\*)", response.headers.get("Content-Range") or "")
        if said is None:
            return -1, None
        return int(said[1]), None if said[2] == "*" else int(said[2])
    length = response.headers.get("Content-Length") or ""
    return 0, int(length) if length.isdecimal() else None


def _append(response: IO[bytes], part: Path, start: int, total: int | None, progress: Progress) -> None:
    done = start
    with open(part, "ab") as file:
        file.truncate(start)
        for chunk in _chunks(response):
            file.write(chunk)
            done += len(chunk)
            progress(done, total or done)


def _chunks(response: IO[bytes]) -> Iterator[bytes]:
    """What comes over a connection, whose errors must not pass for those of the disk."""
    while True:
        try:
            chunk = response.read(CHUNK_BYTES)
        except OSError as cut:
            raise ConnectionError(str(cut)) from cut
        if not chunk:
            return
        yield chunk


# ------------------------------------------------------------------------------------------------------ unpacking


def unpack(path: Path, into: Path) -> None:
    """Unpack a .zip or .tar.gz file below a folder. FileError where it is damaged, or would write anywhere else.

    Only files: neither links nor devices are made.
    """
    members = _zip_members if path.suffix == ".zip" else _tar_members
    most = MAX_EXPANSION * path.stat().st_size + EXPANSION_ALLOWANCE_BYTES
    unfolded = files = 0
    try:
        with closing(members(path)) as found:
            for name, size, file in found:
                target = _inside(path, name, into)
                unfolded, files = unfolded + size, files + 1
                if unfolded > most:
                    raise FileError(path, f"unfolds to over {MAX_EXPANSION} times its size; it was not unpacked")
                target.parent.mkdir(parents=True, exist_ok=True)
                with file, open(target, "wb") as out:
                    shutil.copyfileobj(file, out, CHUNK_BYTES)
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError) as problem:
        raise FileError(path, f"is damaged ({problem}); it was deleted, try again") from problem
    if files == 0:
        raise FileError(path, "holds no files")


def _inside(path: Path, name: str, into: Path) -> Path:
    """Where a file of an archive goes."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
        raise FileError(path, f"holds {name!r}, which does not belong below a folder; it was not unpacked")
    return into.joinpath(*parts)


def _zip_members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, member.file_size, archive.open(member)


def _tar_members(path: Path) -> Members:
    with gzip.open(path) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None:
                    yield member.name, member.size, file
        while stream.read(CHUNK_BYTES):  # to its end, where the checksum is
            pass
