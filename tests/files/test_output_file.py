"""Atomic writing: a file is complete or it is the old one, whatever happens while it is written."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg import FileError, InputError
from graphreg.files import formats, read, write
from graphreg.files.output_file import OutputFile

POINTS = np.random.default_rng(0).normal(size=(300_000, 3))
SUFFIXES = [suffix for suffix, known in formats().items() if known.writes]


def old_file(tmp_path: Path, suffix: str) -> Path:
    path = tmp_path / f"old{suffix}"
    path.write_bytes(b"the old one")
    return path


def check_unchanged(path: Path) -> None:
    assert path.read_bytes() == b"the old one"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError, MemoryError])
def test_an_exception_leaves_the_old_file(tmp_path: Path, suffix: str, raised: type[BaseException]) -> None:
    path = old_file(tmp_path, suffix)

    def stop(done: int, total: int) -> None:
        raise raised

    with pytest.raises(raised):
        write(path, POINTS[:1000], progress=stop)
    check_unchanged(path)


FULL_DISK = """
import resource, signal, sys
import numpy as np
from graphreg.files import write

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for path in sys.argv[1:]:
    try:
        write(path, np.random.default_rng(0).normal(size=(50_000, 3)))
    except OSError as problem:
        assert path in str(problem), problem
        assert problem.filename == path
    else:
        sys.exit(f"{path} was written")
"""


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    paths = []
    for suffix in SUFFIXES:
        folder = tmp_path / suffix[1:]
        folder.mkdir()
        paths.append(old_file(folder, suffix))
    child = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    for path in paths:
        check_unchanged(path)


def test_a_disk_that_is_full_at_fsync_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    path = old_file(tmp_path, ".ply")
    with pytest.raises(OSError, match="No space left on device; the file was not written") as caught:
        write(path, POINTS[:10])
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    check_unchanged(path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_ctrl_c_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old_file(tmp_path, ".xyz")
    chunks = OutputFile.chunks

    def interrupted(self: OutputFile, *arguments: Any) -> Any:
        for i, rows in enumerate(chunks(self, *arguments)):
            if i == 1:
                os.kill(os.getpid(), signal.SIGINT)
            yield rows

    monkeypatch.setattr(OutputFile, "chunks", interrupted)
    # A shell that starts the tests in the background has them ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            write(path, POINTS)
    finally:
        signal.signal(signal.SIGINT, before)
    check_unchanged(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_file_name_is_accepted(tmp_path: Path, suffix: str) -> None:
    for name in ("Füße und Köpfe", "点群", "a b'c", "scan.2024.final", "x" * 240):
        path = tmp_path / f"{name}{suffix}"
        write(str(path), POINTS[:5])
        np.testing.assert_allclose(read(str(path)), POINTS[:5], atol=1e-6)
        assert list(tmp_path.iterdir()) == [path]
        path.unlink()


def test_suffixes_in_capitals_are_accepted(tmp_path: Path) -> None:
    write(tmp_path / "A.PLY", POINTS[:5])
    np.testing.assert_array_equal(read(tmp_path / "A.PLY"), POINTS[:5])


def test_read_only_folders_and_files_are_refused(tmp_path: Path) -> None:
    path = old_file(tmp_path, ".ply")
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(PermissionError, match=r"old\.ply"):
        write(path, POINTS[:5])
    path.chmod(0o600)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match=r"old\.ply"):
            write(path, POINTS[:5])
    finally:
        tmp_path.chmod(0o700)
    check_unchanged(path)


@pytest.mark.parametrize("call", ["open", "replace"])
def test_errors_of_the_system_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "something else")

    if call == "open":
        monkeypatch.setattr("builtins.open", refuse)
    else:
        monkeypatch.setattr(os, "replace", refuse)
    path = old_file(tmp_path, ".csv") if call == "replace" else tmp_path / "old.csv"
    with pytest.raises(PermissionError, match=r"old\.csv"):
        write(path, POINTS[:5])
    monkeypatch.undo()
    if call == "replace":
        check_unchanged(path)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.a\.ply"):
        write(tmp_path / "nowhere" / "a.ply", POINTS[:5])


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ply").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        write(tmp_path / "a.ply", POINTS[:5])


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_links_are_followed_modes_kept_and_pipes_refused(tmp_path: Path) -> None:
    real = tmp_path / "real.ply"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link = tmp_path / "link.ply"
    link.symlink_to(real)
    write(link, POINTS[:5])
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    np.testing.assert_array_equal(read(real), POINTS[:5])
    pipe = tmp_path / "pipe.ply"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match="not a regular file"):
        write(pipe, POINTS[:5])
    with pytest.raises(FileError, match="not a regular file"):
        read(pipe)


@pytest.mark.parametrize("points", [np.empty((0, 3)), [[np.nan, 0, 0]], np.ones((3, 2)), "points", None])
def test_no_file_is_written_of_no_points(tmp_path: Path, points: Any) -> None:
    path = old_file(tmp_path, ".ply")
    with pytest.raises(InputError):
        write(path, points)
    check_unchanged(path)
