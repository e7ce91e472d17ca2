"""graphreg deform: where the points of a scan go as what it shows changes its shape, with a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.options import Quiet, Seed, Threads, Verbose


def deform(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The scan to deform; a mesh keeps its faces.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The scan to deform it to.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the deformed SOURCE here, a cloud with its strain.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="elastic bends the source as a body; cpd is coherent point drift.")
    ] = "elastic",
    stiffness: Annotated[
        float, typer.Option(help="Below 1 for what stretches, above 1 for what bends at joints only.")
    ] = 1.0,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Estimate how SOURCE deforms to become TARGET, from any initial pose.

    Parts of either scan may have no counterpart in the other. The verdict says how much of them is explained, and at
    what strain.

    Exit status: 0 deformed, 1 not deformed, 2 bad input.

    \b
    Examples:
      graphreg deform source.ply target.ply -o deformed.ply
      graphreg deform a.ply b.ply --stiffness 3 --json
      graphreg deform a.ply b.ply --method cpd
    """
    from dataclasses import replace

    from graphreg.cli.console import detail, output
    from graphreg.cli.outputs import check_outputs, write_cloud
    from graphreg.cli.progress import byte_progress, spinner
    from graphreg.clouds import Cloud, as_cloud
    from graphreg.files import read_cloud, read_scan
    from graphreg.meshes.triangle_mesh import Mesh
    from graphreg.nonrigid.deforming import deform_with_evidence

    check_outputs(cloud=out, source=source)
    with byte_progress(f"reading {source.name}") as show:
        scan = read_scan(source, progress=show)
    moving = as_cloud(scan)
    with byte_progress(f"reading {target.name}") as show:
        fixed = read_cloud(target, progress=show)
    with spinner("deforming"):
        found, _ = deform_with_evidence(
            moving.points, fixed.points, method=method, stiffness=stiffness, seed=seed, threads=threads
        )
    for path, cloud in ((source, moving), (target, fixed)):
        detail(f"{path}: {len(cloud):,} points, {cloud.dropped:,} non-finite rows left out")
    if out is not None:
        # Normals and the coordinate reference system no longer hold.
        if isinstance(scan, Mesh):
            write_cloud(out, replace(scan, vertices=found.apply(scan.vertices), attributes={}))
        else:
            kept = {name: values for name, values in moving.attributes.items() if name not in ("nx", "ny", "nz")}
            write_cloud(out, Cloud(found.points, moving.kept[moving.kept], {**kept, "strain": found.strain}))
    if as_json:
        typer.echo(found.to_json())
    else:
        output(f"{found.reason} (confidence {found.confidence:.2f})")
        output(f"inlier RMSE: {found.inlier_rmse:.4g}; largest strain: {100 * found.strain.max():.1f} %")
        stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in found.timings.items() if name != "total")
        output(f"time: {found.timings['total']:.2f} s ({stages})")
    raise typer.Exit(0 if found.success else 1)
