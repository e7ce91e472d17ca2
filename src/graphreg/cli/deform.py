"""graphreg deform: where the points of a scan go as what it shows changes its shape, with a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreg.cli.options import Quiet, Seed, Threads, Verbose

if TYPE_CHECKING:
    from graphreg.clouds import Cloud
    from graphreg.meshes.triangle_mesh import Mesh
    from graphreg.nonrigid.deformation import Deformation


def deform(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The scan to deform; a mesh keeps its faces.")],
    targets: Annotated[
        list[Path], typer.Argument(metavar="TARGET...", help="The scan to deform it to, or several, in order of time.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Write the deformed SOURCE here, a cloud with its strain; of several the last."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page here that plays the motion, with strain as colour (.html).")
    ] = None,
    method: Annotated[
        str, typer.Option(help="elastic bends the source as a body; cpd is coherent point drift.")
    ] = "elastic",
    stiffness: Annotated[
        float, typer.Option(help="Below 1 for what stretches, above 1 for what bends at joints only.")
    ] = 1.0,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each result as a line of JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Estimate how SOURCE deforms to become TARGET, from any initial pose.

    Parts of either scan may have no counterpart in the other. The verdict says how much of them is explained, and at
    what strain. Of several TARGETs each begins with the deformation to the one before.

    Exit status: 0 deformed, 1 not deformed (of several: one of them), 2 bad input.

    \b
    Examples:
      graphreg deform source.ply target.ply -o deformed.ply --report page.html
      graphreg deform a.ply b.ply --stiffness 3 --json
    """
    from graphreg.cli.console import detail, note
    from graphreg.cli.inputs import unit_hint
    from graphreg.cli.outputs import check_outputs
    from graphreg.cli.progress import byte_progress, item_progress, spinner
    from graphreg.clouds import as_cloud
    from graphreg.errors import InputError
    from graphreg.files import read_cloud, read_scan
    from graphreg.nonrigid.deforming import deform_sequence, deform_with_evidence
    from graphreg.reports.registration_page import report as write_report

    check_outputs(cloud=out, page=report, source=source, inputs=targets)
    if len(targets) > 1 and method != "elastic":
        raise InputError(f"method: several TARGETs need elastic, got {method}")
    with byte_progress(f"reading {source.name}") as show:
        scan = read_scan(source, progress=show)
    moving, fixed = as_cloud(scan), []
    for path in targets:
        with byte_progress(f"reading {path.name}") as show:
            fixed.append(read_cloud(path, progress=show))
    for path, cloud in zip((source, *targets), (moving, *fixed), strict=True):
        detail(f"{path}: {len(cloud):,} points, {cloud.dropped:,} non-finite rows left out")
    if len(targets) == 1:
        with spinner("deforming"):
            points = moving.points, fixed[0].points
            single, _ = deform_with_evidence(*points, method=method, stiffness=stiffness, seed=seed, threads=threads)
            found = [single]
    else:
        frames = [moving.points, *(cloud.points for cloud in fixed)]
        each = deform_sequence(frames, stiffness=stiffness, seed=seed, threads=threads)
        found = list(item_progress(each, "deforming", len(fixed)))
    if out is not None:
        _write_deformed(out, scan, moving, found[-1])
    if report is not None:
        names = [path.name for path in (source, *targets)]
        with spinner(f"writing {report.name}"):
            write_report(found, moving.points, [cloud.points for cloud in fixed], report, names=names, threads=threads)
    for path, each_found in zip(targets, found, strict=True):
        _print(each_found, as_json, path.name if len(found) > 1 else "")
    if not found[0].success and (hint := unit_hint(moving.points, fixed[0].points)) is not None:
        note(hint)
    raise typer.Exit(0 if all(each.success for each in found) else 1)


def _write_deformed(path: Path, scan: Cloud | Mesh, moving: Cloud, found: Deformation) -> None:
    from dataclasses import replace

    from graphreg.cli.outputs import write_cloud
    from graphreg.clouds import Cloud
    from graphreg.meshes.triangle_mesh import Mesh

    # Normals and the coordinate reference system no longer hold.
    if isinstance(scan, Mesh):
        write_cloud(path, replace(scan, vertices=found.apply(scan.vertices), attributes={}))
    else:
        kept = {name: values for name, values in moving.attributes.items() if name not in ("nx", "ny", "nz")}
        write_cloud(path, Cloud(found.points, moving.kept[moving.kept], {**kept, "strain": found.strain}))


def _print(found: Deformation, as_json: bool, name: str) -> None:
    from graphreg.cli.console import output

    if as_json:
        typer.echo(found.to_json())
        return
    output(f"{name + ': ' if name else ''}{found.reason} (confidence {found.confidence:.2f})")
    output(f"inlier RMSE: {found.inlier_rmse:.4g}; largest strain: {100 * found.strain.max():.1f} %")
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in found.timings.items() if stage != "total")
    output(f"time: {found.timings['total']:.2f} s ({stages})")
