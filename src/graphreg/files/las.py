"""LAS and LAZ, through laspy (extra `las`)."""

from __future__ import annotations

import errno
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Cloud, Floats
from graphreg.files import laz
from graphreg.files.input_file import InputFile, guarded, library
from graphreg.files.output_file import OutputFile, flat_columns

BYTES_AT_ONCE = 1 << 24
# A regular grid shrinks to a few thousandths. Memory is set aside only as points come out.
MAX_EXPANSION = 10_000
# Of a signed 32-bit integer; a little is left for rounding.
LARGEST_STEP = 2.0**31 - 2


def read(file: InputFile) -> Cloud:
    """Coordinates with scale and offset applied; every other dimension is an attribute by its LAS name."""
    laspy = library("laspy", "reading LAS and LAZ files", "las")
    count, width = _check_header(file)
    step = max(BYTES_AT_ONCE // width, 1)
    pieces: list[Floats] = []
    extra: dict[str, list[NDArray[Any]]] = {}
    found = 0
    with guarded(file):
        # The parallel one sets memory aside for whatever the chunk table says.
        reader = laspy.open(file.path, laz_backend=laspy.LazBackend.Lazrs, read_evlrs=False)
    with reader:
        while found < count:
            with guarded(file):
                chunk = reader.read_points(min(step, count - found))
                pieces.append(np.stack([np.asarray(chunk[axis], np.float64) for axis in "xyz"], axis=1))
                for name in chunk.point_format.dimension_names:
                    if name not in ("X", "Y", "Z"):
                        extra.setdefault(name, []).append(np.array(chunk[name]))
            if len(chunk) == 0:
                file.fail(f"says it holds {count} points but ends after {found}")
            found += len(chunk)
            file.report_progress(file.size * found // count)
    return file.cloud(np.concatenate(pieces), {name: np.concatenate(values) for name, values in extra.items()})


def _check_header(file: InputFile) -> tuple[int, int]:
    """How many points, of how many bytes. laspy trusts the header, so it is compared with the file here."""
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
        file.fail("its header holds a scale or an offset that is no number to use")
    if records * 54 > data - size:
        file.fail(f"says it has {records} variable-length records, which do not fit before its points")
    if minor == 4:
        count = struct.unpack_from("<Q", start, 247)[0]
    if count == 0:
        file.fail("holds no points")
    if kind & 0xC0:
        file.check_expansion(count * width, "points", MAX_EXPANSION)
        laz.check(file, size, records, data, width, count)
    elif count > (file.size - data) // width:
        file.fail(f"says it holds {count} points but ends after {(file.size - data) // width}")
    return count, width


def write(output: OutputFile, cloud: Cloud) -> None:
    """LAS 1.4. The scale of each axis is the finest power of ten that 32 bits allow; half of it is the error.

    An attribute goes to the dimension of its name where there is one, else to an extra dimension. It is left
    out where the dimension cannot hold all its values, or its name has more than 32 bytes.
    """
    laspy = library("laspy", "writing LAS and LAZ files", "las")
    extra = flat_columns(cloud)
    header = laspy.LasHeader(point_format=7 if "red" in extra else 6, version="1.4")
    low, high = cloud.points.min(axis=0), cloud.points.max(axis=0)
    header.offsets = np.round((low + high) / 2)
    farthest = np.maximum(np.abs(cloud.points - header.offsets).max(axis=0), 1e-3)
    header.scales = 10.0 ** np.ceil(np.log10(farthest / LARGEST_STEP))
    standard = {dimension.name: dimension for dimension in header.point_format.dimensions}
    for name in list(extra):
        if name in standard:
            if not _fits(extra[name], standard[name]):
                del extra[name]
        elif len(name.encode()) <= 32:
            header.add_extra_dim(laspy.ExtraBytesParams(name, extra[name].dtype))
        else:
            del extra[name]
    output.held.update(extra)
    try:
        with laspy.open(
            output.file,
            "w",
            header=header,
            do_compress=output.suffix == ".laz",
            laz_backend=laspy.LazBackend.Lazrs,
            closefd=False,
        ) as writer:
            for part in output.parts(cloud):
                points = laspy.ScaleAwarePointRecord.zeros(part.stop - part.start, header=header)
                points["x"], points["y"], points["z"] = cloud.points[part].T
                for name, values in extra.items():
                    points[name] = values[part]
                writer.write_points(points)
    except library("lazrs", "writing LAZ files", "las").LazrsError as problem:
        raise OSError(errno.EIO, f"the LAZ library could not write it ({problem})") from problem


def _fits(values: NDArray[Any], dimension: Any) -> bool:
    """Whether a standard dimension, which may have only a few bits, holds the values without change."""
    if dimension.name in ("X", "Y", "Z"):
        return False
    if dimension.dtype is not None and dimension.dtype.kind == "f":
        return bool(np.array_equal(values.astype(dimension.dtype), values, equal_nan=True))
    whole = values.dtype.kind in "iu" or bool((values == np.trunc(values)).all())
    return whole and bool(values.min() >= dimension.min and values.max() <= dimension.max)
