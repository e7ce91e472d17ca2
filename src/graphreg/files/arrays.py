"""numpy's own files: .npy with one array, .npz with several. Nothing in them is executed (no pickles)."""

from __future__ import annotations

import ast
import math
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud
from graphreg.errors import InputError
from graphreg.files.sink import Sink, in_file
from graphreg.files.source import Source, guarded

LONGEST_HEADER = 10_000
Take = Callable[[int], bytes]


def read_npy(source: Source) -> Cloud:
    """An (N, 3) array; one with more columns, called column_3, ...; or a structured one with x, y, z."""
    return _cloud(source, array_of(source), {})


def array_of(source: Source) -> NDArray[Any]:
    """The one array that a .npy file is."""
    return _array(source, lambda size: source.take(size, "bytes"), source.size)


def read_npz(source: Source) -> Cloud:
    """The array called points, or the only one there is. Others with as many rows are its attributes."""
    arrays: dict[str, NDArray[Any]] = {}
    with guarded(source):
        archive = zipfile.ZipFile(source.path)
    with archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        source.check_unfolding(sum(member.file_size for member in members), "arrays")
        for member in members:
            with guarded(source):
                arrays[member.filename[:-4]] = _unpack(source, archive, member)
            source.report(member.header_offset + member.compress_size)
    name = "points" if "points" in arrays else next(iter(arrays), "")
    if name != "points" and len(arrays) != 1:
        source.fail(f"has no array called points, only {', '.join(arrays) or 'nothing'}")
    points = arrays.pop(name)
    return _cloud(source, points, {key: rows for key, rows in arrays.items() if rows.shape[:1] == points.shape[:1]})


def _unpack(source: Source, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    # The other methods may ask for any amount of memory.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        source.fail(f"{member.filename} is packed in a way that numpy does not use")
    if not 0 <= member.header_offset < source.size:
        source.fail(f"says that {member.filename} lies outside")
    with archive.open(member) as stream:
        return _array(source, stream.read, member.file_size)


def _array(source: Source, take: Take, size: int) -> NDArray[Any]:
    """One array of `size` bytes in all. Its shape is checked against them before anything is set aside."""
    if size < 12:
        source.fail("ends within its header")
    start = take(8)
    if start[:6] != b"\x93NUMPY" or start[6] not in (1, 2, 3):
        source.fail("is no numpy array")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(take(width), "little")
    left = size - 8 - width - length
    if left < 0 or length > LONGEST_HEADER:
        source.fail("ends within its header, or has too long a header")
    dtype, fortran, shape = _header(source, take(length))
    if dtype.hasobject or dtype.subdtype or dtype.itemsize == 0:
        source.fail(f"holds an array of type {dtype}, which is not read")
    if math.prod(shape) * dtype.itemsize != left:
        source.fail(f"says it holds {shape} values of {dtype.itemsize} bytes, but {left} bytes follow")
    data = take(left)
    if len(data) != left:
        source.fail(f"says it holds {left} bytes but ends after {len(data)}")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _header(source: Source, text: bytes) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd literals, in a damaged header
            header = ast.literal_eval(text.decode("utf-8").strip())
            dtype = np.lib.format.descr_to_dtype(header["descr"])
        fortran, shape = header["fortran_order"], header["shape"]
        fits = isinstance(fortran, bool) and isinstance(shape, tuple)
        if not fits or not all(type(n) is int and 0 <= n < 2**62 for n in shape) or len(shape) > 32:
            raise ValueError("shape")
    except (ValueError, TypeError, SyntaxError, KeyError, IndexError, MemoryError, RecursionError):
        source.fail("has a damaged header")
    return dtype, fortran, shape


def _cloud(source: Source, array: NDArray[Any], attributes: dict[str, NDArray[Any]]) -> Cloud:
    if array.dtype.names is not None and array.ndim == 1:
        return source.split({name: array[name] for name in array.dtype.names} | attributes)
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] < 3:
        source.fail(f"holds an array of shape {array.shape} and type {array.dtype}, not (N, 3) numbers")
    columns = {name: array[:, i] for i, name in enumerate("xyz")}
    columns |= {f"column_{i}": array[:, i] for i in range(3, array.shape[1])}
    return source.split(columns | {name: rows for name, rows in attributes.items() if name not in columns})


def write_npy(sink: Sink, cloud: Cloud) -> None:
    """An (N, 3) float64 array."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (len(cloud), 3)}
    np.lib.format.write_array_header_1_0(sink.file, header)
    for part in sink.parts(cloud):
        sink.file.write(cloud.points[part].astype("<f8", copy=False).data)


def write_npz(sink: Sink, cloud: Cloud) -> None:
    """The array points, and one array for each attribute."""
    if "points" in cloud.attributes:
        raise InputError("points: an attribute is called 'points', but in .npz that is the name of the coordinates")
    with zipfile.ZipFile(sink.file, "w") as archive:
        for name, values in {**cloud.attributes, "points": cloud.points}.items():
            if not values.dtype.hasobject:
                sink.held.add(in_file(name))
                with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, values, allow_pickle=False)
    for _ in sink.parts(cloud):
        pass
