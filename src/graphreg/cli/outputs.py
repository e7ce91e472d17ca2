"""Output files of commands: checked before the work begins, and notes on what a format cannot hold."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphreg.clouds import Cloud, Floats
    from graphreg.meshes.triangle_mesh import Mesh
    from graphreg.multiscan.trajectory import Trajectory
    from graphreg.reports.pictures import Image

# Chosen: a transform that tilts the vertical by more than this, in degrees, is no correction within a coordinate
# reference system; nor is one that moves points farther than the scan is long.
MAX_TILT = 1.0


def check_outputs(
    *,
    pose: Path | None = None,
    cloud: Path | None = None,
    page: Path | None = None,
    picture: Path | None = None,
    table: Path | None = None,
    source: Path | None = None,
    inputs: Iterable[Path] = (),
) -> None:
    """Refuse outputs that cannot be written: an unknown suffix, a missing folder, one file for two outputs, an input.

    `source` is the file that the cloud comes from; it may have faces, which some formats need. `inputs` are others that
    must not be lost.
    """
    from graphreg.errors import FileError
    from graphreg.files import check_writable, formats, split_scan
    from graphreg.files.output_file import check_output_path
    from graphreg.files.pose_files import pose_format

    if pose is not None:
        pose_format(pose)
    if cloud is not None:
        known = formats().get(source.suffix.lower()) if source is not None else None
        check_writable(cloud, faces=known is not None and known.faces)
    expect_suffix(page, (".html", ".htm"), "report")
    expect_suffix(picture, (".png",), "picture")
    expect_suffix(table, (".csv",), "table")
    kept = {split_scan(path)[0].resolve() for path in (*inputs, *([] if source is None else [source]))}
    taken = set()
    for path in (pose, cloud, page, picture, table):
        if path is not None:
            resolved = check_output_path(path)
            if resolved in kept:
                raise FileError(path, "is an input, which would be lost; choose another file")
            if resolved in taken:
                raise FileError(path, "is the path of two outputs")
            taken.add(resolved)


def stamps_of(found: Trajectory) -> Floats:
    """When each frame was recorded; its number where that is not known of all."""
    import numpy as np

    stamps = np.array([step.stamp for step in found.steps])
    return stamps if np.isfinite(stamps).all() else np.array([float(step.number) for step in found.steps])


def write_picture(path: Path, image: Image) -> None:
    """Write a PNG, and name the extra without which it has no text."""
    from graphreg.cli.console import note
    from graphreg.reports.picture_text import can_write
    from graphreg.reports.pictures import write_png

    write_png(path, image)
    if not can_write():
        note(f"{path.name} has no captions and no scale bar: these need pip install 'graphreg[plots]'")


def check_folder(path: Path) -> None:
    """Refuse a folder for results that is a file, or that cannot be created."""
    from graphreg.errors import FileError

    if path.exists() and not path.is_dir():
        raise FileError(path, "is a file, expected a folder")
    existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise FileError(path, f"cannot be created, because {existing} is not a writable folder")


def expect_suffix(path: Path | None, suffixes: Collection[str], what: str) -> None:
    """Refuse a path with another suffix."""
    from graphreg.errors import FileError

    if path is not None and path.suffix.lower() not in suffixes:
        raise FileError(path, f"expected a {what} that ends in {' or '.join(suffixes)}")


def write_cloud(path: Path, cloud: Cloud | Mesh) -> tuple[str, ...]:
    """Write a scan; returns the names of what the format cannot hold, after a note on it."""
    from graphreg.cli.console import note
    from graphreg.cli.progress import byte_progress
    from graphreg.clouds import Cloud, as_cloud
    from graphreg.files import formats, write
    from graphreg.files.las_header import LasHeader
    from graphreg.meshes.triangle_mesh import Mesh

    suffix = path.suffix.lower()
    if isinstance(cloud, Mesh) and not formats()[suffix].faces:
        cloud = as_cloud(cloud)
        note(f"{path}: {suffix} files have no faces; {len(cloud):,} points of the surface are written")
    with byte_progress(f"writing {path.name}") as show:
        lost = write(path, cloud, progress=show)
    if lost:
        note(f"{path}: {suffix} files do not support all attributes; left out: {', '.join(lost)}")
    if isinstance(cloud, Cloud) and isinstance(header := cloud.header, LasHeader):
        left_out = header.left_out
        if suffix not in (".las", ".laz"):
            crs = [] if header.crs is None else [f"coordinate reference system {header.crs}"]
            other = len(header.records) - len(header.crs_records)
            left_out += (*crs, *([f"{other} variable-length records"] if other else []))
        if left_out:
            note(f"{path}: left out: {', '.join(left_out)}")
            lost += left_out
    if suffix in (".bin", ".stl"):
        note(f"{path}: {suffix} files have coordinates in single precision")
    return lost


def write_transformed(
    path: Path, transformation: Floats, scan: Cloud | Mesh, target: Cloud | None = None
) -> tuple[str, ...]:
    """Write a transformed scan as `write_cloud` does; a mesh keeps its faces.

    A LAS file that is aligned with another one gets the coordinate reference system of that target.
    """
    from dataclasses import replace

    from graphreg.files.las_header import LasHeader
    from graphreg.meshes.triangle_mesh import Mesh
    from graphreg.poses import transform_cloud, transform_mesh

    if isinstance(scan, Mesh):
        return write_cloud(path, transform_mesh(transformation, scan))
    moved = transform_cloud(transformation, scan)
    reference = None if target is None else target.header
    if isinstance(scan.header, LasHeader) and isinstance(reference, LasHeader) and reference.crs is not None:
        return write_cloud(path, replace(moved, header=scan.header.with_crs_of(reference)))
    lost = write_cloud(path, moved)
    if path.suffix.lower() in (".las", ".laz"):
        _note_crs(path, scan, transformation)
    return lost


def _note_crs(path: Path, cloud: Cloud, transformation: Floats) -> None:
    """Point out that a transform changes coordinates of a cloud that has a coordinate reference system."""
    import numpy as np

    from graphreg.cli.console import note
    from graphreg.files.las_header import LasHeader
    from graphreg.poses import transform

    if not isinstance(cloud.header, LasHeader) or cloud.header.crs is None:
        return
    low, high = cloud.points.min(axis=0), cloud.points.max(axis=0)
    corners = np.where(np.indices((2, 2, 2)).reshape(3, -1).T, high, low)
    distance = float(np.linalg.norm(transform(transformation, corners) - corners, axis=1).max())
    if distance <= max(cloud.header.scale, key=abs) / 2:
        return
    tilt = float(np.degrees(np.arccos(np.clip(transformation[2, 2], -1, 1))))
    moved = f"the transform moves points by up to {distance:.6g}"
    if tilt > MAX_TILT or distance > float((high - low).max()):
        moved += f" and tilts the vertical by {tilt:.3g} degrees" if tilt > MAX_TILT else ""
        note(f"{path}: its coordinate reference system, {cloud.header.crs}, no longer holds: {moved}")
    else:
        note(f"{path}: coordinate reference system {cloud.header.crs} kept; {moved}")


def dropped_rows(cloud: Cloud) -> str:
    """The number of non-finite rows of a file, to be appended to a sentence; empty if there are none."""
    return f", without {cloud.dropped:,} non-finite rows" if cloud.dropped else ""
