"""The cache: what comes out is what `prepare` gives; nothing is read twice without need, and no damage matters."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.support.batch_jobs import write_scans

import graphreg
from graphreg.batches import cache
from graphreg.engine.preprocessing import PreprocessedCloud

POINTS = 500


@pytest.fixture
def scan(tmp_path: Path) -> str:
    return str(tmp_path / write_scans(tmp_path, 1)[0])


def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise AssertionError(f"{path} is read again")

    monkeypatch.setattr(cache, "read_cloud", refuse)


def same(a: PreprocessedCloud, b: PreprocessedCloud) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in cache.KEPT if name != "weights")


def entry_in(folder: Path) -> Path:
    (found,) = folder.rglob("*.npz")
    return found


def test_what_comes_out_is_what_prepare_gives(tmp_path: Path, scan: str) -> None:
    content, problem = cache.prepare_file(tmp_path / "cache", scan, POINTS)
    assert problem is None
    held = cache.prepared_cloud(tmp_path / "cache", scan, content, POINTS)
    made = graphreg.prepare(graphreg.read(scan), points=POINTS)
    assert same(held, made)
    assert held.weights is made.weights is None
    found, expected = (graphreg.register(cloud, made, threads=1).transformation for cloud in (held, made))
    assert np.array_equal(found, expected)


def test_a_file_that_did_not_change_is_neither_read_nor_hashed_again(
    tmp_path: Path, scan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cache.prepare_file(tmp_path / "cache", scan, POINTS)
    no_reading(monkeypatch)
    assert cache.content_known(tmp_path / "cache", scan) == first[0]
    monkeypatch.setattr(cache, "content_of", None)
    assert cache.prepare_file(tmp_path / "cache", scan, POINTS) == first


def test_the_same_bytes_under_another_name_are_prepared_once(
    tmp_path: Path, scan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.npy"
    other.write_bytes(Path(scan).read_bytes())
    first = cache.prepare_file(tmp_path / "cache", scan, POINTS)
    no_reading(monkeypatch)
    assert cache.prepare_file(tmp_path / "cache", str(other), POINTS) == first


def test_a_file_that_changed_is_another(tmp_path: Path, scan: str) -> None:
    before, _ = cache.prepare_file(tmp_path / "cache", scan, POINTS)
    np.save(scan, graphreg.read(scan)[::-1])
    # As quick as this test, a file system may not have noticed.
    os.utime(scan, ns=(0, 1))
    assert cache.content_known(tmp_path / "cache", scan) is None
    entry_in(tmp_path / "cache").unlink()
    with pytest.raises(graphreg.InputError, match="changed while the batch ran"):
        cache.prepared_cloud(tmp_path / "cache", scan, before, POINTS)
    assert cache.prepare_file(tmp_path / "cache", scan, POINTS)[0] != before


def test_entries_that_are_cut_off_damaged_or_gone_are_made_again(tmp_path: Path, scan: str) -> None:
    folder = tmp_path / "cache"
    content, _ = cache.prepare_file(folder, scan, POINTS)
    entry = entry_in(folder)
    whole = entry.read_bytes()
    made = cache.prepared_cloud(folder, scan, content, POINTS)
    rng = np.random.default_rng(0)
    damaged = [whole[:cut] for cut in (0, 1, 100, *range(1000, len(whole), len(whole) // 10))]
    for place in rng.integers(0, len(whole), 20):
        damaged.append(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    damaged.append(b"something else")
    for content_of_entry in damaged:
        entry.write_bytes(content_of_entry)
        assert same(cache.prepared_cloud(folder, scan, content, POINTS), made)
    entry.unlink()
    assert same(cache.prepared_cloud(folder, scan, content, POINTS), made)
    assert same(cache.prepared_cloud(folder, scan, content, POINTS), made)


def test_a_damaged_note_on_a_file_is_no_note(tmp_path: Path, scan: str) -> None:
    folder = tmp_path / "cache"
    content, _ = cache.prepare_file(folder, scan, POINTS)
    (note,) = (folder / "contents").iterdir()
    for text in ("", "{", "[]", "3", '{"content": "x"}'):
        note.write_text(text)
        assert cache.content_known(folder, scan) is None
        assert cache.prepare_file(folder, scan, POINTS) == (content, None)


def test_what_is_no_cloud_is_told_with_its_content(tmp_path: Path) -> None:
    path = tmp_path / "bad.ply"
    path.write_bytes(b"no ply at all")
    content, problem = cache.prepare_file(tmp_path / "cache", str(path), POINTS)
    assert content == cache.content_of(str(path))
    assert problem is not None
    assert "bad.ply" in problem
    with pytest.raises(FileNotFoundError):
        cache.prepare_file(tmp_path / "cache", str(tmp_path / "gone.ply"), POINTS)
