"""E57, through pye57 (extra `e57`)."""

from __future__ import annotations

import errno
import struct
import uuid
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud, Floats
from graphreg.files.input_file import InputFile, guarded, library
from graphreg.files.output_file import OutputFile

POINTS_AT_ONCE = 250_000
PAGE = 1024
CARTESIAN = ("cartesianX", "cartesianY", "cartesianZ")
SPHERICAL = ("sphericalRange", "sphericalAzimuth", "sphericalElevation")
INVALID = ("cartesianInvalidState", "sphericalInvalidState")


def read(source: InputFile) -> Cloud:
    """All scans of the file, one after the other, in the common frame: each scan's pose is applied.

    Points that the file calls invalid are dropped and counted. Attributes are the fields that all scans have.
    """
    pye57 = library("pye57", "reading E57 files", "e57")
    _check_header(source)
    with guarded(source):
        file = pye57.E57(str(source.path))
    with file:
        with guarded(source):
            scans = [file.get_header(i) for i in range(file.scan_count)]
            total = sum(scan.point_count for scan in scans)
        if total == 0:
            source.fail("holds no points")
        pieces = []
        done = 0
        for scan in scans:
            columns = _read_scan(source, pye57.libe57, file.image_file, scan, done, total)
            with guarded(source):
                pieces.append((_place(source, scan, columns), columns))
            done += scan.point_count
    shared = set.intersection(*(set(columns) for _, columns in pieces))
    names = [name for name in pieces[0][1] if name in shared and name not in (*CARTESIAN, *SPHERICAL, *INVALID)]
    return source.cloud(
        np.concatenate([points for points, _ in pieces]),
        {name: np.concatenate([columns[name] for _, columns in pieces]) for name in names},
    )


def _check_header(source: InputFile) -> None:
    start = source.read_at(0, min(48, source.size))
    if start[:8] != b"ASTM-E57" or len(start) < 48:
        source.fail("does not begin with an E57 header")
    size, place, length, page = struct.unpack_from("<4Q", start, 16)
    if page != PAGE or size % PAGE:
        source.fail("has a damaged E57 header")
    if size != source.size:
        source.fail(f"says it has {size} bytes, but has {source.size}")
    if place > size or length > size - place:
        source.fail("says that its description lies behind its end")


def _read_scan(source: InputFile, libe57: Any, image: Any, scan: Any, done: int, total: int) -> dict[str, NDArray[Any]]:
    with guarded(source):
        prototype = libe57.StructureNode(scan.points.prototype())
        types = {name: dtype for name in scan.point_fields if (dtype := _dtype(libe57, prototype[name])) is not None}
        count = scan.point_count
    source.check_expansion(count * sum(dtype.itemsize for dtype in types.values()), "points")
    columns = {name: np.empty(count, dtype) for name, dtype in types.items()}
    capacity = min(POINTS_AT_ONCE, max(count, 1))
    with guarded(source):
        # One buffer for all chunks; the reader fills it from the beginning each time.
        buffers = {name: np.empty(capacity, dtype) for name, dtype in types.items()}
        destinations = libe57.VectorSourceDestBuffer()
        for name, buffer in buffers.items():
            destinations.append(libe57.SourceDestBuffer(image, name, buffer, capacity, True, True))
        reader = scan.points.reader(destinations)
    found = 0
    while found < count:
        with guarded(source):
            got = reader.read()
        if not 0 < got <= count - found:
            source.fail(f"says it holds a scan of {count} points but ends after {found}")
        for name, buffer in buffers.items():
            columns[name][found : found + got] = buffer[:got]
        found += got
        source.report_progress(source.size * (done + found) // total)
    with guarded(source):
        reader.close()
    return columns


def _dtype(libe57: Any, node: Any) -> np.dtype[Any] | None:
    if isinstance(node, libe57.FloatNode):
        return np.dtype(np.float32 if node.precision() == libe57.E57_SINGLE else np.float64)
    if isinstance(node, libe57.ScaledIntegerNode):
        return np.dtype(np.float64)
    # Not int64: the library takes numpy's letter for it, l, to be 32 bits wide.
    return np.dtype(np.longlong) if isinstance(node, libe57.IntegerNode) else None


def _place(source: InputFile, scan: Any, columns: dict[str, NDArray[Any]]) -> Floats:
    """The scan's points in the common frame, with nan for those that are invalid."""
    if all(name in columns for name in CARTESIAN):
        points = np.stack([columns[name].astype(np.float64) for name in CARTESIAN], axis=1)
    elif all(name in columns for name in SPHERICAL):
        radius, azimuth, elevation = (columns[name].astype(np.float64) for name in SPHERICAL)
        across = radius * np.cos(elevation)
        points = np.stack([across * np.cos(azimuth), across * np.sin(azimuth), radius * np.sin(elevation)], axis=1)
    else:
        source.fail(f"has a scan without coordinates, only {', '.join(columns)}")
    if scan.has_pose():
        w, x, y, z = _numbers(scan, "rotation", "wxyz", (1.0, 0.0, 0.0, 0.0))
        length = np.sqrt(w * w + x * x + y * y + z * z)
        if not np.isfinite(length) or length == 0:
            source.fail("has a scan whose pose is no rotation")
        w, x, y, z = w / length, x / length, y / length, z / length
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        points = points @ rotation.T + np.array(_numbers(scan, "translation", "xyz", (0.0, 0.0, 0.0)))
    for name in INVALID:
        if name in columns:
            points[columns[name] != 0] = np.nan
    return points


def _numbers(scan: Any, part: str, names: str, default: tuple[float, ...]) -> tuple[float, ...]:
    if not scan.node.isDefined(f"pose/{part}"):
        return default
    node = scan.node["pose"][part]
    return tuple(float(node[name].value()) for name in names)


def write(output: OutputFile, cloud: Cloud) -> None:
    """One scan without a pose, x y z in double precision."""
    pye57 = library("pye57", "writing E57 files", "e57")
    libe57 = pye57.libe57
    output.file.close()  # the library opens files by name
    file: Any = None
    try:
        with pye57.E57(str(output.path), "w") as file:
            image = file.image_file
            scan = libe57.StructureNode(image)
            scan.set("guid", libe57.StringNode(image, f"{{{uuid.uuid4()}}}"))
            prototype = libe57.StructureNode(image)
            for name in CARTESIAN:
                prototype.set(name, libe57.FloatNode(image, 0.0, libe57.E57_DOUBLE))
            points = libe57.CompressedVectorNode(image, prototype, libe57.VectorNode(image, True))
            scan.set("points", points)
            file.data3d.append(scan)
            buffers = [np.empty(min(len(cloud), POINTS_AT_ONCE)) for _ in CARTESIAN]
            sources = libe57.VectorSourceDestBuffer()
            for name, buffer in zip(CARTESIAN, buffers, strict=True):
                sources.append(libe57.SourceDestBuffer(image, name, buffer, len(buffer), True, True))
            writer = points.writer(sources)
            for part in output.parts(cloud, POINTS_AT_ONCE):
                for i, buffer in enumerate(buffers):
                    buffer[: part.stop - part.start] = cloud.points[part, i]
                writer.write(part.stop - part.start)
            writer.close()
    except libe57.E57Exception as problem:
        if file is not None:
            del file.image_file  # or it would write, and complain, once more as it is forgotten
        said = str(problem).partition("\n")[0]
        raise OSError(errno.EIO, f"the E57 library could not write it ({said})") from problem
