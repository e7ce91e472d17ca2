"""graphreg clean: a scan without its outliers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from graphreg.cli.options import Quiet, Threads, Verbose

# Chosen: a scan has fewer outliers, and a share above this is worth a warning.
MANY_OUTLIERS = 0.1


def clean(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The scan to read.")],
    result: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its suffix selects the format.")],
    rule: Annotated[
        Literal["volume", "x84"],
        typer.Option(help="volume: spares clean scans; x84: the paper's, which also removes edges and sparse parts."),
    ] = "volume",
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Of x84: keep points whose response intensity is at most ALPHA times its median absolute deviation; "
            "by default 5.2."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Allow OUT to be IN, which is then lost.")] = False,
    k: Annotated[int, typer.Option("-k", "--neighbours", help="Neighbours of each point in the graph.")] = 10,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Remove outliers from a scan; a scan without outliers stays as it is but for a few points.

    An outlier is a point whose neighbours fill a much larger volume than on the surfaces of the scan. Edges, thin parts
    and distant, sparse returns are kept. A warning says where more than a tenth of the points was removed. Colours and
    other attributes are kept if the format of OUT supports them.

    Exit status: 0 written, 2 bad input.

    \b
    Examples:
      graphreg clean scan.ply clean.ply
      graphreg clean scan.las clean.laz
      graphreg clean scan.ply clean.ply --rule x84 --alpha 8
    """
    from graphreg.cli.console import note, output
    from graphreg.cli.outputs import check_outputs, write_cloud
    from graphreg.cli.progress import byte_progress, spinner
    from graphreg.errors import InputError
    from graphreg.features.response import inliers
    from graphreg.files import read_cloud

    check_outputs(cloud=result)
    if not overwrite and result.resolve() == source.resolve():
        raise InputError(f"{result}: is the scan to be cleaned; choose another file, or pass --overwrite")
    if alpha is not None and rule != "x84":
        raise InputError(f"--alpha: belongs to --rule x84, got --rule {rule}")
    with byte_progress(f"reading {source.name}") as show:
        cloud = read_cloud(source, progress=show)
    with spinner("detecting outliers"):
        kept = inliers(cloud.points, 5.2 if alpha is None else alpha, k, threads, rule=rule)
    if not kept.any():
        raise InputError(f"{source}: all {len(cloud)} points are outliers; nothing was written")
    write_cloud(result, cloud.select(kept))
    counts = {
        "points": len(cloud.kept),
        "kept": int(kept.sum()),
        "outliers": int((~kept).sum()),
        "not_finite": cloud.dropped,
    }
    share = counts["outliers"] / counts["points"]
    if share > MANY_OUTLIERS:
        note(f"{100 * share:.0f} % of the points were removed: look at what is left")
    if as_json:
        import json

        typer.echo(json.dumps({"source": str(source), "result": str(result), "rule": rule, "k": k, **counts}))
    else:
        dropped = f" and {cloud.dropped:,} non-finite rows" if cloud.dropped else ""
        output(
            f"{result}: kept {counts['kept']:,} of {counts['points']:,} points, "
            f"removed {counts['outliers']:,} outliers ({100 * share:.1f} %){dropped}"
        )
