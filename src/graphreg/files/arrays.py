"""numpy's own files: .npy with one array, .npz with several. Pickles are refused, so that nothing is executed."""

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
from graphreg.files.attribute_columns import cloud_from_columns, column_name, printable
from graphreg.files.input_file import InputFile
from graphreg.files.optional_libraries import reporting_damage
from graphreg.files.output_file import OutputFile

# Bytes of the header of a .npy file; numpy itself refuses longer ones.
MAX_NPY_HEADER = 10_000
ReadBytes = Callable[[int], bytes]


def read_npy(file: InputFile) -> Cloud:
    """Read an (N, 3) array; one with more columns, called column_3, ...; or a structured one with x, y, z."""
    return _cloud(file, read_array(file), {})


def read_array(file: InputFile) -> NDArray[Any]:
    """Read the array of a .npy file."""
    return _array(file, lambda count: file.read_bytes(count, "bytes"), file.size)


def read_npz(file: InputFile) -> Cloud:
    """Read the array called points, or the only one there is. Others with as many rows are its attributes."""
    arrays: dict[str, NDArray[Any]] = {}
    with reporting_damage(file.path):
        archive = zipfile.ZipFile(file.path)
    with archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        file.check_expansion(sum(member.file_size for member in members), "arrays")
        for member in members:
            with reporting_damage(file.path):
                arrays[member.filename[:-4]] = _unpack(file, archive, member)
            file.report_progress(member.header_offset + member.compress_size)
    name = "points" if "points" in arrays else next(iter(arrays), "")
    if name != "points" and len(arrays) != 1:
        file.fail(f"has no array called points, only {', '.join(arrays) or 'nothing'}")
    points = arrays.pop(name)
    return _cloud(file, points, {key: rows for key, rows in arrays.items() if rows.shape[:1] == points.shape[:1]})


def _unpack(file: InputFile, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    # Other compression methods may ask for any amount of memory.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file.fail(f"{member.filename} is compressed by a method that numpy does not use")
    if not 0 <= member.header_offset < file.size:
        file.fail(f"declares that {member.filename} is outside of the file")
    with archive.open(member) as stream:
        return _array(file, stream.read, member.file_size)


def _array(file: InputFile, read_bytes: ReadBytes, size: int) -> NDArray[Any]:
    """One array of `size` bytes in all. Its shape is checked against them before memory is allocated."""
    if size < 12:
        file.fail("ends within its header")
    start = read_bytes(8)
    if start[:6] != b"\x93NUMPY" or start[6] not in (1, 2, 3):
        file.fail("is no numpy array")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(read_bytes(width), "little")
    left = size - 8 - width - length
    if left < 0 or length > MAX_NPY_HEADER:
        file.fail("ends within its header, or has too long a header")
    dtype, fortran, shape = _header(file, read_bytes(length))
    if dtype.hasobject or dtype.subdtype or dtype.itemsize == 0:
        file.fail(f"is an array of type {dtype}, which is not supported")
    if math.prod(shape) * dtype.itemsize != left:
        file.fail(f"declares {shape} values of {dtype.itemsize} bytes, but {left} bytes follow")
    data = read_bytes(left)
    if len(data) != left:
        file.fail(f"declares {left} bytes but ends after {len(data)}")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _header(file: InputFile, text: bytes) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd literals, in a damaged header
            header = ast.literal_eval(text.decode("utf-8").strip())
            dtype = np.lib.format.descr_to_dtype(header["descr"])
        fortran, shape = header["fortran_order"], header["shape"]
        valid = isinstance(fortran, bool) and isinstance(shape, tuple)
        if not valid or not all(type(n) is int and 0 <= n < 2**62 for n in shape) or len(shape) > 32:
            raise ValueError("shape")
    except (ValueError, TypeError, SyntaxError, KeyError, IndexError, MemoryError, RecursionError):
        file.fail("has a damaged header")
    return dtype, fortran, shape


def _cloud(file: InputFile, array: NDArray[Any], attributes: dict[str, NDArray[Any]]) -> Cloud:
    if array.dtype.names is not None and array.ndim == 1:
        return cloud_from_columns(file, {name: array[name] for name in array.dtype.names} | attributes)
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] < 3:
        file.fail(f"is an array of shape {array.shape} and type {array.dtype}, not (N, 3) numbers")
    columns = {name: array[:, i] for i, name in enumerate("xyz")}
    columns |= {f"column_{i}": array[:, i] for i in range(3, array.shape[1])}
    return cloud_from_columns(file, columns | {name: rows for name, rows in attributes.items() if name not in columns})


def write_npy(output: OutputFile, cloud: Cloud) -> None:
    """Write an (N, 3) float64 array."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (len(cloud), 3)}
    np.lib.format.write_array_header_1_0(output.file, header)
    for rows in output.chunks(cloud):
        output.file.write(cloud.points[rows].astype("<f8", copy=False).data)


def write_npz(output: OutputFile, cloud: Cloud) -> None:
    """Write the array points, and one array for each attribute."""
    if "points" in cloud.attributes:
        raise InputError("points: an attribute is called 'points', but in .npz that is the name of the coordinates")
    with zipfile.ZipFile(output.file, "w") as archive:
        for name, values in {**cloud.attributes, "points": cloud.points}.items():
            if not values.dtype.hasobject:
                output.written_attributes.add(column_name(name))
                with archive.open(f"{printable(name)}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, values, allow_pickle=False)
    for _ in output.chunks(cloud):
        pass
