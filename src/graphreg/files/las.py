"""LAS and LAZ, through laspy (extra `las`)."""

from __future__ import annotations

import errno
import math
import struct
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud, Floats
from graphreg.errors import InputError
from graphreg.files import laz
from graphreg.files.attribute_columns import cloud_from_points, column_name, scalar_columns
from graphreg.files.input_file import InputFile
from graphreg.files.las_header import ExtraDimension, LasHeader, LasRecord, read_header
from graphreg.files.optional_libraries import import_library, reporting_damage
from graphreg.files.output_file import OutputFile

# Bytes of the points that are read at a time.
LAS_CHUNK_BYTES = 1 << 24
# LAZ of a regular grid has a few thousandths of its size. Memory is allocated only as points are decompressed.
MAX_LAZ_EXPANSION = 10_000
# The largest coordinate in units of the scale: a signed 32-bit integer, less a little for rounding.
MAX_SCALED_COORDINATE = 2.0**31 - 2
# The coarsest scale that is chosen, as laspy has it.
COARSEST_SCALE = 0.01


def read(file: InputFile) -> Cloud:
    """Read coordinates with scale and offset applied; every other dimension is an attribute by its LAS name.

    The header of the cloud is a `LasHeader`, of which a LAS or LAZ file that is written of it has as much as it can.
    """
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
        with reporting_damage(file.path):
            header = read_header(file, reader.header.point_format)
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
    return replace(cloud_from_points(file, np.concatenate(points), attributes), header=header)


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
    """Write a cloud with the header that it was read with; without one, as LAS 1.4.

    A header keeps its scale, unless the points are out of reach of 32 bits, and its offset, unless they have moved that
    far away. Without one the scale is 0.01 or the finest power of ten that the coordinates have decimals for, at most
    what 32 bits allow; half of it is the error.

    An attribute is stored in the dimension of its name where there is one, else in an extra dimension. It is left out
    where the dimension cannot represent all its values, or its name has more than 32 bytes.
    """
    laspy = import_library("laspy", "writing LAS and LAZ files", "las")
    source = cloud.header if isinstance(cloud.header, LasHeader) else None
    header = _new_header(laspy, source, "red" in cloud.attributes)
    header.scales, header.offsets = _scale_and_offset(cloud.points, source)
    standard = {dimension.name: dimension for dimension in header.point_format.dimensions}
    columns: dict[str, NDArray[Any]] = {}
    for each in source.extra_dimensions if source else ():
        if each.name not in standard and each.name not in columns and _fits(cloud, each):
            header.add_extra_dim(_parameters(laspy, each))
            columns[each.name] = cloud.attributes[each.name]
    output.written_attributes.update(map(column_name, columns))
    others = {name: values for name, values in cloud.attributes.items() if name not in columns}
    for name, values in scalar_columns(replace(cloud, attributes=others)).items():
        field = name.replace(":", "_")  # laspy cannot write a colon
        if field in columns:
            raise InputError(f"points: an attribute would have to be called {field!r} in the file, which is taken")
        if field in standard:
            if not _is_exact(values, standard[field]):
                continue
        elif len(field.encode()) > 32:
            continue
        else:
            header.add_extra_dim(laspy.ExtraBytesParams(field, values.dtype))
        columns[field] = values
        output.written_attributes.add(name)
    records = source.records if source else ()
    header.vlrs.extend(_vlr(laspy, each) for each in records if not each.extended)
    extended = [_vlr(laspy, each) for each in records if each.extended]
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
                for name, values in columns.items():
                    points[name] = values[rows]
                writer.write_points(points)
            if extended:
                writer.write_evlrs(laspy.vlrs.vlrlist.VLRList(extended))
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


def _new_header(laspy: Any, source: LasHeader | None, coloured: bool) -> Any:
    if source is None:
        return laspy.LasHeader(point_format=7 if coloured else 6, version="1.4")
    # laspy writes no version before 1.1; the points of 1.0 are the same.
    version = "1.1" if source.version == "1.0" else source.version
    header = laspy.LasHeader(point_format=source.point_format, version=version)
    header.file_source_id = source.file_source_id
    header.global_encoding = laspy.header.GlobalEncoding(source.global_encoding)
    header.uuid = UUID(bytes_le=source.project_id)
    header.system_identifier = source.system_identifier
    header.generating_software = source.generating_software
    day, year = source.created
    if 1 <= day <= 366 and 1 <= year <= 9998:
        header.creation_date = date(year, 1, 1) + timedelta(day - 1)
    return header


def _scale_and_offset(points: Floats, source: LasHeader | None) -> tuple[Floats, Floats]:
    low, high = points.min(axis=0), points.max(axis=0)
    middle = np.round((low + high) / 2)
    scale, offset = np.empty(3), np.empty(3)
    for axis in range(3):
        wanted = [(source.scale[axis], source.offset[axis]), (source.scale[axis], middle[axis])] if source else []
        for scale[axis], offset[axis] in wanted:
            if _reach(low[axis], high[axis], offset[axis]) <= MAX_SCALED_COORDINATE * abs(scale[axis]):
                break
        else:
            offset[axis] = middle[axis]
            scale[axis] = _decimal_scale(points[:, axis], _reach(low[axis], high[axis], middle[axis]))
    return scale, offset


def _reach(low: float, high: float, offset: float) -> float:
    return max(high - offset, offset - low)


def _decimal_scale(values: Floats, reach: float) -> float:
    """The coarsest power of ten of which all values are multiples, else the finest that 32 bits allow."""
    finest = math.ceil(math.log10(max(reach, 1e-3) / MAX_SCALED_COORDINATE))
    rounding = 2 * np.spacing(np.abs(values).max())
    for exponent in range(round(math.log10(COARSEST_SCALE)), finest, -1):
        # The first values decide nearly always.
        for part in (values[:100], values):
            if np.abs(np.round(part, -exponent) - part).max() > rounding:
                break
        else:
            return float(f"1e{exponent}")
    return float(f"1e{finest}")


def _fits(cloud: Cloud, dimension: ExtraDimension) -> bool:
    """Whether a cloud still has the attribute of an extra dimension, in its type and shape."""
    values = cloud.attributes.get(dimension.name)
    if values is None or ":" in dimension.name:
        return False
    shape = () if dimension.elements == 1 else (dimension.elements,)
    same_type = values.dtype.kind == "f" if dimension.scales else values.dtype == np.dtype(dimension.type)
    return values.shape[1:] == shape and same_type


def _parameters(laspy: Any, dimension: ExtraDimension) -> Any:
    type = dimension.type if dimension.elements == 1 else f"{dimension.elements}{np.dtype(dimension.type).str[1:]}"
    return laspy.ExtraBytesParams(
        dimension.name, type, dimension.description, dimension.offsets, dimension.scales, dimension.no_data
    )


def _vlr(laspy: Any, record: LasRecord) -> Any:
    return laspy.VLR(record.user, record.number, record.description, record.data)
