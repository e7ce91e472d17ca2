"""E57, through pye57 (extra `e57`)."""

from __future__ import annotations

import contextlib
import errno
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud, Floats
from graphreg.files.attribute_columns import cloud_from_points, column_name
from graphreg.files.e57_xml import check_xml
from graphreg.files.input_file import InputFile, parse_integer, quote
from graphreg.files.optional_libraries import import_library, reporting_damage
from graphreg.files.output_file import OutputFile
from graphreg.poses import pose

# Points that are read or written at a time.
E57_CHUNK_POINTS = 250_000
# The largest integer that is written, and the largest that is written as a float.
E57_MAX_INTEGER = 2**62
MAX_EXACT_INTEGER = 2**53
# Scans that an error message lists.
MAX_SHOWN_SCANS = 10
# Names of the fields of a point.
E57_CARTESIAN = ("cartesianX", "cartesianY", "cartesianZ")
E57_SPHERICAL = ("sphericalRange", "sphericalAzimuth", "sphericalElevation")
E57_INVALID = ("cartesianInvalidState", "sphericalInvalidState")
# Other fields of a point in the standard, of numbers and of integers, and what they are called in other formats.
E57_NUMBERS = ("intensity", "timeStamp")
E57_INTEGERS = ("colorRed", "colorGreen", "colorBlue", "rowIndex", "columnIndex", "returnIndex", "returnCount")
E57_NAMES = {"red": "colorRed", "green": "colorGreen", "blue": "colorBlue", "gps_time": "timeStamp"}


@dataclass(frozen=True)
class E57Scan:
    """A scan of an E57 file.

    Attributes
    ----------
    number : int
        Its place in the file, from 1.
    name : str
        Empty where the file has none for it.
    points : int
    pose : tuple of 4 tuples of 4 float, or None
        The pose of the scanner in the common frame, None where the file has none. It is applied to the points.
    """

    number: int
    name: str
    points: int
    pose: tuple[tuple[float, ...], ...] | None


def list_scans(file: InputFile) -> list[E57Scan]:
    """The scans of a file, without their points."""
    with _open(file) as (_, _, headers), reporting_damage(file.path):
        return [
            E57Scan(
                number,
                _name(header),
                header.point_count,
                None if (matrix := _pose(file, header)) is None else tuple(map(tuple, matrix.tolist())),
            )
            for number, header in enumerate(headers, 1)
        ]


def read(file: InputFile, scan: str | None = None) -> Cloud:
    """Read the scans of a file, concatenated, in the common frame: the pose of each scan is applied.

    Points that the file marks as invalid are dropped and counted. Attributes are the fields that all scans have.

    Parameters
    ----------
    file : InputFile
    scan : str, optional
        The number of a scan, from 1, or its name; by default all are read.

    Returns
    -------
    Cloud
    """
    with _open(file) as (pye57, e57, headers):
        with reporting_damage(file.path):
            scans = headers if scan is None else [_choose(file, headers, scan)]
            types = [_types(pye57.libe57, each) for each in scans]
            total = sum(each.point_count for each in scans)
            size = sum(
                each.point_count * sum(dtype.itemsize for dtype in fields.values())
                for each, fields in zip(scans, types, strict=True)
            )
        if total == 0:
            file.fail("has no points")
        file.check_expansion(size, "points")
        scan_points, scan_columns = [], []
        done = 0
        for each, fields in zip(scans, types, strict=True):
            columns = _read_scan(file, pye57.libe57, e57.image_file, each, fields, done, total)
            with reporting_damage(file.path):
                scan_points.append(_points_in_common_frame(file, each, columns))
            scan_columns.append(columns)
            done += each.point_count
    shared = set.intersection(*(set(columns) for columns in scan_columns))
    names = [
        name
        for name in scan_columns[0]
        if name in shared and name not in (*E57_CARTESIAN, *E57_SPHERICAL, *E57_INVALID)
    ]
    attributes = {name: np.concatenate([columns[name] for columns in scan_columns]) for name in names}
    return cloud_from_points(file, np.concatenate(scan_points), attributes)


@contextlib.contextmanager
def _open(file: InputFile) -> Iterator[tuple[Any, Any, list[Any]]]:
    """The library, the open file, and the header of each scan."""
    pye57 = import_library("pye57", "reading E57 files", "e57")
    check_xml(file)
    with reporting_damage(file.path):
        e57 = pye57.E57(str(file.path))
    with e57:
        with reporting_damage(file.path):
            headers = [e57.get_header(i) for i in range(e57.scan_count)]
        yield pye57, e57, headers


