"""Unpacking of archives: complete ones, damaged ones and malicious ones."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.support.fake_server import CONTENT, tar_gz, zipped

from graphreg import FileError
from graphreg.datasets import archives
from graphreg.datasets.archives import unpack

FILES = {"toy/a.txt": b"one", "toy/deep/b.bin": CONTENT}
PACKED = {"toy.tar.gz": tar_gz(FILES), "toy.zip": zipped(FILES)}


def unpacked(tmp_path: Path, name: str, content: bytes) -> dict[str, bytes]:
    (tmp_path / name).write_bytes(content)
    into = tmp_path / "in" / "here"
    into.mkdir(parents=True)
    unpack(tmp_path / name, into)
    return {path.relative_to(into).as_posix(): path.read_bytes() for path in into.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", PACKED)
def test_files_are_unpacked_unchanged(tmp_path: Path, name: str) -> None:
    assert unpacked(tmp_path, name, PACKED[name]) == FILES


@pytest.mark.parametrize("pack", [tar_gz, zipped])
@pytest.mark.parametrize("name", ["../out.txt", "toy/../../out.txt", "/out.txt", "..\\out.txt", "C:\\out.txt", "C:/o"])
def test_paths_outside_the_folder_are_refused(tmp_path: Path, pack: object, name: str) -> None:
    content = pack({"toy/a.txt": b"one", name: b"harm"})
    with pytest.raises(FileError, match=r"toy\.\w+.*: contains .*, a path outside the folder"):
        unpacked(tmp_path, "toy.zip" if pack is zipped else "toy.tar.gz", content)
    assert not list(tmp_path.rglob("*out.txt"))


def test_links_are_neither_made_nor_followed(tmp_path: Path) -> None:
    link = tarfile.TarInfo("toy")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "elsewhere")
    hard = tarfile.TarInfo("hard")
    hard.type, hard.linkname = tarfile.LNKTYPE, "../../toy.tar.gz"
    (tmp_path / "elsewhere").mkdir()
    assert unpacked(tmp_path, "toy.tar.gz", tar_gz({"toy/a.txt": b"one"}, link, hard)) == {"toy/a.txt": b"one"}
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated_archives_are_damaged(tmp_path: Path, name: str, share: float) -> None:
    content = PACKED[name]
    with pytest.raises(FileError, match="is damaged"):
        unpacked(tmp_path, name, content[: int(share * len(content))])


def test_changed_archives_are_damaged(tmp_path: Path) -> None:
    """The checksum is at the end of the stream, which must be read although the last file comes before it."""
    raw = bytearray(gzip.decompress(PACKED["toy.tar.gz"]))
    packed = bytearray(gzip.compress(bytes(raw), compresslevel=0))
    packed[packed.index(b"one")] ^= 1
    with pytest.raises(FileError, match="is damaged .*CRC"):
        unpacked(tmp_path, "toy.tar.gz", bytes(packed))


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_decompression_bombs_are_refused(tmp_path: Path, pack: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "EXPANSION_ALLOWANCE_BYTES", 1000)
    with pytest.raises(FileError, match="expands to more than 100 times its size"):
        unpacked(tmp_path, "toy.zip" if pack is zipped else "toy.tar.gz", pack({"zeros": bytes(1_000_000)}))


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_too_many_files_are_refused(tmp_path: Path, pack: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "EXPANSION_ALLOWANCE_BYTES", 1000)
    monkeypatch.setattr(archives, "MAX_EXPANSION", 5)
    with pytest.raises(FileError, match="expands to more than 5 times its size"):
        unpacked(tmp_path, "toy.zip" if pack is zipped else "toy.tar.gz", pack({f"{i}": b"" for i in range(1000)}))


def test_a_header_of_any_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "EXPANSION_ALLOWANCE_BYTES", 1000)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a")
        member.pax_headers = {"comment": "x" * 10_000_000}
        archive.addfile(member, io.BytesIO())
    with pytest.raises(FileError, match="expands to more than 100 times its size"):
        unpacked(tmp_path, "toy.tar.gz", stream.getvalue())


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_may_ask_for_any_memory_are_refused(tmp_path: Path, method: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("a.txt", b"one")
    with pytest.raises(FileError, match="'a.txt' is compressed by an unusual method"):
        unpacked(tmp_path, "toy.zip", stream.getvalue())


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_archives_without_files_are_refused(tmp_path: Path, pack: object) -> None:
    with pytest.raises(FileError, match="contains no files"):
        unpacked(tmp_path, "toy.zip" if pack is zipped else "toy.tar.gz", pack({}))
