"""Point-cloud files: `read` and `write` choose the format by the file's suffix."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from graphreg.clouds import Cloud, Floats, as_cloud
from graphreg.errors import FileError
from graphreg.files.input_file import InputFile, Progress, library
from graphreg.files.output_file import atomic_write, check_output_path, left_out

__all__ = ["Format", "Progress", "check_writable", "formats", "read", "read_cloud", "write"]


@dataclass(frozen=True)
class Format:
    """What a suffix stands for: a few words, whether it is read and written, the extra that this needs."""

    description: str
    reads: bool = True
    writes: bool = True
    extra: str | None = None


# suffix -> what it is, and the functions in graphreg.files that read and write it
_FORMATS: dict[str, tuple[Format, str, str]] = {
    ".ply": (Format("PLY, text or binary"), "ply.read", "ply.write"),
    ".pcd": (Format("PCD of the Point Cloud Library"), "pcd.read", "pcd.write"),
    ".las": (Format("LAS", extra="las"), "las.read", "las.write"),
    ".laz": (Format("LAZ, compressed LAS", extra="las"), "las.read", "las.write"),
    ".e57": (Format("E57, all scans in one frame", extra="e57"), "e57.read", "e57.write"),
    ".xyz": (Format("lines of numbers"), "text.read", "text.write"),
    ".txt": (Format("lines of numbers"), "text.read", "text.write"),
    ".asc": (Format("lines of numbers"), "text.read", "text.write"),
    ".pts": (Format("a count, then lines of numbers"), "text.read", "text.write"),
    ".csv": (Format("a table with a header line"), "text.read", "text.write_csv"),
    ".npy": (Format("a numpy array"), "arrays.read_npy", "arrays.write_npy"),
    ".npz": (Format("several numpy arrays"), "arrays.read_npz", "arrays.write_npz"),
    ".obj": (Format("OBJ, the vertices"), "obj.read", "obj.write"),
    ".stl": (Format("STL, the corners", writes=False), "stl.read", ""),
    ".off": (Format("OFF, the vertices"), "off.read", "off.write"),
    ".bin": (Format("KITTI velodyne frame, single precision"), "kitti_bin.read", "kitti_bin.write"),
}
# extra -> the library that it installs, and what this is for
_LIBRARIES = {"las": ("laspy", "LAS and LAZ"), "e57": ("pye57", "E57")}


def formats() -> dict[str, Format]:
    """The known suffixes, and what each is."""
    return {suffix: format for suffix, (format, _, _) in _FORMATS.items()}


def read(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Floats:
    """The points of a file, (N, 3) float64, without those that are not finite.

    path       its suffix says the format, see `formats`
    progress   called as progress(done_bytes, total_bytes) every few megabytes; what it raises goes through

    A file that is damaged, cut short or empty is a FileError that says what is wrong with it. Text may end without
    a line break, unless nothing says how many rows there are and the last number has fewer decimals than each of the
    100 before it: then it looks cut short.
    """
    return read_cloud(path, progress=progress).points


def read_cloud(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Cloud:
    """Like `read`, with what else the file says of each point, and which rows were dropped.

    Attributes have the file's own names and types: red, intensity, nx, gps_time, ... Text files that declare
    no types give float64.
    """
    path = Path(path)
    if path.is_dir():
        raise FileError(path, "is a folder, not a file")
    _, reader, _ = _format(path)
    if path.exists() and not path.is_file():
        raise FileError(path, "is not a regular file")  # a pipe has no size to check claims against
    # What is not finite is dropped and counted, so numpy need not warn of it.
    with InputFile(path, progress) as file, np.errstate(all="ignore"):
        if file.size == 0:
            file.fail("is empty")
        return cast(Cloud, _function(reader)(file))


def write(path: str | os.PathLike[str], points: Any, *, progress: Progress | None = None) -> tuple[str, ...]:
    """Write points to a file that appears only when it is whole: on any failure an old file stays as it was.

    path       its suffix says the format, see `formats`
    points     an (N, 3) array, whatever else graphreg takes for points, or a Cloud
    progress   called as progress(done_bytes, total_bytes), in bytes of memory

    The attributes of a Cloud are written to .ply, .pcd, .las, .laz, .npz and .csv as far as the format holds
    such values; to .bin reflectance alone; to the others none. Points that are not finite are left out.

    Returns the names of the attributes that were left out.
    """
    path = Path(path)
    _, _, writer = _format(path)
    check_writable(path)
    cloud = as_cloud(points)
    with atomic_write(path, progress) as output, np.errstate(all="ignore"):
        _function(writer)(output, cloud)
        return left_out(cloud, output.held)


def check_writable(path: Path) -> None:
    """Refuse what `write` could not write to, before the work that leads there is done."""
    format, _, _ = _format(path)
    suffix = path.suffix.lower()
    if not format.writes:
        raise FileError(path, f"{suffix} files can be read, but not written")
    if format.extra is not None:
        name, what = _LIBRARIES[format.extra]
        library(name, f"writing {what} files", format.extra)
    check_output_path(path)


def _format(path: Path) -> tuple[Format, str, str]:
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        said = f"its suffix {path.suffix!r} is not known" if suffix else "it has no suffix"
        raise FileError(path, f"{said}; point clouds are {' '.join(_FORMATS)}")
    return _FORMATS[suffix]


def _function(name: str) -> Callable[..., Any]:
    # Loaded when needed: `import graphreg` must stay quick.
    module, function = name.split(".")
    return cast(Callable[..., Any], getattr(import_module(f"graphreg.files.{module}"), function))
