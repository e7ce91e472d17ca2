"""KITTI's velodyne frames (.bin): x y z reflectance, single precision, and nothing else in the file."""

from __future__ import annotations

import numpy as np

from graphreg.clouds import Cloud
from graphreg.errors import InputError
from graphreg.files.input_file import InputFile
from graphreg.files.output_file import OutputFile

RECORD = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("reflectance", "<f4")])
# Of the cloud's size: a single-precision rounding beyond it would show.
LARGEST_ROUNDING = 1e-5


def read(file: InputFile) -> Cloud:
    if file.size % RECORD.itemsize:
        file.fail(f"its size of {file.size} bytes is no whole number of points of {RECORD.itemsize} bytes")
    records = file.read_records(RECORD, file.size // RECORD.itemsize, "points")
    return file.split({name: records[name] for name in RECORD.names or ()})


def write(output: OutputFile, cloud: Cloud) -> None:
    """Single precision: a cloud far from the origin, as in a national grid, is refused and not spoilt."""
    rounding = np.abs(cloud.points).max() * 2.0**-24
    extent = float(np.ptp(cloud.points, axis=0).max())
    if len(cloud) > 1 and rounding > LARGEST_ROUNDING * extent:
        raise InputError(f"points: so far from the origin .bin rounds them by {rounding:.2g}; shift them or write .ply")
    if "reflectance" in cloud.attributes:
        output.held.add("reflectance")
    reflectance = np.asarray(cloud.attributes.get("reflectance", np.zeros(len(cloud)))).reshape(len(cloud), -1)[:, 0]
    for part in output.parts(cloud):
        records = np.empty((part.stop - part.start, 4), "<f4")
        records[:, :3] = cloud.points[part]
        records[:, 3] = reflectance[part]
        output.file.write(records.data)
