"""Selection of the format by the suffix, and the behaviour that all formats share."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphreg import FileError
from graphreg.files import formats, read, write

SUFFIXES = {".ply", ".pcd", ".las", ".laz", ".e57", ".xyz", ".txt", ".asc", ".pts", ".csv", ".npy", ".npz"}
SUFFIXES |= {".obj", ".stl", ".off", ".bin"}


def test_the_table_of_formats() -> None:
    known = formats()
    assert set(known) == SUFFIXES
    assert all(entry.reads and entry.description for entry in known.values())
    assert [suffix for suffix, entry in known.items() if not entry.writes] == [".stl"]
    assert {entry.extra for entry in known.values()} == {None, "las", "e57"}


@pytest.mark.parametrize("name", ["a.doc", "a", ".ply", "a.ply.gz"])
def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"1 2 3\n")
    for call in (lambda: read(tmp_path / name), lambda: write(tmp_path / name, np.eye(3))):
        with pytest.raises(FileError, match=r"\.ply \.pcd \.las"):
            call()


@pytest.mark.parametrize(
    ("name", "message"), [("a.STEP", "export a mesh, as .stl"), ("a.fls", "export points, as .e57")]
)
def test_what_other_programs_can_export_is_named(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize("suffix", sorted(SUFFIXES - {".ply", ".npz", ".laz"}))
@pytest.mark.parametrize(
    ("of", "beginning"),
    [
        (".ply", b"ply\nformat binary_little_endian 1.0\n\xff"),
        (".stl", b"solid part\n facet normal 0 0 1\n"),
        (".las or .laz", b"LASF" + bytes(100)),
    ],
)
def test_a_file_with_the_suffix_of_another_format_is_named_as_such(
    tmp_path: Path, suffix: str, of: str, beginning: bytes
) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(beginning)
    with pytest.raises(FileError) as raised:
        read(path)
    assert (f"begins like a {of} file: if it is one, rename it" in str(raised.value)) == (suffix not in of)


def test_formats_that_are_read_only_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="points cannot be written to .stl files; meshes can"):
        write(tmp_path / "a.stl", np.eye(3))


@pytest.mark.parametrize("suffix", list(formats()))
def test_missing_files_folders_and_empty_files_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with pytest.raises(FileNotFoundError, match=path.name):
        read(path)
    path.write_bytes(b"")
    with pytest.raises(FileError, match="is empty"):
        read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match="is a folder"):
        read(path)


@pytest.mark.parametrize("suffix", list(formats()))
@pytest.mark.parametrize("raised", [KeyboardInterrupt, ZeroDivisionError])
def test_what_progress_raises_is_passed_on(tmp_path: Path, suffix: str, raised: type[BaseException]) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix == ".stl":
        path.write_bytes(bytes(80) + struct.pack("<I12fH", 1, *range(12), 0))
    else:
        write(path, np.eye(3))

    def stop(done: int, total: int) -> None:
        assert 0 < done <= total
        raise raised

    with pytest.raises(raised):
        read(path, progress=stop)


@pytest.mark.slow
def test_progress_is_reported_every_few_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    write(path, np.random.default_rng(0).normal(size=(1_000_000, 3)))
    done: list[int] = []
    assert len(read(path, progress=lambda now, total: done.append(now))) == 1_000_000
    size = path.stat().st_size
    assert done[-1] == size
    assert max(np.diff([0, *done])) <= 5_000_000


@pytest.mark.slow
def test_libraries_are_imported_when_they_are_needed() -> None:
    code = "import sys, graphreg.files; print([m for m in ('laspy', 'pye57', 'zipfile') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_callers_array_is_not_changed(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(10, 3))
    before = points.copy()
    for suffix, known in formats().items():
        if known.writes:
            write(tmp_path / f"a{suffix}", points)
    np.testing.assert_array_equal(points, before)
