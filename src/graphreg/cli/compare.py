"""graphreg compare: how far a scan deviates from a CAD model or from another scan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreg.cli.options import Quiet, Seed, Threads, Verbose

if TYPE_CHECKING:
    from graphreg.clouds import Floats
    from graphreg.comparison.deviations import Deviation
    from graphreg.result import Result

# Beginnings of the reason of a pose that fits, though others fit as well: that of a part with symmetries.
SYMMETRIC = ("ambiguous", "not determined")


def compare(
    scan: Annotated[Path, typer.Argument(metavar="SCAN", help="The scan.")],
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="A mesh (.stl, .obj, .ply, .off) or another scan.")
    ],
    tolerance: Annotated[
        float | None, typer.Option(help="The largest distance that is accepted, in the unit of the data.")
    ] = None,
    transform: Annotated[
        Path | None,
        typer.Option(
            help="Transform of SCAN to REFERENCE instead of a registration: a file of register -o, or what register "
            "--json printed (.json), whose uncertainty then counts.",
        ),
    ] = None,
    aligned: Annotated[
        bool, typer.Option("--aligned", help="Both are in the same frame: compare them as they are.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the registered scan here, coloured by its deviations (.ply and others).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page here: the deviations in colour, histogram and figures.")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure how far SCAN deviates from REFERENCE, after registration.

    From a mesh, the distance of each point is exact, and signed where the mesh is oriented consistently: negative is
    inside. From another scan it is that of its local surface, and points beyond the level of detection are counted.

    If SCAN is not registered, nothing is compared; a part with symmetries is compared at one of the poses that fit.

    Exit status: 0 compared, 1 not registered, 2 bad input.

    \b
    Examples:
      graphreg compare scan.ply part.stl --tolerance 0.1
      graphreg compare scan.ply part.stl --save coloured.ply --report page.html
      graphreg compare epoch2.laz epoch1.laz --aligned --json
      graphreg compare scan.ply part.stl --transform T.txt
    """
    import json

    import numpy as np

    from graphreg.argument_checks import check_positive
    from graphreg.cli.console import note, output
    from graphreg.cli.inputs import unit_hint
    from graphreg.cli.outputs import check_outputs, write_cloud
    from graphreg.cli.progress import byte_progress, spinner
    from graphreg.clouds import as_cloud
    from graphreg.comparison.deviations import deviation
    from graphreg.errors import InputError
    from graphreg.files import read_cloud, read_scan
    from graphreg.poses import transform as moved
    from graphreg.registration import register
    from graphreg.reports.comparison_page import coloured_cloud, comparison_report

    check_outputs(cloud=save, page=report, inputs=[scan, reference])
    if tolerance is not None:
        check_positive("tolerance", tolerance)
    if aligned and transform is not None:
        raise InputError("--aligned, --transform: expected one of them, got both")
    pose: Result | Floats | None = None if transform is None else _read_transform(transform)
    with byte_progress(f"reading {scan.name}") as show:
        cloud = read_cloud(scan, progress=show)
    with byte_progress(f"reading {reference.name}") as show:
        surface = read_scan(reference, progress=show)
    success, how = True, "as they are" if aligned else f"by {transform}"
    if pose is None and not aligned:
        with spinner("registering"):
            result = register(cloud.points, as_cloud(surface), seed=seed, threads=threads)
        pose, success, how = result, result.success, f"{result.reason} (confidence {result.confidence:.2f})"
        note(how)
        if not success and not how.startswith(SYMMETRIC):
            note("nothing was compared; pass --transform or --aligned to compare at a known pose")
            if (hint := unit_hint(cloud.points, as_cloud(surface).points, (scan.name, reference.name))) is not None:
                note(hint)
            raise typer.Exit(1)
    with spinner("comparing"):
        found = deviation(cloud, surface, transformation=pose, tolerance=tolerance, threads=threads)
    points = cloud.points if pose is None else moved(np.asarray(pose), cloud.points)
    if save is not None:
        write_cloud(save, coloured_cloud(cloud, points, found))
    if report is not None:
        with spinner(f"writing {report.name}"):
            comparison_report(found, points, report, (scan.name, reference.name), how)
    if as_json:
        transformation = None if pose is None else np.asarray(pose).tolist()
        typer.echo(json.dumps({**found.summary(), "registration": how, "transformation": transformation}))
    else:
        output("\n".join(_lines(found)))
    raise typer.Exit(0 if success else 1)


def _read_transform(path: Path) -> Result | Floats:
    from graphreg.files.pose_files import read_pose
    from graphreg.result import Result

    return (
        Result.from_json(path.read_text(encoding="utf-8"))
        if path.suffix.lower() == ".json"
        else read_pose(path, similarity=True)
    )


def _lines(found: Deviation) -> list[str]:
    figures = found.summary()
    percentiles = ", ".join(f"{share} %: {value:.4g}" for share, value in found.percentiles.items())
    sides = "negative is inside" if found.signed else "unsigned"
    lines = [
        f"{figures['points']:,} points: RMS {found.rms:.4g}, mean {found.mean:.4g}, largest {figures['largest']:.4g}",
        f"percentiles ({sides}): {percentiles}",
    ]
    if found.tolerance is not None:
        lines.append(f"within {found.tolerance:g}: {100 * figures['within_tolerance']:.2f} %")
    if figures["significant"] is not None:
        lines.append(f"beyond the level of detection (95 %): {100 * figures['significant']:.1f} %")
    return lines
