"""Clouds that were read and prepared, kept in a folder by their content: of ten million points, a megabyte.

contents/   of each file that was looked at: its size and time of change, and the hash of its bytes
prepared/   what `prepare` made of such bytes

A file whose size and time have not changed is not read again. The folder can be shared and deleted at any time; what is
missing or damaged is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg._version import __version__
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.errors import InputError
from graphreg.files import read_cloud
from graphreg.files.output_file import atomic_write
from graphreg.registration import prepare

READ_AT_ONCE = 1 << 22
# What is kept: all that a prepared cloud consists of. What was made of it in the meantime is made again.
KEPT = tuple(field.name for field in fields(PreprocessedCloud) if field.init and not field.name.startswith("_"))


def content_known(folder: Path, path: str) -> str | None:
    """The hash of a file's bytes, where it was taken since they changed."""
    try:
        stamp = os.stat(path)
        held = json.loads(_note(folder, path).read_text(encoding="utf-8"))
        return str(held["content"]) if held["stamp"] == [stamp.st_size, stamp.st_mtime_ns] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def content_of(path: str) -> str:
    """The hash of a file's bytes."""
    hashed = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(READ_AT_ONCE):
            hashed.update(part)
    return hashed.hexdigest()[:32]


def is_prepared(folder: Path, content: str, points: int) -> bool:
    return _entry(folder, content, points).exists()


def prepare_file(folder: Path, path: str, points: int) -> tuple[str, str | None]:
    """Have a file's cloud in the cache; returns the hash of its bytes, and what is wrong with them, where they are no
    cloud."""
    before = os.stat(path)
    content = content_known(folder, path) or content_of(path)
    if not is_prepared(folder, content, points):
        try:
            _keep(_entry(folder, content, points), prepare(read_cloud(path), points=points))
        except InputError as problem:
            return content, str(problem)
    after = os.stat(path)
    stamp = [before.st_size, before.st_mtime_ns]
    if stamp != [after.st_size, after.st_mtime_ns]:
        raise OSError(f"{path}: changed while it was read")
    note = _note(folder, path)
    note.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(note) as output:
        output.file.write(json.dumps({"path": path, "stamp": stamp, "content": content}).encode())
    return content, None


def prepared_cloud(folder: Path, path: str, content: str, points: int) -> PreprocessedCloud:
    """The cloud of a file as `prepare_file` left it; made again where it is missing or damaged."""
    import zipfile  # slow to load, and not needed by those who have no batch

    entry = _entry(folder, content, points)
    try:
        with entry.open("rb") as file, np.load(file, allow_pickle=False) as held:
            kept: dict[str, Any] = {name: _plain(held[name]) for name in held.files}
        return PreprocessedCloud(**{"weights": None, **kept})
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        pass
    if content_of(path) != content:
        raise InputError(f"{path}: changed while the batch ran; start it again")
    made = prepare(read_cloud(path), points=points)
    _keep(entry, made)
    return made


def _keep(entry: Path, made: PreprocessedCloud) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True)
    values: dict[str, Any] = {name: getattr(made, name) for name in KEPT if getattr(made, name) is not None}
    with atomic_write(entry) as output:
        np.savez(output.file, **values)


def _plain(value: NDArray[Any]) -> Any:
    """An array, or the number or word that was kept as one."""
    return value if value.ndim else value.item()


def _entry(folder: Path, content: str, points: int) -> Path:
    return folder / "prepared" / content[:2] / f"{content}-{points}-{__version__}.npz"


def _note(folder: Path, path: str) -> Path:
    return folder / "contents" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"
