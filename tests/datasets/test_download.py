"""Downloads from servers that behave and that do not, and archives that mean harm. All servers are on this machine."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import socket
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.strategies import random_cloud

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets import download, stanford
from graphreg.datasets.catalogue import DATASETS, Archive, Dataset
from graphreg.datasets.download import fetch, get, unpack

CONTENT = bytes(range(256)) * 4000


@dataclass
class Shop:
    """What a server holds and how it behaves.

    cut       bytes after which each connection breaks, in this order; those after the last are whole
    length    what it says about the length of the file, instead of the truth; -1 for nothing
    shift     how many bytes too far a part begins
    answer    a status to answer everything with
    """

    content: bytes = CONTENT
    ranges: bool = True
    cut: list[int] = field(default_factory=list)
    length: int | None = None
    shift: int = 0
    answer: int | None = None
    asked: list[str] = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def serving(shop: Shop) -> Iterator[Shop]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range") or ""
            shop.asked.append(wanted)
            if shop.answer is not None:
                return self.send_error(shop.answer)
            total = len(shop.content) if shop.length is None else shop.length
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and shop.ranges else 0
            if start and start >= len(shop.content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(shop.content)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.send_response(206 if start else 200)
            if start:
                start += shop.shift
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            if total >= 0:
                self.send_header("Content-Length", str(total - start))
            self.end_headers()
            rest = shop.content[start:]
            self.wfile.write(rest[: shop.cut.pop(0)] if shop.cut else rest)
            return None

        def log_message(self, format: str, *arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    shop.url = f"http://127.0.0.1:{server.server_address[1]}/toy.tar.gz"
    try:
        yield shop
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "PATIENCE", 5.0)


def quiet(done: int, total: int) -> None: ...


# --------------------------------------------------------------------------------------------------------- fetching


def test_a_file_arrives_whole_and_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with serving(Shop()) as shop:
        fetch(shop.url, tmp_path / "file", lambda done, total: told.append((done, total)))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_cut_connection_is_taken_up_again(tmp_path: Path, ranges: bool) -> None:
    with serving(Shop(cut=[100_000, 300_000], ranges=ranges)) as shop:
        fetch(shop.url, tmp_path / "file", quiet)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert shop.asked == ["", "bytes=100000-", "bytes=400000-" if ranges else "bytes=300000-"]


def test_another_call_goes_on_with_what_an_earlier_one_left(tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT[:70_000])
    with serving(Shop()) as shop:
        fetch(shop.url, tmp_path / "file", quiet)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert shop.asked == ["bytes=70000-"]


def test_nothing_is_missing_but_the_name(tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT)
    with serving(Shop()) as shop:
        fetch(shop.url, tmp_path / "file", quiet)
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("shop", [Shop(), Shop(shift=7)], ids=["longer than the file", "answered with another part"])
def test_a_part_that_does_not_fit_is_dropped(tmp_path: Path, shop: Shop) -> None:
    left = CONTENT[:5000] if shop.shift else CONTENT + b"more"
    (tmp_path / "file.part").write_bytes(left)
    with serving(shop):
        fetch(shop.url, tmp_path / "file", quiet)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert shop.asked == [f"bytes={len(left)}-", ""]


def test_a_server_that_cuts_every_time_is_given_up_and_what_came_stays(tmp_path: Path) -> None:
    with (
        serving(Shop(cut=[1000, 0, 0])) as shop,
        pytest.raises(ConnectionError, match=r"said 1024000 bytes and sent 1000; 1000 bytes are there, try again"),
    ):
        fetch(shop.url, tmp_path / "file", quiet)
    assert (tmp_path / "file.part").read_bytes() == CONTENT[:1000]
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_length_that_is_never_reached(tmp_path: Path, ranges: bool) -> None:
    """Where the server can send parts, it tells the true length when asked for more; where not, nobody knows it."""
    with serving(Shop(length=len(CONTENT) + 1000, ranges=ranges)) as shop:
        if ranges:
            fetch(shop.url, tmp_path / "file", quiet)
            assert (tmp_path / "file").read_bytes() == CONTENT
        else:
            with pytest.raises(ConnectionError, match="said 1025000 bytes and sent 1024000"):
                fetch(shop.url, tmp_path / "file", quiet)
            assert not (tmp_path / "file").exists()


def test_no_length_at_all(tmp_path: Path) -> None:
    with serving(Shop(length=-1)) as shop:
        fetch(shop.url, tmp_path / "file", quiet)
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("status", [403, 404, 416, 503])
def test_a_server_that_says_no(tmp_path: Path, status: int) -> None:
    with serving(Shop(answer=status)) as shop, pytest.raises(ConnectionError, match=rf"{shop.url}.*says {status} "):
        fetch(shop.url, tmp_path / "file", quiet)
    assert not list(tmp_path.iterdir())


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
        with pytest.raises(ConnectionError, match=r"the connection failed .*; 0 bytes are there"):
            fetch(url, tmp_path / "file", quiet)


def test_a_server_that_falls_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/file"
        with pytest.raises(ConnectionError, match="timed out"):
            fetch(url, tmp_path / "file", quiet)


# -------------------------------------------------------------------------------------------------------- unpacking


def tar_gz(files: dict[str, bytes], *links: tarfile.TarInfo) -> bytes:
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
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


FILES = {"toy/a.txt": b"one", "toy/deep/b.bin": CONTENT}
PACKED = {"toy.tar.gz": tar_gz(FILES), "toy.zip": zipped(FILES)}


def unpacked(tmp_path: Path, name: str, content: bytes) -> dict[str, bytes]:
    (tmp_path / name).write_bytes(content)
    into = tmp_path / "in" / "here"
    into.mkdir(parents=True)
    unpack(tmp_path / name, into)
    return {path.relative_to(into).as_posix(): path.read_bytes() for path in into.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", PACKED)
def test_files_come_out_as_they_went_in(tmp_path: Path, name: str) -> None:
    assert unpacked(tmp_path, name, PACKED[name]) == FILES


@pytest.mark.parametrize("pack", [tar_gz, zipped])
@pytest.mark.parametrize("name", ["../out.txt", "toy/../../out.txt", "/out.txt", "..\\out.txt", "C:\\out.txt", "C:/o"])
def test_what_would_climb_out_is_refused(tmp_path: Path, pack: object, name: str) -> None:
    content = pack({"toy/a.txt": b"one", name: b"harm"})
    with pytest.raises(FileError, match=r"toy\.\w+.*: holds .*, which does not belong below a folder"):
        unpacked(tmp_path, "toy.zip" if pack is zipped else "toy.tar.gz", content)
    assert not list(tmp_path.rglob("*out.txt"))


def test_links_are_not_made_and_not_followed(tmp_path: Path) -> None:
    link = tarfile.TarInfo("toy")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "elsewhere")
    hard = tarfile.TarInfo("hard")
    hard.type, hard.linkname = tarfile.LNKTYPE, "../../toy.tar.gz"
    (tmp_path / "elsewhere").mkdir()
    assert unpacked(tmp_path, "toy.tar.gz", tar_gz({"toy/a.txt": b"one"}, link, hard)) == {"toy/a.txt": b"one"}
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_cut_archives_are_damaged(tmp_path: Path, name: str, share: float) -> None:
    content = PACKED[name]
    with pytest.raises(FileError, match="is damaged"):
        unpacked(tmp_path, name, content[: int(share * len(content))])


def test_changed_archives_are_damaged(tmp_path: Path) -> None:
    """A changed bit shows in the checksum at the end, which must be read though the last file comes before it."""
    raw = bytearray(gzip.decompress(PACKED["toy.tar.gz"]))
    packed = bytearray(gzip.compress(bytes(raw), compresslevel=0))
    packed[packed.index(b"one")] ^= 1
    with pytest.raises(FileError, match="is damaged .*CRC"):
        unpacked(tmp_path, "toy.tar.gz", bytes(packed))


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_bombs_are_refused(tmp_path: Path, pack: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "EXPANSION_ALLOWANCE_BYTES", 1000)
    with pytest.raises(FileError, match="unfolds to over 100 times its size"):
        unpacked(tmp_path, "toy.zip" if pack is zipped else "toy.tar.gz", pack({"zeros": bytes(1_000_000)}))


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_archives_without_files_are_refused(tmp_path: Path, pack: object) -> None:
    with pytest.raises(FileError, match="holds no files"):
        unpacked(tmp_path, "toy.zip" if pack is zipped else "toy.tar.gz", pack({}))


# ------------------------------------------------------------------------------------------------- a whole data set


def toy_archive(tmp_path: Path) -> bytes:
    graphreg.write(tmp_path / "a.ply", random_cloud("surface", 30, 0))
    scan = (tmp_path / "a.ply").read_bytes()
    (tmp_path / "a.ply").unlink()
    return tar_gz({"toy/a.ply": scan, "toy/toy.conf": b"bmesh a.ply 0 0 0 0 0 0 1\n"})


def toy(shop: Shop, checksum: str | None = None) -> Dataset:
    archive = Archive(shop.url, len(shop.content), checksum)
    return replace(DATASETS["stanford_bunny"], name="toy", archives=(archive,), sign="toy/**/*.ply")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_data_set_is_placed_and_loads(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)
    sha256 = hashlib.sha256(content).hexdigest()
    with serving(Shop(content, cut=[100])) as shop:
        dataset = toy(shop, f"sha256:{sha256}")
        assert dataset.found(tmp_path) is None
        target, downloads = get(dataset, tmp_path / "new" / "folder")
    assert target == tmp_path / "new" / "folder" / "toy"
    assert dataset.found(tmp_path / "new" / "folder") == target
    (done,) = downloads
    assert (done.size, done.sha256, done.known) == (len(content), sha256, True)
    assert names(target.parent) == ["toy", "toy.sha256"]
    assert (target.parent / "toy.sha256").read_text() == f"{sha256}  toy.tar.gz\n"
    assert [scan.name for scan in stanford.scans(target)] == ["a"]


def test_a_wrong_checksum_leaves_nothing(tmp_path: Path) -> None:
    for kind in ("sha256", "md5"):
        with (
            serving(Shop(toy_archive(tmp_path))) as shop,
            pytest.raises(FileError, match=f"has the {kind} .* should have 1"),
        ):
            get(toy(shop, f"{kind}:1"), tmp_path)
        assert names(tmp_path) == []


def test_the_first_checksum_holds_where_none_was_published(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)
    with serving(Shop(content)) as shop:
        target, (first,) = get(toy(shop), tmp_path)
        assert not first.known
        target.rename(tmp_path / "moved")
        _, (second,) = get(toy(shop), tmp_path)
        assert second.known
        target.rename(tmp_path / "moved again")
        shop.content = tar_gz({"toy/a.txt": b"something else"})
        with pytest.raises(FileError, match=r"when it was first downloaded; .* or delete .*toy\.sha256"):
            get(toy(shop), tmp_path)
    assert not target.exists()


def test_a_length_that_is_too_small_shows_in_the_archive(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)
    with serving(Shop(content, length=len(content) - 20)) as shop, pytest.raises(FileError, match="is damaged"):
        get(toy(shop), tmp_path)
    assert not (tmp_path / "toy").exists()


def test_an_archive_that_climbs_out_places_nothing(tmp_path: Path) -> None:
    content = tar_gz({"toy/a.txt": b"one", "../../toy/b.txt": b"harm"})
    with serving(Shop(content)) as shop, pytest.raises(FileError, match="does not belong below a folder"):
        get(toy(shop), tmp_path)
    assert names(tmp_path) == []


def test_a_call_that_was_killed_while_unpacking_is_no_obstacle(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)
    (tmp_path / "toy.download" / "unpacked").mkdir(parents=True)
    (tmp_path / "toy.download" / "unpacked" / "half").write_bytes(b"")
    (tmp_path / "toy.download" / "toy.tar.gz").write_bytes(content)
    with serving(Shop(content)) as shop:
        target, _ = get(toy(shop), tmp_path)
    assert shop.asked == []
    assert names(target) == ["toy"]


def test_ctrl_c_keeps_what_came(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)

    @contextlib.contextmanager
    def impatient(name: str) -> Iterator[download.Progress]:
        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        yield stop

    with serving(Shop(content, cut=[100])) as shop:
        with pytest.raises(KeyboardInterrupt):
            get(toy(shop), tmp_path, impatient)
        assert names(tmp_path / "toy.download") == ["toy.tar.gz.part"]
        get(toy(shop), tmp_path)
    assert shop.asked == ["", "bytes=100-"]


def test_nothing_is_overwritten_and_nothing_left_where_nobody_answers(tmp_path: Path) -> None:
    with serving(Shop(answer=404)) as shop:
        with pytest.raises(ConnectionError):
            get(toy(shop), tmp_path)
        assert names(tmp_path) == []
        (tmp_path / "toy").mkdir()
        with pytest.raises(FileError, match="toy: is there already; move it away"):
            get(toy(shop), tmp_path)


def test_what_is_to_be_got_by_hand(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kitti_odometry cannot be downloaded like this; get it from https://"):
        get(DATASETS["kitti_odometry"], tmp_path)


# ---------------------------------------------------------------------------------------------------- the catalogue


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_entries_are_complete(dataset: Dataset) -> None:
    assert dataset.title
    assert dataset.licence
    assert dataset.page.startswith(("http://", "https://"))
    assert dataset.sign.split("/")[0].rstrip("*") == dataset.name[: len(dataset.sign.split("/")[0].rstrip("*"))]
    for archive in dataset.archives:
        assert archive.url.startswith("https://")
        assert archive.name.endswith((".tar.gz", ".zip"))
        kind, _, digits = (archive.checksum or "sha256:" + "0" * 64).partition(":")
        assert len(bytes.fromhex(digits)) == hashlib.new(kind).digest_size


def test_the_page_says_what_the_catalogue_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    for dataset in DATASETS.values():
        assert f"| {dataset.name} | {dataset.title} |" in page
        assert dataset.licence in page
        assert dataset.download_size in page.replace("by hand |", "unknown |")
