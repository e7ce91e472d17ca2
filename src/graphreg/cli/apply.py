"""graphreg apply: a scan transformed by a known pose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.options import Quiet, Verbose


def apply(
    transform: Annotated[
        Path,
        typer.Argument(metavar="T", help="The transform T, x_out = T x_in: .txt (4x4), .npy, .kitti, .tum or .g2o."),
    ],
    source: Annotated[Path, typer.Argument(metavar="IN", help="The scan to transform.")],
    result: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its suffix selects the format.")],
    inverse: Annotated[bool, typer.Option("--inverse", help="Apply the inverse, x_in = T x_out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Transform a scan by a rigid transform or a similarity from a file.

    T is such a file as `graphreg register -o` writes. Normals are rotated; colours and other attributes are kept if the
    format of OUT supports them, and so are the faces of a mesh; from LAS to LAS also scale, offset, point format and
    coordinate reference system. A transform after which that system no longer holds is pointed out.

    Exit status: 0 written, 2 bad input.

    \b
    Examples:
      graphreg apply T.txt source.ply moved.ply
      graphreg apply T.txt part.stl moved.stl
      graphreg apply T.txt target.laz on_source.laz --inverse
    """
    import json

    from graphreg.cli.console import output
    from graphreg.cli.outputs import check_outputs, dropped_rows, write_transformed
    from graphreg.cli.progress import byte_progress
    from graphreg.files import read_scan
    from graphreg.files.faces import vertex_cloud
    from graphreg.files.pose_files import read_pose
    from graphreg.meshes.triangle_mesh import Mesh
    from graphreg.poses import inverse_similarity

    check_outputs(cloud=result, source=source)
    T = read_pose(transform, similarity=True)
    T_out_in = inverse_similarity(T) if inverse else T
    with byte_progress(f"reading {source.name}") as show:
        scan = read_scan(source, progress=show)
    lost = write_transformed(result, T_out_in, scan)
    cloud = vertex_cloud(scan) if isinstance(scan, Mesh) else scan
    if as_json:
        summary = {"source": str(source), "result": str(result), "points": len(cloud), "not_finite": cloud.dropped}
        typer.echo(json.dumps({**summary, "inverse": inverse, "left_out": lost}))
    else:
        output(f"{result}: {len(cloud):,} points transformed{dropped_rows(cloud)}")
