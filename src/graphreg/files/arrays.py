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
from graphreg.files.input_file import InputFile, guarded
from graphreg.files.output_file import OutputFile, in_file

LONGEST_HEADER = 10_000
Take = Callable[[int], bytes]


def read_npy(file: InputFile) -> Cloud:
    """An (N, 3) array; one with more columns, called column_3, ...; or a structured one with x, y, z."""
    return _cloud(file, array_of(file), {})


def array_of(file: InputFile) -> NDArray[Any]:
    """The one array that a .npy file is."""
    return _array(file, lambda size: file.read_bytes(size, "bytes"), file.size)


def read_npz(file: InputFile) -> Cloud:
    """The array called points, or the only one there is. Others with as many rows are its attributes."""
    arrays: dict[str, NDArray[Any]] = {}
    with guarded(file):
        archive = zipfile.ZipFile(file.path)
    with archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        file.check_expansion(sum(member.file_size for member in members), "arrays")
        for member in members:
            with guarded(file):
                arrays[member.filename[:-4]] = _unpack(file, archive, member)
            file.report_progress(member.header_offset + member.compress_size)
    name = "points" if "points" in arrays else next(iter(arrays), "")
    if name != "points" and len(arrays) != 1:
        file.fail(f"has no array called points, only {', '.join(arrays) or 'nothing'}")
    points = arrays.pop(name)
    return _cloud(file, points, {key: rows for key, rows in arrays.items() if rows.shape[:1] == points.shape[:1]})


def _unpack(file: InputFile, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    # The other methods may ask for any amount of memory.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file.fail(f"{member.filename} is packed in a way that numpy does not use")
    if not 0 <= member.header_offset < file.size:
        file.fail(f"says that {member.filename} lies outside")
    with archive.open(member) as stream:
        return _array(file, stream.read, member.file_size)


def _array(file: InputFile, take: Take, size: int) -> NDArray[Any]:
    """One array of `size` bytes in all. Its shape is checked against them before anything is set aside."""
    if size < 12:
        file.fail("ends within its header")
    start = take(8)
    if start[:6] != b"\x93NUMPY" or start[6] not in (1, 2, 3):
        file.fail("is no numpy array")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(take(width), "little")
    left = size - 8 - width - length
    if left < 0 or length > LONGEST_HEADER:
        file.fail("ends within its header, or has too long a header")
    dtype, fortran, shape = _header(file, take(length))
    if dtype.hasobject or dtype.subdtype or dtype.itemsize == 0:
        file.fail(f"holds an array of type {dtype}, which is not read")
    if math.prod(shape) * dtype.itemsize != left:
        file.fail(f"says it holds {shape} values of {dtype.itemsize} bytes, but {left} bytes follow")
    data = take(left)
    if len(data) != left:
        file.fail(f"says it holds {left} bytes but ends after {len(data)}")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _header(file: InputFile, text: bytes) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
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
        file.fail("has a damaged header")
    return dtype, fortran, shape


def _cloud(file: InputFile, array: NDArray[Any], attributes: dict[str, NDArray[Any]]) -> Cloud:
    if array.dtype.names is not None and array.ndim == 1:
        return file.split({name: array[name] for name in array.dtype.names} | attributes)
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] < 3:
        file.fail(f"holds an array of shape {array.shape} and type {array.dtype}, not (N, 3) numbers")
    columns = {name: array[:, i] for i, name in enumerate("xyz")}
    columns |= {f"column_{i}": array[:, i] for i in range(3, array.shape[1])}
    return file.split(columns | {name: rows for name, rows in attributes.items() if name not in columns})


def write_npy(output: OutputFile, cloud: Cloud) -> None:
    """An (N, 3) float64 array."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (len(cloud), 3)}
    np.lib.format.write_array_header_1_0(output.file, header)
    for part in output.parts(cloud):
        output.file.write(cloud.points[part].astype("<f8", copy=False).data)


def write_npz(output: OutputFile, cloud: Cloud) -> None:
    """The array points, and one array for each attribute."""
    if "points" in cloud.attributes:
        raise InputError("points: an attribute is called 'points', but in .npz that is the name of the coordinates")
    with zipfile.ZipFile(output.file, "w") as archive:
        for name, values in {**cloud.attributes, "points": cloud.points}.items():
            if not values.dtype.hasobject:
                output.held.add(in_file(name))
                with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, values, allow_pickle=False)
    for _ in output.parts(cloud):
        pass
