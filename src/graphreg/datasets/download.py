"""Download of a public data set: fetch its archives, verify their checksums, unpack them, all or nothing."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from graphreg.datasets.archives import unpack
from graphreg.datasets.catalogue import Archive, Dataset
from graphreg.datasets.http_download import fetch
from graphreg.errors import FileError, InputError
from graphreg.files import read_cloud
from graphreg.files.input_file import CHUNK_BYTES, Progress
from graphreg.files.output_file import atomic_write

# Chosen: an archive may be this many times as large as the catalogue says, in case its owners have added to it.
MAX_GROWTH = 1.1

ProgressOfFile = Callable[[str], AbstractContextManager[Progress]]


@dataclass(frozen=True)
class Download:
    """A downloaded archive.

    Parameters
    ----------
    url : str
    size : int
        In bytes.
    sha256 : str
    verified : bool
        Whether its checksum was compared with one published, or with that of an earlier download.
    """

    url: str
    size: int
    sha256: str
    verified: bool


@contextmanager
def no_progress(name: str) -> Iterator[Progress]:
    """Progress that is not shown."""
    yield lambda done, total: None


def download_dataset(
    dataset: Dataset, folder: Path, progress: ProgressOfFile = no_progress, *, unverified: bool = False
) -> tuple[Path, list[Download]]:
    """Download a data set into a folder of its name below `folder`, which appears only when it is complete.

    Archives are kept in a folder beside it until then, so that another call resumes with them. The SHA-256 of each
    archive is written beside it too (as `sha256sum` does), and verified in later downloads of archives that have no
    published checksum. Of those the size must be that of the catalogue, and every scan must be readable.

    Parameters
    ----------
    dataset : Dataset
    folder : Path
        Of all data sets.
    progress : callable, optional
        Called with the name of each file; returns a context manager of a function that is called with the number of
        bytes received, and the total.
    unverified : bool, default False
        Whether to download archives of which no checksum is known, neither a published one nor that of an earlier
        download.

    Returns
    -------
    path : Path
        The folder of the data set.
    downloads : list of Download

    Raises
    ------
    InputError
        If the data set cannot be downloaded without registration, or not be verified and `unverified` is False.
    FileError
        If it is there already, or an archive is damaged or has another checksum.
    ConnectionError
        If the server does not send the file.
    """
    if not dataset.archives:
        raise InputError(f"dataset: {dataset.name} has no direct download; get it from {dataset.page}")
    target = folder / dataset.name
    if target.exists():
        raise FileError(target, "exists already; move it away to download it again")
    work, record = folder / f"{dataset.name}.download", folder / f"{dataset.name}.sha256"
    unpacked = work / "unpacked"
    known = _read_record(record)
    unknown = [archive.name for archive in dataset.archives if archive.checksum is None and archive.name not in known]
    if unknown and not unverified:
        raise InputError(
            f"dataset: no checksum of {', '.join(unknown)} is known, so that the download cannot be verified; to take "
            "what the server sends, pass unverified=True (on the command line --unverified)"
        )
    work.mkdir(parents=True, exist_ok=True)
    try:
        paths = [_fetch(archive, work, progress) for archive in dataset.archives]
        if unpacked.exists():  # left by a call that was killed
            shutil.rmtree(unpacked)
        unpacked.mkdir()
        pairs = zip(dataset.archives, paths, strict=True)
        downloads = [
            _verify_and_unpack(archive, path, unpacked, known.get(archive.name), record) for archive, path in pairs
        ]
        if not any(unpacked.glob(dataset.pattern.partition("/")[2])):
            for path in paths:
                path.unlink()
            raise FileError(work, f"expected {dataset.layout}, but the archives contain no such files")
        with atomic_write(record) as output:
            lines = [f"{done.sha256}  {path.name}\n" for done, path in zip(downloads, paths, strict=True)]
            output.file.write("".join(lines).encode())
        os.rename(unpacked, target)
    except BaseException:
        shutil.rmtree(unpacked, ignore_errors=True)
        with suppress(OSError):  # it stays if it contains a download
            work.rmdir()
        raise
    shutil.rmtree(work)
    return target, downloads


def _fetch(archive: Archive, work: Path, progress: ProgressOfFile) -> Path:
    path = work / archive.name
    if not path.exists():
        with progress(archive.name) as show:
            fetch(archive.url, path, show, int(MAX_GROWTH * archive.size))
    return path


def _verify_and_unpack(archive: Archive, path: Path, into: Path, earlier: str | None, record: Path) -> Download:
    try:
        download = _verify(archive, path, earlier, record)
        unpack(path, into)
        if archive.checksum is None:
            for scan in sorted(into.rglob("*.ply")):
                read_cloud(scan)
    except FileError:
        path.unlink()
        raise
    return download


def _verify(archive: Archive, path: Path, earlier: str | None, record: Path) -> Download:
    sha256 = checksum(path, "sha256")
    if archive.checksum is not None:
        kind, _, expected = archive.checksum.partition(":")
        found = checksum(path, kind)
        if found != expected:
            raise FileError(path, f"has the {kind} {found}, but should have {expected}; it was deleted, try again")
    elif path.stat().st_size != archive.size:
        size = path.stat().st_size
        raise FileError(path, f"has {size} bytes, but should have {archive.size}; it was deleted, try again")
    elif earlier is not None and sha256 != earlier:
        raise FileError(
            path,
            f"has the sha256 {sha256}, but had {earlier} when it was first downloaded; it was deleted, try again, "
            f"or delete {record} if its owners have changed it",
        )
    return Download(archive.url, path.stat().st_size, sha256, archive.checksum is not None or earlier is not None)


def _read_record(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    lines = re.findall("^([0-9a-f]{64})  (.+)$", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return {name: sha256 for sha256, name in lines}


def checksum(path: Path, kind: str) -> str:
    """The checksum of a file in hexadecimal digits; `kind` is a name that hashlib knows."""
    digest = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
