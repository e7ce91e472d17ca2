"""LAS and LAZ, through laspy (extra `las`)."""

from __future__ import annotations

import errno
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud, Floats
from graphreg.files import laz
from graphreg.files.attribute_columns import cloud_from_points, scalar_columns
from graphreg.files.input_file import InputFile
from graphreg.files.optional_libraries import import_library, reporting_damage
from graphreg.files.output_file import OutputFile

# Bytes of the points that are read at a time.
LAS_CHUNK_BYTES = 1 << 24
# LAZ of a regular grid has a few thousandths of its size. Memory is allocated only as points are decompressed.
MAX_LAZ_EXPANSION = 10_000
# The largest coordinate in units of the scale: a signed 32-bit integer, less a little for rounding.
MAX_SCALED_COORDINATE = 2.0**31 - 2


def read(file: InputFile) -> Cloud:
    """Read coordinates with scale and offset applied; every other dimension is an attribute by its LAS name."""
    laspy = import_library("laspy", "reading LAS and LAZ files", "las")
    count, width = _check_header(file)
    step = max(LAS_CHUNK_BYTES // width, 1)
    points: list[Floats] = []
    extra: dict[str, list[NDArray[Any]]] = {}
    found = 0
    with reporting_damage(file.path):
        # The parallel backend allocates memory for whatever the chunk table declares.
        reader = laspy.open(file.path, laz_backend=laspy.LazBackend.Lazrs, read_evlrs=False)
    with reader:
        while found < count:
            with reporting_damage(file.path):
                chunk = reader.read_points(min(step, count - found))
                points.append(np.stack([np.asarray(chunk[axis], np.float64) for axis in "xyz"], axis=1))
                for name in chunk.point_format.dimension_names:
                    if name not in ("X", "Y", "Z"):
                        extra.setdefault(name, []).append(np.array(chunk[name]))
            if len(chunk) == 0:
                file.fail(f"declares {count} points but ends after {found}")
            found += len(chunk)
            file.report_progress(file.size * found // count)
    attributes = {name: np.concatenate(values) for name, values in extra.items()}
    return cloud_from_points(file, np.concatenate(points), attributes)


def _check_header(file: InputFile) -> tuple[int, int]:
    """Number of points and bytes of each. laspy trusts the header, so it is checked against the file here."""
    start = file.read_at(0, min(375, file.size))
    if start[:4] != b"LASF" or len(start) < 227:
        file.fail("does not begin with a LAS header")
    minor = start[25]
    size, data, records = struct.unpack_from("<HII", start, 94)
    kind, width, count = struct.unpack_from("<BHI", start, 104)
    if (
        start[24] != 1
        or minor > 4
        or size < (375 if minor == 4 else 227)
        or size > data
        or data > file.size
        or width == 0
    ):
        file.fail("has a damaged LAS header")
    scale_and_offset = struct.unpack_from("<6d", start, 131)
    if not np.isfinite(scale_and_offset).all() or 0 in scale_and_offset[:3]:
        file.fail("its header has a scale or an offset that cannot be used")
    if records * 54 > data - size:
        file.fail(f"declares {records} variable-length records, which do not fit before its points")
    if minor == 4:
        count = struct.unpack_from("<Q", start, 247)[0]
    if count == 0:
        file.fail("has no points")
    if kind & 0xC0:
        file.check_expansion(count * width, "points", MAX_LAZ_EXPANSION)
        laz.check(file, size, records, data, width, count)
    elif count > (file.size - data) // width:
        file.fail(f"declares {count} points but ends after {(file.size - data) // width}")
    return count, width


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write LAS 1.4. The scale of each axis is the finest power of ten that 32 bits allow; half of it is the error.

    An attribute is stored in the dimension of its name where there is one, else in an extra dimension. It is left out
    where the dimension cannot represent all its values, or its name has more than 32 bytes.
    """
    laspy = import_library("laspy", "writing LAS and LAZ files", "las")
    extra = scalar_columns(cloud)
    header = laspy.LasHeader(point_format=7 if "red" in extra else 6, version="1.4")
    low, high = cloud.points.min(axis=0), cloud.points.max(axis=0)
    header.offsets = np.round((low + high) / 2)
    farthest = np.maximum(np.abs(cloud.points - header.offsets).max(axis=0), 1e-3)
    header.scales = 10.0 ** np.ceil(np.log10(farthest / MAX_SCALED_COORDINATE))
    standard = {dimension.name: dimension for dimension in header.point_format.dimensions}
    for name in list(extra):
        if name in standard:
            if not _is_exact(extra[name], standard[name]):
                del extra[name]
        elif len(name.encode()) <= 32:
            header.add_extra_dim(laspy.ExtraBytesParams(name, extra[name].dtype))
        else:
            del extra[name]
    output.written_attributes.update(extra)
    try:
        with laspy.open(
            output.file,
            "w",
            header=header,
            do_compress=output.suffix == ".laz",
            laz_backend=laspy.LazBackend.Lazrs,
            closefd=False,
        ) as writer:
            for rows in output.chunks(cloud):
                points = laspy.ScaleAwarePointRecord.zeros(rows.stop - rows.start, header=header)
                points["x"], points["y"], points["z"] = cloud.points[rows].T
                for name, values in extra.items():
                    points[name] = values[rows]
                writer.write_points(points)
    except import_library("lazrs", "writing LAZ files", "las").LazrsError as problem:
        raise OSError(errno.EIO, f"the LAZ library could not write it ({problem})") from problem


def _is_exact(values: NDArray[Any], dimension: Any) -> bool:
    """Whether a standard dimension, which may have only a few bits, represents the values exactly."""
    if dimension.name in ("X", "Y", "Z"):
        return False
    if dimension.dtype is not None and dimension.dtype.kind == "f":
        return bool(np.array_equal(values.astype(dimension.dtype), values, equal_nan=True))
    whole = values.dtype.kind in "iu" or bool((values == np.trunc(values)).all())
    return whole and bool(values.min() >= dimension.min and values.max() <= dimension.max)
