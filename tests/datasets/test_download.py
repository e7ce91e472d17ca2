"""Download of a whole data set from a server on this machine."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.fake_server import FakeServer, serving, tar_gz
from tests.support.strategies import random_cloud

import graphreg
from graphreg import FileError, InputError
from graphreg.datasets import http_download, stanford
from graphreg.datasets.catalogue import DATASETS, Archive, Dataset
from graphreg.datasets.download import download_dataset
from graphreg.files.input_file import Progress


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(http_download, "TIMEOUT_SECONDS", 5.0)


def toy_archive(tmp_path: Path) -> bytes:
    graphreg.write(tmp_path / "a.ply", random_cloud("surface", 30, 0))
    scan = (tmp_path / "a.ply").read_bytes()
    (tmp_path / "a.ply").unlink()
    return tar_gz({"toy/a.ply": scan, "toy/toy.conf": b"bmesh a.ply 0 0 0 0 0 0 1\n"})


def toy(server: FakeServer, checksum: str | None = None) -> Dataset:
    archive = Archive(server.url, len(server.content), checksum)
    return replace(DATASETS["stanford_bunny"], name="toy", archives=(archive,), pattern="toy/**/*.ply")


download = functools.partial(download_dataset, unverified=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_downloaded_data_set_is_found_and_loads(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)
    sha256 = hashlib.sha256(content).hexdigest()
    with serving(FakeServer(content, cut=[100])) as server:
        dataset = toy(server, f"sha256:{sha256}")
        assert dataset.locate(tmp_path) is None
        target, downloads = download_dataset(dataset, tmp_path / "new" / "folder")
    assert target == tmp_path / "new" / "folder" / "toy"
    assert dataset.locate(tmp_path / "new" / "folder") == target
    (done,) = downloads
    assert (done.size, done.sha256, done.verified) == (len(content), sha256, True)
    assert names(target.parent) == ["toy", "toy.sha256"]
    assert (target.parent / "toy.sha256").read_text() == f"{sha256}  toy.tar.gz\n"
    assert [scan.name for scan in stanford.scans(target)] == ["a"]


def test_a_wrong_checksum_leaves_nothing(tmp_path: Path) -> None:
    for kind in ("sha256", "md5"):
        with (
            serving(FakeServer(toy_archive(tmp_path))) as server,
            pytest.raises(FileError, match=f"has the {kind} .* should have 1"),
        ):
            download_dataset(toy(server, f"{kind}:1"), tmp_path)
        assert names(tmp_path) == []


def test_nothing_is_asked_for_that_cannot_be_verified(tmp_path: Path) -> None:
    with serving(FakeServer(toy_archive(tmp_path))) as server:
        with pytest.raises(InputError, match=r"no checksum of toy\.tar\.gz is known.* --unverified"):
            download_dataset(toy(server), tmp_path)
        assert server.requests == []
        assert names(tmp_path) == []
        target, _ = download(toy(server), tmp_path)
        target.rename(tmp_path / "moved")
        _, (again,) = download_dataset(toy(server), tmp_path)  # compared with the first
    assert again.verified


def test_the_checksum_of_the_first_download_is_verified_if_none_is_published(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)
    with serving(FakeServer(content)) as server:
        target, (first,) = download(toy(server), tmp_path)
        assert not first.verified
        target.rename(tmp_path / "moved")
        _, (second,) = download(toy(server), tmp_path)
        assert second.verified
        target.rename(tmp_path / "moved again")
        server.content = tar_gz({"toy/a.txt": b"something else"})
        with pytest.raises(FileError, match=r"when it was first downloaded; .* or delete .*toy\.sha256"):
            download(toy(server), tmp_path)
    assert not target.exists()


def test_a_stated_length_that_is_too_small_is_a_damaged_archive(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)
    size = len(content)
    with (
        serving(FakeServer(content, length=size - 20)) as server,
        pytest.raises(FileError, match=f"has {size - 20} bytes, but should have {size}"),
    ):
        download(toy(server), tmp_path)
    assert not (tmp_path / "toy").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"toy/a.ply": b"<html>"}, r"a\.ply: does not begin with the line 'ply'"),
        ({"toy/a.txt": b"text"}, "the archives contain no such files"),
    ],
)
def test_contents_that_are_no_scans_are_refused(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    with serving(FakeServer(tar_gz(files))) as server, pytest.raises(FileError, match=message):
        download(toy(server), tmp_path)
    assert not (tmp_path / "toy").exists()


def test_an_archive_larger_than_the_catalogue_says_is_not_downloaded(tmp_path: Path) -> None:
    with serving(FakeServer(bytes(100_000))) as server:
        dataset = replace(toy(server), archives=(Archive(server.url, 1000),))
        with pytest.raises(FileError, match="the server sends more than 1100 bytes"):
            download(dataset, tmp_path)
    assert names(tmp_path) == []


def test_an_archive_with_a_path_outside_its_folder_leaves_nothing(tmp_path: Path) -> None:
    content = tar_gz({"toy/a.txt": b"one", "../../toy/b.txt": b"harm"})
    with serving(FakeServer(content)) as server, pytest.raises(FileError, match="a path outside the folder"):
        download(toy(server), tmp_path)
    assert names(tmp_path) == []


def test_a_call_that_was_killed_while_unpacking_is_repeated(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)
    (tmp_path / "toy.download" / "unpacked").mkdir(parents=True)
    (tmp_path / "toy.download" / "unpacked" / "half").write_bytes(b"")
    (tmp_path / "toy.download" / "toy.tar.gz").write_bytes(content)
    with serving(FakeServer(content)) as server:
        target, _ = download(toy(server), tmp_path)
    assert server.requests == []
    assert names(target) == ["toy"]


def test_ctrl_c_keeps_the_received_bytes(tmp_path: Path) -> None:
    content = toy_archive(tmp_path)

    @contextlib.contextmanager
    def interrupted(name: str) -> Iterator[Progress]:
        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        yield stop

    with serving(FakeServer(content, cut=[100])) as server:
        with pytest.raises(KeyboardInterrupt):
            download(toy(server), tmp_path, interrupted)
        assert names(tmp_path / "toy.download") == ["toy.tar.gz.part"]
        download(toy(server), tmp_path)
    assert server.requests == ["", "bytes=100-"]


def test_nothing_is_overwritten_and_a_failed_download_leaves_nothing(tmp_path: Path) -> None:
    with serving(FakeServer(status=404)) as server:
        with pytest.raises(ConnectionError):
            download(toy(server), tmp_path)
        assert names(tmp_path) == []
        (tmp_path / "toy").mkdir()
        with pytest.raises(FileError, match="toy: exists already; move it away"):
            download(toy(server), tmp_path)


def test_a_data_set_without_a_direct_download_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kitti_odometry has no direct download; get it from https://"):
        download_dataset(DATASETS["kitti_odometry"], tmp_path)
