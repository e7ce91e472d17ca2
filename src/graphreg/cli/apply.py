"""graphreg apply: a scan moved by a known motion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.console import Quiet, Verbose


def apply(
    motion: Annotated[
        Path, typer.Argument(metavar="T", help="The motion, x_out = T x_in: .txt (4x4), .npy, .kitti, .tum or .g2o.")
    ],
    source: Annotated[Path, typer.Argument(metavar="IN", help="The scan to move.")],
    result: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its ending says the format.")],
    inverse: Annotated[bool, typer.Option("--inverse", help="Move the other way, x_in = T x_out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Move a scan by a motion from a file, such as `graphreg register -o` writes.

    Normals are turned with it. Colours and whatever else IN holds for each point is kept where OUT can hold it; what it
    cannot hold is told.

    \b
    Examples:
      graphreg apply T.txt source.ply moved.ply
      graphreg apply T.txt target.laz on_source.laz --inverse
    """
    import json

    from graphreg.cli.console import tell
    from graphreg.cli.outputs import check_outputs, left_out, write_cloud
    from graphreg.cli.progress import reading
    from graphreg.files import read_cloud
    from graphreg.files.pose_files import read_pose
    from graphreg.poses import inverse as back
    from graphreg.poses import transform_cloud

    check_outputs(cloud=result)
    pose = read_pose(motion)
    with reading(f"reading {source.name}") as show:
        cloud = read_cloud(source, progress=show)
    lost = write_cloud(result, transform_cloud(back(pose) if inverse else pose, cloud))
    if as_json:
        did = {"source": str(source), "result": str(result), "points": len(cloud), "not_finite": cloud.dropped}
        typer.echo(json.dumps({**did, "inverse": inverse, "left_out": lost}))
    else:
        tell(f"{result}: {len(cloud):,} points moved{left_out(cloud)}")
