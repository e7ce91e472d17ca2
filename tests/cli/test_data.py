"""graphreg data: the list of data sets, which of them are found, and the download."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.support.commands import run_command
from tests.support.fake_server import tar_gz

from graphreg.datasets.catalogue import DATASETS, Archive

TOY = tar_gz({"toy/a.txt": b"one"})
SHA256 = hashlib.sha256(TOY).hexdigest()


def command(
    *arguments: object, cwd: Path, url: str = "", checksum: str | None = f"sha256:{SHA256}", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `graphreg data` with one more data set, whose server is on this machine."""
    archives = (Archive(url, len(TOY), checksum),)
    toy = replace(DATASETS["stanford_bunny"], name="toy", archives=archives, pattern="toy/**/*.txt")
    with patch.dict(DATASETS, toy=toy), patch.dict(os.environ, {"no_proxy": "127.0.0.1"} | environment):
        if "GRAPHREG_DATA" not in environment:
            os.environ.pop("GRAPHREG_DATA", None)
        return run_command("data", *arguments, cwd=cwd)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A server with toy.tar.gz."""
    served = tmp_path / "served"
    served.mkdir()
    (served / "toy.tar.gz").write_bytes(TOY)

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/toy.tar.gz"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_list_has_every_data_set_and_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "kitti_03").mkdir()
    (tmp_path / "kitti_03" / "000000.bin").write_bytes(b"")
    done = command(cwd=tmp_path, GRAPHREG_DATA=str(tmp_path))
    assert done.returncode == 0, done.stderr
    for name, dataset in DATASETS.items():
        assert f"{name}: {dataset.title}\n    licence  {dataset.licence}\n" in done.stdout
    assert f"found    {tmp_path / 'kitti_03'}\n" in done.stdout
    assert done.stdout.count("found    no\n") == len(DATASETS)  # all but one of these, and the toy


def test_the_list_as_json(tmp_path: Path) -> None:
    done = command("--json", cwd=tmp_path)
    output = json.loads(done.stdout)
    assert output["folder"] is None
    rows = {row["name"]: row for row in output["datasets"]}
    assert rows.keys() == DATASETS.keys() | {"toy"}
    assert rows["stanford_bunny"]["download"]
    assert not rows["kitti_odometry"]["download"]
    assert {row["found"] for row in rows.values()} == {None}


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["get", "toy", "--folder", "scans"], {}),
        (["--folder", "scans", "get", "toy"], {"GRAPHREG_DATA": "elsewhere"}),
        (["get", "toy"], {"GRAPHREG_DATA": "scans"}),
    ],
)
def test_downloading_a_data_set(tmp_path: Path, url: str, arguments: list[str], environment: dict[str, str]) -> None:
    done = command(*arguments, cwd=tmp_path, url=url, **environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "scans" / "toy" / "toy" / "a.txt").read_bytes() == b"one"
    assert "checksum verified" in done.stdout
    assert DATASETS["stanford_bunny"].licence in done.stdout
    again = command(*arguments, cwd=tmp_path, url=url, **environment)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_downloading_a_data_set_as_json(tmp_path: Path, url: str) -> None:
    done = command("get", "toy", "--folder", ".", "--json", cwd=tmp_path, url=url)
    output = json.loads(done.stdout)
    assert (output["name"], output["folder"]) == ("toy", "toy")
    (download,) = output["downloads"]
    assert (download["url"], download["size"]) == (url, (tmp_path / "served" / "toy.tar.gz").stat().st_size)
    assert f"{download['sha256']}  toy.tar.gz\n" == (tmp_path / "toy.sha256").read_text()


def test_an_archive_without_a_published_checksum(tmp_path: Path, url: str) -> None:
    refused = command("get", "toy", "--folder", "scans", cwd=tmp_path, url=url, checksum=None)
    assert refused.returncode == 2
    assert "no checksum of toy.tar.gz is known" in refused.stderr
    assert not (tmp_path / "scans").exists()
    done = command("get", "toy", "--folder", "scans", "--unverified", cwd=tmp_path, url=url, checksum=None)
    assert done.returncode == 0, done.stderr
    assert f"checksum not published; written to {Path('scans') / 'toy'}.sha256" in done.stdout
    assert (tmp_path / "scans" / "toy.sha256").read_text() == f"{SHA256}  toy.tar.gz\n"


def test_a_data_set_without_a_direct_download(tmp_path: Path) -> None:
    done = command("get", "kitti_odometry", "--folder", "scans", cwd=tmp_path)
    assert done.returncode == 1
    assert "download it by hand from https://www.cvlibs.net" in done.stdout
    assert f"Files of {Path('scans') / 'kitti_odometry'}: dataset/sequences/03/velodyne/" in done.stdout
    output = json.loads(command("get", "uwa", "--json", cwd=tmp_path).stdout)
    assert output.keys() == {"name", "folder", "page", "layout"}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("get", "unicorn"), "NAME: expected one of stanford_bunny, "),
        (("get", "toy"), "--folder: expected a folder for the data; pass it or set GRAPHREG_DATA"),
        (("get", "toy", "--folder", "scans"), "http://127.0.0.1:1/toy.tar.gz: the connection failed"),
        (("get", "toy", "--folder", "file"), "file"),
        (("--folder", "nowhere"), "--folder: nowhere is not a folder"),
        (("put", "toy"), "put"),
    ],
)
def test_an_error_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    done = command(*arguments, cwd=tmp_path, url="http://127.0.0.1:1/toy.tar.gz")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_help_imports_neither_downloads_nor_scipy(tmp_path: Path) -> None:
    program = "import sys; from graphreg.cli.data import data; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"scipy", "urllib.request", "graphreg.datasets.catalogue"} & set(done.stdout.split())
    assert "get" in command("--help", cwd=tmp_path).stdout
    assert command("get", "--help", cwd=tmp_path).returncode == 0