def _name(header: Any) -> str:
    return str(header.node["name"].value()) if header.node.isDefined("name") else ""


def _choose(file: InputFile, headers: list[Any], scan: str) -> Any:
    names = [_name(header) for header in headers]
    number = parse_integer(scan)
    if number is not None and 1 <= number <= len(headers):
        return headers[number - 1]
    if names.count(scan) == 1:
        return headers[names.index(scan)]
    if scan in names:
        file.fail(f"has {names.count(scan)} scans called {quote(scan)}; choose one by its number, from 1")
    shown = ", ".join(f"{i} {quote(name)}" if name else str(i) for i, name in enumerate(names[:MAX_SHOWN_SCANS], 1))
    more = ", ..." if len(names) > MAX_SHOWN_SCANS else ""
    return file.fail(f"has no scan {quote(scan)}; its scans are {shown}{more}")


def _read_scan(
    file: InputFile, libe57: Any, image: Any, scan: Any, types: dict[str, np.dtype[Any]], done: int, total: int
) -> dict[str, NDArray[Any]]:
    count = scan.point_count
    columns = {name: np.empty(count, dtype) for name, dtype in types.items()}
    capacity = min(E57_CHUNK_POINTS, max(count, 1))
    with reporting_damage(file.path):
        # One buffer for all chunks; the reader fills it from the beginning each time.
        buffers = {name: np.empty(capacity, dtype) for name, dtype in types.items()}
        destinations = libe57.VectorSourceDestBuffer()
        for name, buffer in buffers.items():
            destinations.append(libe57.SourceDestBuffer(image, name, buffer, capacity, True, True))
        reader = scan.points.reader(destinations)
    found = 0
    while found < count:
        with reporting_damage(file.path):
            got = reader.read()
        if not 0 < got <= count - found:
            file.fail(f"declares a scan of {count} points but ends after {found}")
        for name, buffer in buffers.items():
            columns[name][found : found + got] = buffer[:got]
        found += got
        file.report_progress(file.size * (done + found) // total)
    with reporting_damage(file.path):
        reader.close()
    return columns


def _types(libe57: Any, scan: Any) -> dict[str, np.dtype[Any]]:
    """The numeric fields of a scan."""
    prototype = libe57.StructureNode(scan.points.prototype())
    return {name: dtype for name in scan.point_fields if (dtype := _dtype(libe57, prototype[name])) is not None}


def _dtype(libe57: Any, node: Any) -> np.dtype[Any] | None:
    if isinstance(node, libe57.FloatNode):
        return np.dtype(np.float32 if node.precision() == libe57.E57_SINGLE else np.float64)
    if isinstance(node, libe57.ScaledIntegerNode):
        return np.dtype(np.float64)
    # Not int64: the library takes numpy's type code for it, l, to be 32 bits wide.
    return np.dtype(np.longlong) if isinstance(node, libe57.IntegerNode) else None


def _points_in_common_frame(file: InputFile, scan: Any, columns: dict[str, NDArray[Any]]) -> Floats:
    """The points of a scan in the common frame, with nan for those that are invalid."""
    if all(name in columns for name in E57_CARTESIAN):
        points = np.stack([columns[name].astype(np.float64) for name in E57_CARTESIAN], axis=1)
    elif all(name in columns for name in E57_SPHERICAL):
        radius, azimuth, elevation = (columns[name].astype(np.float64) for name in E57_SPHERICAL)
        across = radius * np.cos(elevation)
        points = np.stack([across * np.cos(azimuth), across * np.sin(azimuth), radius * np.sin(elevation)], axis=1)
    else:
        file.fail(f"has a scan without coordinates, only {', '.join(columns)}")
    if (matrix := _pose(file, scan)) is not None:
        points = points @ matrix[:3, :3].T + matrix[:3, 3]
    for name in E57_INVALID:
        if name in columns:
            points[columns[name] != 0] = np.nan
    return points


def _pose(file: InputFile, scan: Any) -> Floats | None:
    """The pose of the scanner in the common frame."""
    if not scan.has_pose():
        return None
    w, x, y, z = _numbers(scan, "rotation", "wxyz", (1.0, 0.0, 0.0, 0.0))
    length = np.sqrt(w * w + x * x + y * y + z * z)
    if not np.isfinite(length) or length == 0:
        file.fail("has a scan whose pose is no rotation")
    w, x, y, z = w / length, x / length, y / length, z / length
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return pose(rotation, np.array(_numbers(scan, "translation", "xyz", (0.0, 0.0, 0.0))))


def _numbers(scan: Any, part: str, names: str, default: tuple[float, ...]) -> tuple[float, ...]:
    if not scan.node.isDefined(f"pose/{part}"):
        return default
    node = scan.node["pose"][part]
    return tuple(float(node[name].value()) for name in names)


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write one scan without a pose, x y z in double precision, and the attributes that the standard has a field for.

    These are intensity, colours, time, row and column, and the number of a return.
    """
    pye57 = import_library("pye57", "writing E57 files", "e57")
    libe57 = pye57.libe57
    output.file.close()  # the library opens files by name
    fields = _fields(output, cloud)
    e57: Any = None
    try:
        with pye57.E57(str(output.path), "w") as e57:
            image = e57.image_file
            scan = libe57.StructureNode(image)
            scan.set("guid", libe57.StringNode(image, f"{{{uuid.uuid4()}}}"))
            prototype = libe57.StructureNode(image)
            for name in E57_CARTESIAN:
                prototype.set(name, libe57.FloatNode(image, 0.0, libe57.E57_DOUBLE))
            for name, values in fields.items():
                prototype.set(name, _node(libe57, image, values))
            points = libe57.CompressedVectorNode(image, prototype, libe57.VectorNode(image, True))
            scan.set("points", points)
            e57.data3d.append(scan)
            columns = dict(zip(E57_CARTESIAN, cloud.points.T, strict=True)) | fields
            buffers = {name: np.empty(min(len(cloud), E57_CHUNK_POINTS), rows.dtype) for name, rows in columns.items()}
            sources = libe57.VectorSourceDestBuffer()
            for name, buffer in buffers.items():
                sources.append(libe57.SourceDestBuffer(image, name, buffer, len(buffer), True, True))
            writer = points.writer(sources)
            for rows in output.chunks(cloud, E57_CHUNK_POINTS):
                for name, buffer in buffers.items():
                    buffer[: rows.stop - rows.start] = columns[name][rows]
                writer.write(rows.stop - rows.start)
            writer.close()
    except libe57.E57Exception as problem:
        if e57 is not None:
            del e57.image_file  # or it would write, and fail, once more when it is deleted
        message = str(problem).partition("\n")[0]
        raise OSError(errno.EIO, f"the E57 library could not write it ({message})") from problem


def _fields(output: OutputFile, cloud: Cloud) -> dict[str, NDArray[Any]]:
    """The attributes that have a field, by the name of the field."""
    fields: dict[str, NDArray[Any]] = {}
    for name, values in cloud.attributes.items():
        field = E57_NAMES.get(name, name)
        if values.ndim != 1 or field in fields:
            continue
        if field in E57_NUMBERS and (values.dtype.kind == "f" or _is_integer(values, MAX_EXACT_INTEGER)):
            single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
            fields[field] = values.astype(np.float32 if single else np.float64)
        elif field in E57_INTEGERS and _is_integer(values, E57_MAX_INTEGER):
            fields[field] = values.astype(np.longlong)
        else:
            continue
        output.written_attributes.add(column_name(name))
    return fields


def _is_integer(values: NDArray[Any], most: int) -> bool:
    return values.dtype.kind in "iu" and -most <= int(values.min()) and int(values.max()) <= most


def _node(libe57: Any, image: Any, values: NDArray[Any]) -> Any:
    """The type of a field. The bounds of an integer say what white is, and how many bits it takes."""
    if values.dtype.kind == "f":
        single = values.dtype == np.float32
        return libe57.FloatNode(image, 0.0, libe57.E57_SINGLE if single else libe57.E57_DOUBLE)
    low, high = int(values.min()), int(values.max())
    bounds = ((0, 2**8 - 1), (0, 2**16 - 1), (0, 2**32 - 1), (-E57_MAX_INTEGER, E57_MAX_INTEGER))
    return libe57.IntegerNode(image, 0, *next(pair for pair in bounds if pair[0] <= low and high <= pair[1]))
