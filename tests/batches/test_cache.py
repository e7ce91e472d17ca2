"""The cache: its clouds are those of `prepare`, no file is read twice without need, and damage is repaired."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.support.batch_jobs import write_scans
from tests.support.meshes import box

import graphreg
from graphreg.batches import cache
from graphreg.engine.preprocessing import PreprocessedCloud

POINTS = 500


@pytest.fixture
def scan(tmp_path: Path) -> str:
    return str(tmp_path / write_scans(tmp_path, 1)[0])


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise AssertionError(f"{path} is read again")

    monkeypatch.setattr(cache, "read_cloud", refuse)


def same(a: PreprocessedCloud, b: PreprocessedCloud) -> bool:
    """Whether two clouds are the same but for the points that only `prepare` keeps."""
    names = set(cache.STORED_FIELDS) - {"weights", "whole"}
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def entry_in(folder: Path) -> Path:
    (found,) = folder.rglob("*.npz")
    return found


def test_cached_clouds_are_those_of_prepare(tmp_path: Path, scan: str) -> None:
    content, problem = cache.cache_file(tmp_path / "cache", scan, POINTS)
    assert problem is None
    loaded = cache.cached_cloud(tmp_path / "cache", scan, content, POINTS)
    made = graphreg.prepare(graphreg.read(scan), points=POINTS)
    assert same(loaded, made)
    assert loaded.weights is made.weights is None
    found, expected = (graphreg.register(cloud, made, threads=1).transformation for cloud in (loaded, made))
    assert np.array_equal(found, expected)


def test_a_cached_mesh_is_still_a_mesh(tmp_path: Path) -> None:
    path = str(tmp_path / "box.stl")
    graphreg.write(path, box((3, 2, 1)))
    content, _ = cache.cache_file(tmp_path / "cache", path, POINTS)
    for _ in range(2):  # computed, then loaded
        mesh = cache.cached_cloud(tmp_path / "cache", path, content, POINTS).mesh
        assert mesh is not None
        assert mesh.area == pytest.approx(22.0)


def test_an_unchanged_file_is_neither_read_nor_hashed_again(
    tmp_path: Path, scan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cache.cache_file(tmp_path / "cache", scan, POINTS)
    forbid_reading(monkeypatch)
    assert cache.known_hash(tmp_path / "cache", scan) == first[0]
    monkeypatch.setattr(cache, "file_hash", None)
    assert cache.cache_file(tmp_path / "cache", scan, POINTS) == first


def test_equal_files_are_preprocessed_once(tmp_path: Path, scan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.npy"
    other.write_bytes(Path(scan).read_bytes())
    first = cache.cache_file(tmp_path / "cache", scan, POINTS)
    forbid_reading(monkeypatch)
    assert cache.cache_file(tmp_path / "cache", str(other), POINTS) == first


def test_a_changed_file_has_another_hash(tmp_path: Path, scan: str) -> None:
    before, _ = cache.cache_file(tmp_path / "cache", scan, POINTS)
    np.save(scan, graphreg.read(scan)[::-1])
    # The clock of a file system may be too coarse to notice the change.
    os.utime(scan, ns=(0, 1))
    assert cache.known_hash(tmp_path / "cache", scan) is None
    entry_in(tmp_path / "cache").unlink()
    with pytest.raises(graphreg.InputError, match="changed while the batch ran"):
        cache.cached_cloud(tmp_path / "cache", scan, before, POINTS)
    assert cache.cache_file(tmp_path / "cache", scan, POINTS)[0] != before


def test_truncated_damaged_or_missing_entries_are_computed_again(tmp_path: Path, scan: str) -> None:
    folder = tmp_path / "cache"
    content, _ = cache.cache_file(folder, scan, POINTS)
    entry = entry_in(folder)
    complete = entry.read_bytes()
    made = cache.cached_cloud(folder, scan, content, POINTS)
    rng = np.random.default_rng(0)
    damaged = [complete[:length] for length in (0, 1, 100, *range(1000, len(complete), len(complete) // 10))]
    for offset in rng.integers(0, len(complete), 20):
        damaged.append(complete[:offset] + bytes([complete[offset] ^ 0xFF]) + complete[offset + 1 :])
    damaged.append(b"something else")
    for damaged_entry in damaged:
        entry.write_bytes(damaged_entry)
        assert same(cache.cached_cloud(folder, scan, content, POINTS), made)
    entry.unlink()
    assert same(cache.cached_cloud(folder, scan, content, POINTS), made)
    assert same(cache.cached_cloud(folder, scan, content, POINTS), made)


def test_a_damaged_hash_entry_is_ignored(tmp_path: Path, scan: str) -> None:
    folder = tmp_path / "cache"
    content, _ = cache.cache_file(folder, scan, POINTS)
    (entry,) = (folder / "contents").iterdir()
    for text in ("", "{", "[]", "3", '{"content": "x"}'):
        entry.write_text(text)
        assert cache.known_hash(folder, scan) is None
        assert cache.cache_file(folder, scan, POINTS) == (content, None)


def test_files_that_are_no_clouds_are_reported_with_their_hash(tmp_path: Path) -> None:
    path = tmp_path / "bad.ply"
    path.write_bytes(b"no ply at all")
    content, problem = cache.cache_file(tmp_path / "cache", str(path), POINTS)
    assert content == cache.file_hash(str(path))
    assert problem is not None
    assert "bad.ply" in problem
    with pytest.raises(FileNotFoundError):
        cache.cache_file(tmp_path / "cache", str(tmp_path / "gone.ply"), POINTS)


@pytest.mark.parametrize("kind", ["full", "a file"])
def test_a_cache_that_cannot_be_written_is_a_warning(
    tmp_path: Path, scan: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    folder = tmp_path / "cache"
    if kind == "full":

        def refuse(path: Path) -> None:
            raise OSError(28, "No space left on device", str(path))

        monkeypatch.setattr(cache, "atomic_write", refuse)
    else:
        folder.touch()
    content, problem = cache.cache_file(folder, scan, POINTS)
    assert problem is None
    assert same(cache.cached_cloud(folder, scan, content, POINTS), graphreg.prepare(np.load(scan), points=POINTS))
    assert cache.known_hash(folder, scan) is None
    assert not cache.is_cached(folder, content, POINTS)
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        f"graphreg: the cache {folder} cannot be written"
    ]
