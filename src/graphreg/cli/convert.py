"""graphreg convert: a scan in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.console import Quiet, Verbose


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The scan to read.")],
    result: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its ending says the format.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write a scan in another format.

    Colours and whatever else IN holds for each point is kept where OUT can hold it: .ply, .pcd, .las, .laz, .npz and
    .csv hold most, .bin reflectance, the others none. What is lost is told. Rows that are not finite are left out.

    \b
    Examples:
      graphreg convert scan.e57 scan.laz
      graphreg convert scan.laz scan.csv --json
    """
    import json

    from graphreg.cli.console import tell
    from graphreg.cli.outputs import check_outputs, left_out, write_cloud
    from graphreg.cli.progress import reading
    from graphreg.files import read_cloud

    check_outputs(cloud=result)
    with reading(f"reading {source.name}") as show:
        cloud = read_cloud(source, progress=show)
    lost = write_cloud(result, cloud)
    kept = [name for name in cloud.attributes if name not in lost]
    if as_json:
        did = {"source": str(source), "result": str(result), "points": len(cloud), "not_finite": cloud.dropped}
        typer.echo(json.dumps({**did, "kept": kept, "left_out": lost}))
    else:
        tell(f"{result}: {len(cloud):,} points{left_out(cloud)}; attributes: {', '.join(kept) or 'none'}")
