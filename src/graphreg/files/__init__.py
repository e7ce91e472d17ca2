"""Files of point clouds and meshes: `read` and `write` choose the format by the file's suffix."""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from graphreg.clouds import Cloud, Floats, as_cloud, as_mesh, loaded
from graphreg.errors import FileError
from graphreg.feedback.progress_bars import check_progress, progress_bar
from graphreg.files.attribute_columns import omitted_attributes
from graphreg.files.faces import vertex_cloud
from graphreg.files.input_file import InputFile, Progress, as_path, require_file
from graphreg.files.optional_libraries import import_library
from graphreg.files.output_file import atomic_write, check_output_path
from graphreg.meshes.triangle_mesh import Mesh

if TYPE_CHECKING:
    from graphreg.files.e57 import E57Scan

__all__ = [
    "Format",
    "Progress",
    "check_writable",
    "formats",
    "list_scans",
    "read",
    "read_cloud",
    "read_mesh",
    "read_scan",
    "split_scan",
    "write",
]


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    description : str
    reads, writes : bool
        Whether it is read, and whether points are written to it.
    faces : bool
        Whether it is read and written with the faces of meshes.
    extra : str or None
        The extra of graphreg that it needs.
    """

    description: str
    reads: bool = True
    writes: bool = True
    extra: str | None = None
    faces: bool = False


# suffix -> the format, and the functions of graphreg.files that read and write it
_FORMATS: dict[str, tuple[Format, str, str]] = {
    ".ply": (Format("PLY, text or binary", faces=True), "ply.read", "ply.write"),
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
    ".obj": (Format("OBJ", faces=True), "obj.read", "obj.write"),
    ".stl": (Format("STL", writes=False, faces=True), "stl.read", ""),
    ".off": (Format("OFF", faces=True), "off.read", "off.write"),
    ".bin": (Format("KITTI velodyne frame, single precision"), "kitti_bin.read", "kitti_bin.write"),
}
# A scan of an E57 file, and the columns of the coordinates in a text file.
_PART_OF_FILE = re.compile(
    r"(.*\.e57(?=#)|.*\.(?:xyz|txt|asc|csv|pts)(?=#[0-9]{1,5},[0-9]{1,5},[0-9]{1,5}$))#(.+)", re.IGNORECASE | re.DOTALL
)
# What files of a format begin with, to name the format of a file with the suffix of another one.
_BEGINNINGS = {
    b"ply": (".ply",),
    b"solid": (".stl",),
    b"# .PCD": (".pcd",),
    b"LASF": (".las", ".laz"),
    b"ASTM-E57": (".e57",),
    b"\x93NUMPY": (".npy",),
}
# Formats of other programs that cannot be read -> what they can be exported as.
_EXPORTS = {
    **dict.fromkeys((".step", ".stp", ".iges", ".igs", ".3mf", ".dxf", ".glb", ".gltf", ".fbx"), "a mesh, as .stl"),
    **dict.fromkeys((".rcp", ".rcs", ".fls", ".zfs", ".ptx", ".rdbx", ".zfprj"), "points, as .e57 or .laz"),
}
# extra -> the library that it installs, and the formats that it is for
_LIBRARIES = {"las": ("laspy", "LAS and LAZ"), "e57": ("pye57", "E57")}


def formats() -> dict[str, Format]:
    """The file formats by their suffix.

    Returns
    -------
    dict of str to Format

    Examples
    --------
    >>> formats()[".ply"].description
    'PLY, text or binary'
    >>> [suffix for suffix, format in formats().items() if not format.writes]
    ['.stl']
    """
    return {suffix: format for suffix, (format, _, _) in _FORMATS.items()}


def read(path: str | os.PathLike[str], *, progress: bool | Progress | None = None) -> Floats:
    """Read the points of a file, without those that are not finite; of a mesh, points sampled from its surface.

    Text may end without a line break, unless nothing declares how many rows there are and the last number has fewer
    decimals than each of the 100 before it: then it looks truncated.

    Parameters
    ----------
    path : str or path-like
        The suffix selects the format, see `formats`. One scan of an E57 file is site.e57#2, by its number from 1, or
        site.e57#hall, by its name, see `list_scans`. The coordinates of a text file are in the columns 2, 3 and 4 of
        points.csv#2,3,4; without these they are found by their names, or are the first three. A folder of tiles, as
        `sequence` writes a map, is read as a whole.
    progress : bool, callable or bar of tqdm, optional
        True shows a bar. A function is called as progress(done_bytes, total_bytes) every few megabytes; what it raises
        is passed on.

    Returns
    -------
    (N, 3) ndarray

    Raises
    ------
    FileError
        Where the file is damaged, truncated or empty, or its suffix unknown; the message says what is wrong.
    MissingExtraError
        Where the format needs an extra that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(f"{folder}/scan.ply", [[0, 0, 0], [1, 2, 3]])
    ...     read(f"{folder}/scan.ply")
    array([[0., 0., 0.],
           [1., 2., 3.]])
    """
    return read_cloud(path, progress=progress).points


def read_cloud(path: str | os.PathLike[str], *, progress: bool | Progress | None = None) -> Cloud:
    """Read a file with the attributes of its points.

    Parameters
    ----------
    path, progress
        As in `read`.

    Returns
    -------
    Cloud
        Attributes have the file's own names and types: red, intensity, nx, gps_time, ... Text files that declare no
        types have float64. Of a file with faces, 40,000 points sampled by area, with normals as nx, ny, nz; but its
        vertices where they sample the surface by themselves, as those of a meshed scan do: where triangles with no edge
        longer than 0.02 times the square root of the area have 95 % of the area.

    Raises
    ------
    FileError, MissingExtraError
        As in `read`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scan.csv")
    ...     _ = path.write_text("x,y,z,intensity\\n0,0,0,7\\nnan,0,0,8\\n1,2,3,9\\n")
    ...     cloud = read_cloud(path)
    >>> len(cloud), cloud.dropped
    (2, 1)
    >>> cloud.attributes["intensity"]
    array([7., 9.])
    """
    return as_cloud(read_scan(path, progress=progress))


def read_mesh(path: str | os.PathLike[str], *, progress: bool | Progress | None = None) -> Mesh:
    """Read a file with its faces: .stl, .obj, .ply or .off.

    Parameters
    ----------
    path, progress
        As in `read`.

    Returns
    -------
    Mesh
        Polygons are divided into triangles. Vertices that are not finite are left out with their faces.

    Raises
    ------
    FileError
        As in `read`, or where the file has no faces.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "square.obj")
    ...     _ = path.write_text("v 0 0 0\\nv 1 0 0\\nv 1 1 0\\nv 0 1 0\\nf 1 2 3 4\\n")
    ...     mesh = read_mesh(path)
    >>> mesh.faces
    array([[0, 1, 2],
           [0, 2, 3]], dtype=int32)
    """
    scan = read_scan(path, progress=progress)
    if not isinstance(scan, Mesh):
        raise FileError(as_path(path), "has no faces, so it is no mesh")
    return scan


def read_scan(path: str | os.PathLike[str], *, progress: bool | Progress | None = None) -> Cloud | Mesh:
    """Read a file as it is: a mesh where it has faces, else a cloud.

    Parameters
    ----------
    path, progress
        As in `read`.

    Returns
    -------
    Cloud or Mesh

    Raises
    ------
    FileError, MissingExtraError
        As in `read`.
    """
    path, scan = split_scan(as_path(path))
    check_progress(progress)
    if path.is_dir():
        with progress_bar(progress, f"reading {path.name}") as show:
            return cast(Cloud, _function("map_tiles.read_tiles")(path, show))
    if not path.suffix and not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    require_file(path)  # a pipe has no size to check counts against
    _, reader, _ = _format(path)
    # Rows that are not finite are dropped and counted, so numpy need not warn of them.
    with (
        progress_bar(progress, f"reading {path.name}") as show,
        InputFile(path, show) as file,
        np.errstate(all="ignore"),
    ):
        if file.size == 0:
            file.fail("is empty")
        chosen = () if scan is None else (scan,)
        _log.debug("reading %s, %d bytes", path, file.size)
        try:
            return cast("Cloud | Mesh", _function(reader)(file, *chosen))
        except FileError as problem:
            beginning = file.read_at(0, min(8, file.size))
            found = next((suffixes for start, suffixes in _BEGINNINGS.items() if beginning.startswith(start)), ())
            if not found or path.suffix.lower() in found:
                raise
            of = " or ".join(found)
            raise FileError(
                path, f"{problem.problem}; it begins like a {of} file: if it is one, rename it"
            ) from problem


# A path is accepted wherever a cloud or a mesh is.
@loaded.register(str)
@loaded.register(os.PathLike)
def _scan_at(path: str | os.PathLike[str]) -> Cloud | Mesh:
    try:
        return read_scan(path)
    except OSError as problem:
        raise FileError(Path(path), problem.strerror or str(problem)) from problem


def split_scan(path: Path) -> tuple[Path, str | None]:
    """Split the name of a part of a file into the file and the part.

    The part is a scan of an E57 file, site.e57#2 or site.e57#hall, or the columns of the coordinates in a text file,
    points.csv#2,3,4.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Path
    str or None
        None where the path names a file alone.

    Examples
    --------
    >>> split_scan(Path("site.e57#2"))[1], split_scan(Path("site.e57"))[1]
    ('2', None)
    """
    found = _PART_OF_FILE.fullmatch(str(path))
    return (Path(found[1]), found[2]) if found and not path.exists() else (path, None)


def list_scans(path: str | os.PathLike[str]) -> list[E57Scan]:
    """List the scans of an E57 file: number, name, number of points, and pose.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    list of E57Scan
        Empty for files of other formats, and where one of the scans is named, as in site.e57#2.

    Raises
    ------
    FileError, MissingExtraError
        As in `read`.
    """
    path = as_path(path)
    if path.suffix.lower() != ".e57":
        return []
    require_file(path)
    with InputFile(path) as file:
        return cast("list[E57Scan]", _function("e57.list_scans")(file))


def write(path: str | os.PathLike[str], points: Any, *, progress: bool | Progress | None = None) -> tuple[str, ...]:
    """Write points or a mesh to a file. On any failure an existing file stays as it was.

    The attributes of a Cloud are written to .ply, .pcd, .las, .laz, .npz and .csv as far as the format can represent
    them, to .e57 those that it has a field for (intensity, colours, time), to .bin reflectance alone, and to the others
    none. Points that are not finite are left out. A mesh is written with its faces to .ply, .obj, .off and .stl (single
    precision), and to the others as points, as in `read_cloud`.

    Parameters
    ----------
    path : str or path-like
        The suffix selects the format, see `formats`.
    points : (N, 3) array_like, Cloud or Mesh
    progress : bool, callable or bar of tqdm, optional
        True shows a bar. A function is called as progress(done_bytes, total_bytes), in bytes of memory.

    Returns
    -------
    tuple of str
        Names of the attributes that were not written.

    Raises
    ------
    FileError, InputError, MissingExtraError, OSError
        Where the file, the points or the format cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> cloud = as_cloud([[0, 0, 0], [1, 2, 3]], attributes={"intensity": np.array([7, 9])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/scan.ply", cloud), write(f"{folder}/scan.xyz", cloud)
    ((), ('intensity',))
    """
    path = as_path(path)
    check_progress(progress)
    format, _, writer = _format(path)
    mesh = as_mesh(points, "points") if format.faces else None
    check_writable(path, faces=mesh is not None)
    with progress_bar(progress, f"writing {path.name}") as show:
        return _write(path, points, mesh, writer, show)


def _write(path: Path, points: Any, mesh: Mesh | None, writer: str, progress: Progress | None) -> tuple[str, ...]:
    if mesh is not None:
        with atomic_write(path, progress) as output, np.errstate(all="ignore"):
            _function(f"{path.suffix.lower()[1:]}.write_mesh")(output, mesh)
            return omitted_attributes(vertex_cloud(mesh), output.written_attributes)
    cloud = as_cloud(points)
    with atomic_write(path, progress) as output, np.errstate(all="ignore"):
        _function(writer)(output, cloud)
        return omitted_attributes(cloud, output.written_attributes)


def check_writable(path: Path, faces: bool = False) -> None:
    """Check that `write` can write a file, before the work that leads to it is done.

    Parameters
    ----------
    path : Path
    faces : bool, default False
        Whether what is to be written has faces, or may have.

    Raises
    ------
    FileError, MissingExtraError, OSError
        As `write` would.
    """
    format, _, _ = _format(path)
    suffix = path.suffix.lower()
    if not format.writes and not (faces and format.faces):
        meshes = "; meshes can" if format.faces else ""
        raise FileError(path, f"points cannot be written to {suffix} files{meshes}")
    if format.extra is not None:
        name, what = _LIBRARIES[format.extra]
        import_library(name, f"writing {what} files", format.extra)
    check_output_path(path)


def _format(path: Path) -> tuple[Format, str, str]:
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        problem = f"its suffix {path.suffix!r} is not known" if suffix else "it has no suffix"
        export = f"; export {_EXPORTS[suffix]}" if suffix in _EXPORTS else ""
        raise FileError(path, f"{problem}{export}; point clouds are {' '.join(_FORMATS)}")
    return _FORMATS[suffix]


def _function(name: str) -> Callable[..., Any]:
    # Imported when needed: `import graphreg` must stay fast.
    module, function = name.split(".")
    return cast(Callable[..., Any], getattr(import_module(f"graphreg.files.{module}"), function))
