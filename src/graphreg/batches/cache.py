"""The cache of preprocessed clouds, by the hash of their file: a megabyte for a cloud of ten million points.

contents/   of each file: its size and modification time, and the hash of its bytes
prepared/   the preprocessed cloud of such bytes

A file whose size and modification time are the same is not read again. The folder can be shared and deleted at any
time; what is missing or damaged is computed again. Where it cannot be written, as on a full disk, there is a warning,
and clouds are preprocessed for each job anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zlib
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphreg._version import __version__
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.errors import InputError
from graphreg.files import read_cloud
from graphreg.files.output_file import atomic_write
from graphreg.meshes.triangle_mesh import Mesh
from graphreg.registration import prepare_sample

_log = logging.getLogger(__name__)
# Bytes that are hashed at a time.
HASH_CHUNK_BYTES = 1 << 22
# What is stored: the fields that a preprocessed cloud is made of. What is derived from them is computed again.
MESH_ARRAYS = ("mesh_vertices", "mesh_faces")
STORED_FIELDS = tuple(
    field.name for field in fields(PreprocessedCloud) if field.name != "mesh" and not field.name.startswith("_")
)


def known_hash(folder: Path, path: str) -> str | None:
    """The hash of a file, where the cache has it for the file's size and modification time; else None."""
    try:
        status = os.stat(path)
        entry = json.loads(_hash_entry(folder, path).read_text(encoding="utf-8"))
        return str(entry["content"]) if entry["stamp"] == [status.st_size, status.st_mtime_ns] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def file_hash(path: str) -> str:
    """The hash of a file's bytes."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(HASH_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()[:32]


def is_cached(folder: Path, content: str, points: int) -> bool:
    """Whether the cache has the preprocessed cloud of a hash."""
    return os.path.exists(_cloud_entry(folder, content, points))


def cache_file(folder: Path, path: str, points: int) -> tuple[str, str | None]:
    """Read and preprocess a file, where the cache does not have its cloud yet.

    Parameters
    ----------
    folder : Path
        The cache.
    path : str
        The file.
    points : int
        The number of points that are sampled.

    Returns
    -------
    content : str
        The hash of the file.
    problem : str or None
        Why the file is no usable cloud.

    Raises
    ------
    OSError
        Where the file cannot be read, or changes meanwhile.
    """
    before = os.stat(path)
    content = known_hash(folder, path) or file_hash(path)
    if not is_cached(folder, content, points):
        try:
            cloud = prepare_sample(read_cloud(path), points=points)
        except InputError as problem:
            return content, str(problem)
        _store_cloud(folder, _cloud_entry(folder, content, points), cloud)
    after = os.stat(path)
    stamp = [before.st_size, before.st_mtime_ns]
    if stamp != [after.st_size, after.st_mtime_ns]:
        raise OSError(f"{path}: changed while it was read")
    text = json.dumps({"path": path, "stamp": stamp, "content": content})
    _write_entry(folder, _hash_entry(folder, path), lambda file: file.write(text.encode()))
    return content, None


def cached_cloud(folder: Path, path: str, content: str, points: int) -> PreprocessedCloud:
    """Load a preprocessed cloud; where it is missing or damaged, compute and store it again.

    Parameters
    ----------
    folder, path, points
        As in `cache_file`.
    content : str
        The hash of the file.

    Returns
    -------
    PreprocessedCloud

    Raises
    ------
    InputError
        Where the file has another hash by now.
    """
    import zipfile  # slow to import, and needed for batches alone

    entry = _cloud_entry(folder, content, points)
    try:
        with entry.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            values: dict[str, Any] = {name: _scalar_or_array(arrays[name]) for name in arrays.files}
        vertices, faces = (values.pop(name, None) for name in MESH_ARRAYS)
        mesh = None if vertices is None else Mesh(vertices, faces)
        return PreprocessedCloud(**{"weights": None, **values}, mesh=mesh)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        pass
    if file_hash(path) != content:
        raise InputError(f"{path}: changed while the batch ran; start it again")
    cloud = prepare_sample(read_cloud(path), points=points)
    _store_cloud(folder, entry, cloud)
    return cloud


def _store_cloud(folder: Path, entry: Path, cloud: PreprocessedCloud) -> None:
    values: dict[str, Any] = {name: getattr(cloud, name) for name in STORED_FIELDS}
    if cloud.mesh is not None:
        values |= dict(zip(MESH_ARRAYS, (cloud.mesh.vertices, cloud.mesh.faces), strict=True))
    stored = {name: value for name, value in values.items() if value is not None}
    _write_entry(folder, entry, lambda file: np.savez(file, **stored))


def _write_entry(folder: Path, entry: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write an entry; where that fails there is a warning, as the cache only saves time."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(entry) as output:
            write(output.file)
    except OSError as problem:
        _warn_once(folder, problem.strerror or str(problem))


@lru_cache
def _warn_once(folder: Path, problem: str) -> None:
    _log.warning("graphreg: the cache %s cannot be written (%s); clouds are preprocessed again", folder, problem)


def _scalar_or_array(value: NDArray[Any]) -> Any:
    """An array, or the number or string that was stored as one."""
    return value if value.ndim else value.item()


def _cloud_entry(folder: Path, content: str, points: int) -> Path:
    return folder / "prepared" / content[:2] / f"{content}-{points}-{__version__}.npz"


def _hash_entry(folder: Path, path: str) -> Path:
    return folder / "contents" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"
