"""graphreg convert: a scan in another file format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.options import Columns, Quiet, Unit, Verbose


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The scan to read.")],
    result: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its suffix selects the format.")],
    columns: Columns = None,
    unit: Unit = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert a scan to another file format.

    Colours and other attributes are kept if the format of OUT supports them: .ply, .pcd, .las, .laz, .npz and .csv
    support most, .e57 intensity, colours and time, .bin only reflectance, the others none. From LAS to LAS also
    version, scale, offset, point format, coordinate reference system and other records are kept. What is lost is
    listed. Non-finite rows are left out. Meshes keep their faces in .ply, .obj, .off and .stl; to the others, points of
    their surface are written.

    Exit status: 0 written, 2 bad input.

    \b
    Examples:
      graphreg convert scan.e57 scan.laz
      graphreg convert scan.laz scan.csv --json
      graphreg convert survey.txt survey.laz --columns 2,3,4
      graphreg convert part.stl part_m.stl --unit mm,m
    """
    import json

    from graphreg.cli.console import output
    from graphreg.cli.inputs import in_unit, unit_factor, with_columns
    from graphreg.cli.outputs import check_outputs, dropped_rows, write_cloud
    from graphreg.cli.progress import byte_progress
    from graphreg.files import read_scan
    from graphreg.files.faces import vertex_cloud
    from graphreg.meshes.triangle_mesh import Mesh

    check_outputs(cloud=result, source=source)
    (source,) = with_columns(columns, source)
    factor = None if unit is None else unit_factor(unit)
    with byte_progress(f"reading {source.name}") as show:
        scan = read_scan(source, progress=show)
    scan = scan if factor is None else in_unit(scan, factor)
    lost = write_cloud(result, scan)
    cloud = vertex_cloud(scan) if isinstance(scan, Mesh) else scan
    kept = [name for name in cloud.attributes if name not in lost]
    if as_json:
        summary = {"source": str(source), "result": str(result), "points": len(cloud), "not_finite": cloud.dropped}
        typer.echo(json.dumps({**summary, "kept": kept, "left_out": lost}))
    else:
        output(f"{result}: {len(cloud):,} points{dropped_rows(cloud)}; attributes: {', '.join(kept) or 'none'}")
