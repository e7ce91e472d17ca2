"""A journal: what was appended is there again, wherever it was cut off; one process at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphreg.errors import FileError
from graphreg.files.journal import Journal

ENTRIES: list[Any] = [{"a": 1}, "two\nlines", [3.25, None], {"é": "ü" * 50}]


def opened(path: Path, **how: Any) -> tuple[Journal, list[Any], list[int]]:
    entries: list[Any] = []
    places: list[int] = []

    def take(entry: Any, place: int) -> None:
        entries.append(entry)
        places.append(place)

    return Journal(path, take, "is no entry", **how), entries, places


def write(path: Path, entries: list[Any]) -> list[int]:
    journal, _, _ = opened(path)
    places = [journal.append(entry) for entry in entries]
    journal.close()
    return places


def entries_of(path: Path) -> list[Any]:
    journal, entries, _ = opened(path)
    journal.close()
    return entries


def test_entries_come_back_with_their_places(tmp_path: Path) -> None:
    places = write(tmp_path / "new" / "journal", ENTRIES)
    journal, entries, found = opened(tmp_path / "new" / "journal")
    assert (entries, found) == (ENTRIES, places)
    journal.close()


def test_cut_off_anywhere_it_keeps_what_is_whole_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    places = write(path, ENTRIES)
    content = path.read_bytes()
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        whole = sum(cut >= end for end in (*places[1:], len(content)))
        journal, entries, _ = opened(path)
        assert entries == ENTRIES[:whole]
        for entry in ENTRIES[whole:]:
            journal.append(entry)
        journal.close()
        assert path.read_bytes() == content


def test_what_is_appended_is_with_the_system_at_once(tmp_path: Path) -> None:
    journal, _, _ = opened(tmp_path / "journal")
    journal.append("x")
    assert (tmp_path / "journal").read_bytes() == b'"x"\n'
    journal.close()


def test_fresh_forgets(tmp_path: Path) -> None:
    write(tmp_path / "journal", ENTRIES)
    journal, entries, _ = opened(tmp_path / "journal", fresh=True)
    assert entries == []
    assert (tmp_path / "journal").read_bytes() == b""
    journal.close()


def test_a_line_that_is_no_entry_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'"one"\nnonsense\n"three"\nhalf')
    with pytest.raises(FileError, match="journal: line 2 is no entry"):
        opened(path)
    assert path.read_bytes() == b'"one"\nnonsense\n"three"\nhalf'


def test_what_cannot_be_written_as_json_leaves_no_trace(tmp_path: Path) -> None:
    journal, _, _ = opened(tmp_path / "journal")
    journal.append(1)
    with pytest.raises(ValueError, match="JSON"):
        journal.append(float("nan"))
    journal.append(2)
    journal.close()
    assert entries_of(tmp_path / "journal") == [1, 2]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    script = """
import resource, signal, sys
from pathlib import Path
from graphreg.files.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(Path(sys.argv[1]), lambda entry, place: None, "")
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


def test_two_at_once_are_refused_and_a_dead_one_is_no_hindrance(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from graphreg.files.journal import Journal
journal = Journal(Path(sys.argv[1]), lambda entry, place: None, "")
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
