"""graphreg locate: the poses of a small scan in a large one, with a verdict on each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreg.cli.options import Quiet, Seed, Threads, Verbose

if TYPE_CHECKING:
    from graphreg.locating import Location


def locate(
    part: Annotated[Path, typer.Argument(metavar="PART", help="The scan to look for.")],
    scene: Annotated[Path, typer.Argument(metavar="SCENE", help="The scan to look for it in.")],
    most: Annotated[int, typer.Option(help="Instances of the part to find at most.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Write the transforms T here, x_scene = T x_part, best first: .txt, .npy, .kitti, .tum or .g2o.",
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    save_aligned: Annotated[Path | None, typer.Option(help="Write the part at its best pose here.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page on the best pose here: both scans in 3D and all figures.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as a JSON list.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find PART in SCENE, which may be much larger, from any pose.

    With --most N up to N instances are found. The verdict also says which poses are equivalent by the symmetry of the
    part.

    Exit status: 0 located, 1 not located, 2 bad input.

    \b
    Examples:
      graphreg locate part.ply scene.ply -o T.txt
      graphreg locate bolt.ply bin.ply --most 5 --json
      graphreg locate frame.ply map.laz --report report.html
    """
    from graphreg.cli.console import detail, output
    from graphreg.cli.outputs import check_outputs, write_transformed
    from graphreg.cli.progress import byte_progress, spinner
    from graphreg.clouds import as_cloud
    from graphreg.files import read_cloud, read_scan
    from graphreg.files.pose_files import write_poses
    from graphreg.locating import locate as find
    from graphreg.reports.registration_page import report as write_report

    check_outputs(pose=out, cloud=save_aligned, page=report, source=part, inputs=[scene])
    with byte_progress(f"reading {part.name}") as show:
        scan = read_scan(part, progress=show)
    small = as_cloud(scan, str(part))
    with byte_progress(f"reading {scene.name}") as show:
        large = read_cloud(scene, progress=show)
    with spinner("locating"):
        found = find(small.points, large.points, most, seed=seed, threads=threads)
    for path, cloud in ((part, small), (scene, large)):
        detail(f"{path}: {len(cloud):,} points, {cloud.dropped:,} non-finite rows left out")
    if found:
        if out is not None:
            write_poses(out, [location.transformation for location in found])
        if save_aligned is not None:
            write_transformed(save_aligned, found[0].transformation, scan, large)
        if report is not None:
            with spinner(f"writing {report.name}"):
                write_report(found[0], small, large, report, names=(part.name, scene.name), threads=threads)
    if as_json:
        typer.echo(f"[{', '.join(location.to_json() for location in found)}]")
    elif not found:
        output("not located: no pose was found")
    else:
        for location in found:
            _print(location)
        output(f"time: {found[0].timings['total']:.2f} s")
    raise typer.Exit(0 if found and found[0].success else 1)


def _print(location: Location) -> None:
    from graphreg.cli.console import output
    from graphreg.feedback.summaries import matrix_lines

    output(f"{location.reason} (confidence {location.confidence:.2f})")
    if location.degenerate_directions:
        output(f"degenerate directions: {'; '.join(location.degenerate_directions)}")
    output("transformation (x_scene = T x_part):")
    for line in matrix_lines(location.transformation):
        output(line)
