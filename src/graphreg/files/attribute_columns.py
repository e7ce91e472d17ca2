"""Clouds as named columns of numbers: what readers make a cloud of, and what writers store of one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import MAX_COORDINATE, Cloud, Floats
from graphreg.errors import InputError
from graphreg.files.input_file import InputFile


def cloud_from_points(file: InputFile, points: NDArray[Any], attributes: Mapping[str, NDArray[Any]]) -> Cloud:
    """Make a cloud of what was read from a file, without the rows that are not finite.

    Parameters
    ----------
    file : InputFile
        The file, for error messages.
    points : (N, 3) ndarray
        Is not copied where it fits.
    attributes : mapping of str to (N, ...) ndarray

    Returns
    -------
    Cloud

    Raises
    ------
    FileError
        Where there is no finite point, or a coordinate is too large to square.
    """
    if len(points) == 0:
        file.fail("has no points")
    points = np.ascontiguousarray(points, dtype=np.float64)
    finite = np.ones(len(points), bool)
    columns = dict(attributes)
    if not np.isfinite([points.min(), points.max()]).all():  # both propagate nan, and they are fast
        for i in range(3):
            finite &= np.isfinite(points[:, i])
        if not finite.any():
            file.fail(f"none of its {len(points)} points is finite")
        points = points[finite]
        columns = {name: values[finite] for name, values in columns.items()}
    if max(points.max(), -points.min()) > MAX_COORDINATE:
        file.fail(f"has coordinates beyond {MAX_COORDINATE:g}, too large to square")
    return Cloud(points, finite, columns)


def cloud_from_columns(file: InputFile, columns: Mapping[str, NDArray[Any]]) -> Cloud:
    """Make a cloud whose coordinates are the columns x, y, z, and whose attributes are all others.

    Parameters
    ----------
    file : InputFile
        The file, for error messages.
    columns : mapping of str to (N, ...) ndarray
        Attributes are copied, so that one of them does not keep the whole file in memory.

    Returns
    -------
    Cloud

    Raises
    ------
    FileError
        Where a coordinate is missing or no real number, or as in `cloud_from_points`.
    """
    for axis in "xyz":
        if axis not in columns:
            file.fail(f"has no {axis} coordinate, only {', '.join(columns) or 'nothing'}")
        if columns[axis].ndim != 1 or columns[axis].dtype.kind not in "iuf":
            file.fail(f"its {axis} is not one real number per point")
    points = np.empty((len(columns["x"]), 3))
    for i, axis in enumerate("xyz"):
        points[:, i] = columns[axis]
    attributes = {
        name: np.array(values, values.dtype.newbyteorder("="))
        for name, values in columns.items()
        if name not in ("x", "y", "z")
    }
    return cloud_from_points(file, points, attributes)


def decode_integers(file: InputFile, column: Floats, dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    """The integers of a column of kind i or u of `InputFile.read_table`, in the type that the file declares."""
    values = column.view(np.uint64 if dtype.kind == "u" else np.int64)
    limits = np.iinfo(dtype)
    outside = (values < limits.min) | (values > limits.max)
    if outside.any():
        file.fail(f"{name} is {values[outside][0]}, which is no {dtype.name}")
    return values.astype(dtype)


def attribute_columns(cloud: Cloud) -> dict[str, NDArray[Any]]:
    """The numeric attributes of a cloud as (N, k) arrays of little-endian types, by names without blanks.

    Booleans become 0 and 1; floats become single or double precision.
    """
    result: dict[str, NDArray[Any]] = {}
    for name, values in cloud.attributes.items():
        if values.dtype.kind in "biuf" and values.size:
            dtype = {"b": "<u1", "f": "<f4" if values.dtype.itemsize <= 4 else "<f8"}.get(values.dtype.kind)
            table = values.reshape(len(cloud), -1).astype(dtype or values.dtype.newbyteorder("<"), copy=False)
            _add_column(result, column_name(name), table)
    return result


def scalar_columns(cloud: Cloud) -> dict[str, NDArray[Any]]:
    """The same as (N,) arrays: an attribute of several components becomes name_0, name_1, ..."""
    result: dict[str, NDArray[Any]] = {}
    for name, values in attribute_columns(cloud).items():
        for i in range(values.shape[1]):
            _add_column(result, name if values.shape[1] == 1 else f"{name}_{i}", values[:, i])
    return result


def omitted_attributes(cloud: Cloud, written: Collection[str]) -> tuple[str, ...]:
    """The attributes of a cloud that are not among the columns that were written."""
    return tuple(
        str(name) for name in cloud.attributes if not {(column := column_name(name)), f"{column}_0"} & set(written)
    )


def column_name(name: str) -> str:
    """The name of an attribute with underscores instead of blanks, and of characters that cannot be printed."""
    return printable("_".join(str(name).split()))


def printable(name: str) -> str:
    """The name with underscores instead of characters that cannot be printed."""
    return "".join(letter if letter.isprintable() else "_" for letter in name)


def _add_column(result: dict[str, NDArray[Any]], name: str, values: NDArray[Any]) -> None:
    if name in ("x", "y", "z", "") or name in result:
        raise InputError(f"points: an attribute would have to be called {name!r} in the file, but that name is taken")
    result[name] = values
