"""graphreg info: size, spacing and attributes of a scan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.options import Columns, Quiet, Threads, Verbose

if TYPE_CHECKING:
    from graphreg.clouds import Floats
    from graphreg.files.e57 import E57Scan
    from graphreg.files.las_header import LasHeader
    from graphreg.inspection import Attribute, Inspection
    from graphreg.meshes.triangle_mesh import Mesh


def info(
    source: Annotated[Path, typer.Argument(metavar="SCAN", help="The scan.")],
    png: Annotated[Path | None, typer.Option(help="Write a picture of the scan here (.png).")] = None,
    columns: Columns = None,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show the size, spacing and attributes of a scan, and a guess at its kind and unit.

    The kind (object, room, terrestrial scan or vehicle LiDAR) and the unit are guessed from the size and from how the
    points are distributed about the origin; no other command uses the guess. Of LAS files also version, point format,
    scale, offset and coordinate reference system are shown, of meshes vertices and faces, of PCD and PLY files the
    viewpoint, and of E57 files the scans and their poses: site.e57#2 is the second.

    Exit status: 0 done, 2 bad input.

    \b
    Examples:
      graphreg info scan.ply
      graphreg info scan.laz --png preview.png --json
      graphreg info site.e57#2
    """
    import json
    from dataclasses import asdict

    from graphreg.cli.console import output
    from graphreg.cli.inputs import with_columns
    from graphreg.cli.outputs import check_outputs, write_picture
    from graphreg.cli.progress import byte_progress, spinner
    from graphreg.clouds import as_cloud
    from graphreg.files import formats, list_scans, read_scan, split_scan
    from graphreg.files.las_header import LasHeader
    from graphreg.files.viewpoints import read_viewpoint
    from graphreg.inspection import inspect
    from graphreg.meshes.triangle_mesh import Mesh
    from graphreg.reports.previews import preview

    check_outputs(picture=png)
    (source,) = with_columns(columns, source)
    with byte_progress(f"reading {source.name}") as show:
        scan = read_scan(source, progress=show)
    cloud = as_cloud(scan, str(source))
    mesh = scan if isinstance(scan, Mesh) else None
    with spinner("inspecting"):
        found = inspect(cloud, threads)
    if png is not None:
        with spinner(f"writing {png.name}"):
            write_picture(png, preview(cloud, threads=threads))
    scans = list_scans(source)
    viewpoint = None if scans else read_viewpoint(source)
    header = cloud.header if isinstance(cloud.header, LasHeader) else None
    if as_json:
        more: dict[str, Any] = {"scans": [asdict(scan) for scan in scans]} if scans else {}
        if header is not None:
            names = ("version", "point_format", "scale", "offset", "crs")
            more["header"] = {name: getattr(header, name) for name in names}
        if viewpoint is not None:
            more["viewpoint"] = viewpoint.tolist()
        if mesh is not None:
            more["mesh"] = {"vertices": len(mesh.vertices), "faces": len(mesh.faces), "area": mesh.area}
        typer.echo(json.dumps({"source": str(source), **asdict(found), **more}))
    else:
        lines = _lines(source, formats()[split_scan(source)[0].suffix.lower()].description, found)
        output(
            "\n".join(
                [lines[0], *_mesh_lines(mesh), *lines[1:], *_header_lines(header), *_pose_lines(viewpoint, scans)]
            )
        )


def _row(name: str, text: str) -> str:
    return f"  {name:<12}{text}"


def _mesh_lines(mesh: Mesh | None) -> list[str]:
    if mesh is None:
        return []
    return [
        _row("mesh", f"{len(mesh.vertices):,} vertices, {len(mesh.faces):,} faces, area {mesh.area:.7g}; its points:")
    ]


def _header_lines(header: LasHeader | None) -> list[str]:
    if header is None:
        return []
    return [
        _row("version", f"{header.version}, point format {header.point_format}"),
        _row("scale", "  ".join(f"{value:.10g}" for value in header.scale)),
        _row("offset", "  ".join(f"{value:.16g}" for value in header.offset)),
        _row("CRS", header.crs or "none"),
    ]


def _pose_lines(viewpoint: Floats | None, scans: list[E57Scan]) -> list[str]:
    """The pose of a PCD or PLY file, which is not applied, or those of E57 scans, which are."""
    lines = (
        [] if viewpoint is None else [_row("viewpoint", f"{_scanner(viewpoint)}; not applied, see --init viewpoint")]
    )
    for scan in scans:
        pose = "" if scan.pose is None else f", {_scanner(scan.pose)}; applied"
        lines.append(_row(f"scan {scan.number}", f"{scan.name or 'no name'}: {scan.points:,} points{pose}"))
    return lines


def _scanner(pose: Any) -> str:
    import numpy as np

    from graphreg.metrics import angular_error

    matrix = np.array(pose)
    angle = angular_error(matrix, np.eye(4))
    rotated = f", rotated by {angle:.4g}°" if angle else ""
    return f"scanner at {_coordinates(tuple(matrix[:3, 3].tolist()))}{rotated}"


def _lines(source: Path, format: str, found: Inspection) -> list[str]:
    return [
        f"{source} ({format})",
        _row("points", f"{found.points:,}"),
        _row("not finite", f"{found.not_finite:,} rows, left out"),
        _row("duplicates", f"{found.duplicates:,}"),
        _row("minimum", _coordinates(found.low)),
        _row("maximum", _coordinates(found.high)),
        _row("size", _coordinates(found.size)),
        _row("spacing", f"{found.spacing:.4g} (median distance to the nearest point)"),
        *(_row("attribute", f"{name}: {_range(attribute)}") for name, attribute in found.attributes.items()),
        _row("guess", f"{found.guess.kind}, in {found.guess.unit}: {found.guess.reason}"),
    ]


def _coordinates(values: tuple[float, ...]) -> str:
    """Seven digits, and with coordinates as large as those of maps at least four decimals."""
    return "  ".join(f"{value:.4f}" if abs(value) >= 1000 else f"{value:.7g}" for value in values)


def _range(attribute: Attribute) -> str:
    type = attribute.type if attribute.components == 1 else f"{attribute.components} x {attribute.type}"
    return type if attribute.low is None else f"{type} from {attribute.low:.6g} to {attribute.high:.6g}"
