"""The journal: entries are read back wherever the file was truncated; one process writes at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphreg.errors import FileError
from graphreg.files.journal import Journal

ENTRIES: list[Any] = [{"a": 1}, "two\nlines", [3.25, None], {"é": "ü" * 50}]


def opened(path: Path, **options: Any) -> tuple[Journal, list[Any], list[int]]:
    entries: list[Any] = []
    offsets: list[int] = []

    def on_entry(entry: Any, offset: int) -> None:
        entries.append(entry)
        offsets.append(offset)

    return Journal(path, on_entry, "is no entry", **options), entries, offsets


def write(path: Path, entries: list[Any]) -> list[int]:
    journal, _, _ = opened(path)
    offsets = [journal.append(entry) for entry in entries]
    journal.close()
    return offsets


def entries_of(path: Path) -> list[Any]:
    journal, entries, _ = opened(path)
    journal.close()
    return entries


def test_entries_are_read_back_with_their_offsets(tmp_path: Path) -> None:
    offsets = write(tmp_path / "new" / "journal", ENTRIES)
    journal, entries, found = opened(tmp_path / "new" / "journal")
    assert (entries, found) == (ENTRIES, offsets)
    journal.close()


@pytest.mark.slow
def test_truncated_anywhere_it_keeps_complete_entries_and_appends_more(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    offsets = write(path, ENTRIES)
    content = path.read_bytes()
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        complete = sum(length >= end for end in (*offsets[1:], len(content)))
        journal, entries, _ = opened(path)
        assert entries == ENTRIES[:complete]
        for entry in ENTRIES[complete:]:
            journal.append(entry)
        journal.close()
        assert path.read_bytes() == content


def test_entries_are_passed_to_the_system_at_once(tmp_path: Path) -> None:
    journal, _, _ = opened(tmp_path / "journal")
    journal.append("x")
    assert (tmp_path / "journal").read_bytes() == b'"x"\n'
    journal.close()


def test_truncate_discards_what_exists(tmp_path: Path) -> None:
    write(tmp_path / "journal", ENTRIES)
    journal, entries, _ = opened(tmp_path / "journal", truncate=True)
    assert entries == []
    assert (tmp_path / "journal").read_bytes() == b""
    journal.close()


@pytest.mark.parametrize("line", [b"nonsense", b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b""])
def test_an_invalid_line_is_reported_and_the_file_is_not_changed(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal"
    content = b'"one"\n' + line + b'\n"three"\nhalf'
    path.write_bytes(content)
    with pytest.raises(FileError, match="journal: line 2 is no entry"):
        opened(path)
    assert path.read_bytes() == content


def test_what_is_no_json_is_refused_and_not_written(tmp_path: Path) -> None:
    journal, _, _ = opened(tmp_path / "journal")
    journal.append(1)
    with pytest.raises(ValueError, match="JSON"):
        journal.append(float("nan"))
    journal.append(2)
    journal.close()
    assert entries_of(tmp_path / "journal") == [1, 2]


@pytest.mark.slow
def test_a_full_disk_leaves_complete_lines(tmp_path: Path) -> None:
    """A limit on the size of files simulates the full disk."""
    script = """
import resource, signal, sys
from pathlib import Path
from graphreg.files.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(Path(sys.argv[1]), lambda entry, offset: None, "")
journal.append("a" * 30)
resource.setrlimit(resource.RLIMIT_FSIZE, (50, resource.RLIM_INFINITY))
try:
    journal.append("b" * 30)
except OSError:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    journal.append("c" * 30)
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "journal")], check=True)
    assert entries_of(tmp_path / "journal") == ["a" * 30, "c" * 30]


@pytest.mark.slow
def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from graphreg.files.journal import Journal
journal = Journal(Path(sys.argv[1]), lambda entry, offset: None, "")
journal.append("mine")
print("open", flush=True)
sys.stdin.read()
"""
    path = tmp_path / "journal"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(FileError, match="another process is writing to it"):
            opened(path)
        other.kill()
    assert entries_of(path) == ["mine"]
