"""Velodyne frames of KITTI (.bin): records of x, y, z, reflectance in single precision, without a header."""

from __future__ import annotations

import numpy as np

from graphreg.clouds import Cloud, extent
from graphreg.errors import InputError
from graphreg.files.attribute_columns import cloud_from_columns
from graphreg.files.input_file import InputFile
from graphreg.files.output_file import OutputFile

KITTI_RECORD = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("reflectance", "<f4")])
# Chosen: the largest error of rounding to single precision that is accepted, as a share of the cloud's extent.
MAX_ROUNDING = 1e-5


def read(file: InputFile) -> Cloud:
    """Read a frame, with the attribute reflectance."""
    if file.size % KITTI_RECORD.itemsize:
        file.fail(f"its size of {file.size} bytes is no whole number of points of {KITTI_RECORD.itemsize} bytes")
    records = file.read_records(KITTI_RECORD, file.size // KITTI_RECORD.itemsize, "points")
    return cloud_from_columns(file, {name: records[name] for name in KITTI_RECORD.names or ()})


def write(output: OutputFile, cloud: Cloud) -> None:
    """Write a frame. A cloud far from the origin, as in a national grid, would lose its precision and is refused."""
    rounding = np.abs(cloud.points).max() * 2.0**-24
    if len(cloud) > 1 and rounding > MAX_ROUNDING * extent(cloud.points):
        raise InputError(
            f"points: so far from the origin that .bin rounds them by {rounding:.2g}; move them to it, or write .ply"
        )
    if "reflectance" in cloud.attributes:
        output.written_attributes.add("reflectance")
    reflectance = np.asarray(cloud.attributes.get("reflectance", np.zeros(len(cloud)))).reshape(len(cloud), -1)[:, 0]
    for rows in output.chunks(cloud):
        records = np.empty((rows.stop - rows.start, 4), "<f4")
        records[:, :3] = cloud.points[rows]
        records[:, 3] = reflectance[rows]
        output.file.write(records.data)
