"""Input files of commands: columns of text files, units, and sizes that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphreg.clouds import Cloud, Floats
    from graphreg.files.bags import BagFrame
    from graphreg.meshes.triangle_mesh import Mesh

TEXT_SUFFIXES = (".xyz", ".txt", ".asc", ".csv", ".pts")
# Units of length, in metres.
METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "um": 1e-6, "km": 1000.0, "in": 0.0254, "ft": 0.3048, "us-ft": 1200 / 3937}
# Units that scans of one object may have, source and target, and by which factor their sizes may be off. All chosen.
CONFUSED_UNITS = [("mm", "m"), ("cm", "m"), ("mm", "in"), ("in", "ft"), ("ft", "m")]
CONFUSED_UNITS += [(b, a) for a, b in CONFUSED_UNITS]
UNIT_TOLERANCE = 1.2
# The value of --init for the poses that the files of scans hold.
VIEWPOINT = Path("viewpoint")


def input_frames(
    path: Path, topic: str | None, every: int, limit: int | None
) -> tuple[list[Path] | Iterator[BagFrame], int]:
    """The frames in a folder or a bag up to the last one that is used, and their number."""
    from itertools import islice

    from graphreg.errors import InputError
    from graphreg.files.bags import bag_frames, bag_topics, is_bag, split_topic
    from graphreg.files.folders import frame_files

    end = None if limit is None else (limit - 1) * every + 1
    bag, chosen = split_topic(path)
    if is_bag(bag):
        frames = bag_frames(bag, topic or chosen)
        topics = bag_topics(bag)
        count = topics[topic or chosen or next(iter(topics))]
        return islice(frames, end), count if end is None else min(count, end)
    if topic is not None:
        raise InputError(f"--topic: {path} is no bag, which has topics")
    files = frame_files(path)[:end]
    return files, len(files)


def viewpoints(scans: Sequence[Path], all_of_them: bool = False) -> Floats:
    """The poses that the files of scans hold, NaN where one holds none; an error where none do, or not all of them."""
    import numpy as np

    from graphreg.errors import InputError
    from graphreg.files.viewpoints import read_viewpoint

    found = [read_viewpoint(scan) for scan in scans]
    without = [scan for scan, pose in zip(scans, found, strict=True) if pose is None]
    if len(without) == len(scans) or (all_of_them and without):
        raise InputError(
            f"--init viewpoint: {without[0]} holds no pose; E57 scans, VIEWPOINT of PCD and camera of PLY files do"
        )
    return np.array([np.full((4, 4), np.nan) if pose is None else pose for pose in found])


def with_columns(columns: str | None, *paths: Path) -> tuple[Path, ...]:
    """The paths of files, of text files with the columns of their coordinates, as in points.csv#2,3,4."""
    from graphreg.errors import InputError

    if columns is None:
        return paths
    if not re.fullmatch("[0-9]{1,5}(,[0-9]{1,5}){2}", columns):
        raise InputError(f"--columns: expected three numbers such as 2,3,4, got {columns!r}")
    if not any(path.suffix.lower() in TEXT_SUFFIXES for path in paths):
        raise InputError(f"--columns: only text files have columns, {' '.join(TEXT_SUFFIXES)}")
    return tuple(
        path.with_name(f"{path.name}#{columns}") if path.suffix.lower() in TEXT_SUFFIXES else path for path in paths
    )


def unit_factor(units: str) -> float:
    """The factor of --unit FROM,TO."""
    from graphreg.errors import InputError

    names = units.lower().split(",")
    if len(names) != 2 or not set(names) <= set(METRES):
        raise InputError(f"--unit: expected two of {' '.join(METRES)}, such as mm,m, got {units!r}")
    return METRES[names[0]] / METRES[names[1]]


def in_unit(scan: Cloud | Mesh, factor: float) -> Cloud | Mesh:
    """A scan in another unit. A coordinate reference system is in one unit alone, so it is left out."""
    from dataclasses import replace

    from graphreg.files.las_header import LasHeader
    from graphreg.meshes.triangle_mesh import Mesh

    if isinstance(scan, Mesh):
        return replace(scan, vertices=scan.vertices * factor)
    header = scan.header
    if isinstance(header, LasHeader):
        (a, b, c), (x, y, z) = header.scale, header.offset
        header = replace(
            header.with_crs_of(None),
            scale=(a * factor, b * factor, c * factor),
            offset=(x * factor, y * factor, z * factor),
            left_out=(*header.left_out, *([] if header.crs is None else [f"coordinate reference system {header.crs}"])),
        )
    mesh = None if scan.mesh is None else replace(scan.mesh, vertices=scan.mesh.vertices * factor)
    return replace(scan, points=scan.points * factor, header=header, mesh=mesh)


def unit_hint(source: Floats, target: Floats, names: tuple[str, str] = ("the source", "the target")) -> str | None:
    """A question where the sizes of two clouds differ as two units do, else None."""
    import math

    ratio = _size(source) / (_size(target) or math.inf)
    for units, (first, second) in {f"{a},{b}": (METRES[a], METRES[b]) for a, b in CONFUSED_UNITS}.items():
        factor = second / first
        if ratio > 0 and abs(math.log(ratio / factor)) < math.log(UNIT_TOLERANCE):
            larger = f"{factor:.4g} times as large as" if factor > 1 else f"{1 / factor:.4g} times smaller than"
            return (
                f"{names[0]} is about {larger} {names[1]}: other unit? To try: graphreg convert IN OUT --unit {units}"
            )
    return None


def check_voxel(voxel: float | None, clouds: dict[str, Cloud]) -> None:
    """Refuse a voxel that is larger than a scan."""
    from graphreg.clouds import extent
    from graphreg.errors import InputError

    for name, cloud in clouds.items() if voxel is not None else ():
        if voxel is not None and voxel > (size := extent(cloud.points)) > 0:
            raise InputError(f"--voxel: {voxel:g} is larger than {name}, whose longest side is {size:.4g}")


def _size(points: Floats) -> float:
    """The longest side of the box of nearly all points."""
    import numpy as np

    from graphreg.clouds import sample_rows

    sample = points[sample_rows(len(points), 20_000)]
    low, high = np.quantile(sample, (0.02, 0.98), axis=0)
    return float((high - low).max())
