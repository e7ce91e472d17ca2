"""graphreg clean: a scan without its outliers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.console import Quiet, Verbose


def clean(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The scan to read.")],
    result: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its ending says the format.")],
    alpha: Annotated[float, typer.Option(help="Keep points with a response of at most ALPHA times its MAD.")] = 5.2,
    k: Annotated[int, typer.Option("-k", "--neighbours", help="Neighbours of each point in the graph.")] = 10,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Remove outliers from a scan by the X84 rule, as preprocessing for any method.

    Colours, reflectance and whatever else IN holds for each point is kept where OUT can hold it. The rule also drops
    the sharpest edges and parts of a scan that are far sparser than most of it; a larger ALPHA keeps more of these.

    \b
    Examples:
      graphreg clean scan.ply clean.ply
      graphreg clean scan.las clean.laz --alpha 8
    """
    from graphreg.cli.console import tell
    from graphreg.cli.outputs import check_outputs, write_cloud
    from graphreg.cli.progress import reading, working
    from graphreg.errors import InputError
    from graphreg.features.response import inliers
    from graphreg.files import read_cloud

    check_outputs(cloud=result)
    with reading(f"reading {source.name}") as show:
        cloud = read_cloud(source, progress=show)
    with working("looking for outliers"):
        kept = inliers(cloud.points, alpha, k, threads)
    if not kept.any():
        raise InputError(f"{source}: all {len(cloud)} points count as outliers; nothing written")
    write_cloud(result, cloud.select(kept))
    counts = {
        "points": len(cloud.kept),
        "kept": int(kept.sum()),
        "outliers": int((~kept).sum()),
        "not_finite": cloud.dropped,
    }
    if as_json:
        import json

        typer.echo(json.dumps({"source": str(source), "result": str(result), "alpha": alpha, "k": k, **counts}))
    else:
        share = counts["outliers"] / counts["points"]
        spoilt = f" and {cloud.dropped:,} that were not finite" if cloud.dropped else ""
        tell(
            f"{result}: kept {counts['kept']:,} of {counts['points']:,} points, "
            f"removed {counts['outliers']:,} outliers ({share:.1%}){spoilt}"
        )
