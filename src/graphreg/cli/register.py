"""graphreg register: the motion between two scans, and whether it can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from graphreg.cli.console import Quiet, Verbose


def _methods(incomplete: str) -> list[str]:
    from graphreg.registration import methods

    return [name for name in methods() if name.startswith(incomplete)]


def register(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The scan to move.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The scan to lay it on.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Write T here, x_target = T x_source: .txt (4x4), .npy, .kitti, .tum or .g2o."
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            autocompletion=_methods,
            help="graphreg finds the pose from any start. Others: graphreg-paper, pipl, icp, icp-kp, icp-kn, tricp, "
            "fricp, gmm, cpd, ecm, fgr, teaser, super4pcs.",
        ),
    ] = "graphreg",
    init: Annotated[
        Path | None,
        typer.Option(help="A file with a pose to start from, as -o writes it; graphreg then only refines it."),
    ] = None,
    voxel: Annotated[
        float | None, typer.Option(help="Side of a cell, in the unit of the scans; by default one that suits them.")
    ] = None,
    dof: Annotated[
        str | None, typer.Option(help="What the motion may do, some of rx,ry,rz,x,y,z; by default all. Only graphreg.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="Iterations at most, by default the method's own. Not for graphreg.")
    ] = None,
    chosen: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; any number of them."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn at random: the same seed, the same answer.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
    save_aligned: Annotated[Path | None, typer.Option(help="Write the moved source here.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page here: both scans in 3D, the verdict and every figure.")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Write a picture of both scans before and after here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the rigid motion that lays SOURCE on TARGET, and tell whether it can be trusted.

    Exit status: 0 registered, 1 not registered, 2 bad input.

    \b
    Examples:
      graphreg register source.ply target.ply -o T.txt
      graphreg register a.ply b.ply --report report.html --png before_after.png
      graphreg register a.laz b.laz --save-aligned moved.laz --json
      graphreg register level.e57 ground.e57 --dof rz,x,y,z
      graphreg register a.ply b.ply --init T.txt -o finer.npy --quiet
      graphreg register a.ply b.ply --method tricp --set overlap=0.7
    """
    from graphreg.cli.console import detail, tell
    from graphreg.cli.outputs import check_outputs, write_cloud
    from graphreg.cli.progress import reading, steps, working
    from graphreg.files import read_cloud
    from graphreg.files.pose_files import read_pose, write_poses
    from graphreg.method_interface import Iteration
    from graphreg.poses import transform_cloud
    from graphreg.registration import run_method
    from graphreg.reports.pictures import write_png
    from graphreg.reports.previews import before_and_after
    from graphreg.reports.registration_page import report as write_report

    check_outputs(pose=out, cloud=save_aligned, page=report, picture=png)
    settings = dict(map(_setting, chosen or []))
    named = {"voxel": voxel, "dof": dof, "max_iterations": iterations}
    settings |= {name: value for name, value in named.items() if value is not None}
    start = None if init is None else read_pose(init)
    with reading(f"reading {source.name}") as show:
        moving = read_cloud(source, progress=show)
    with reading(f"reading {target.name}") as show:
        fixed = read_cloud(target, progress=show)
    with steps("registering") as step:

        def watch(now: Iteration) -> None:
            step(now.number)

        result = run_method(
            moving.points,
            fixed.points,
            method,
            settings,
            init=start,
            seed=seed,
            threads=threads,
            callback=watch,
        )
    for name, cloud in ((source, moving), (target, fixed)):
        detail(f"{name}: {len(cloud):,} points, {cloud.dropped:,} rows that were not finite")
    detail(f"settings of {method}: {', '.join(f'{name}={value}' for name, value in result.settings.items())}")
    detail(f"poses tried: {result.hypotheses:,}; scores of the best: {', '.join(f'{s:.4g}' for s in result.scores)}")
    if out is not None:
        write_poses(out, result)
    if save_aligned is not None:
        write_cloud(save_aligned, transform_cloud(result.transformation, moving))
    if report is not None:
        with working(f"writing {report.name}"):
            write_report(result, moving, fixed, report, names=(source.name, target.name), threads=threads)
    if png is not None:
        with working(f"writing {png.name}"):
            write_png(png, before_and_after(result, moving, fixed, threads=threads))
    if as_json:
        typer.echo(result.to_json())
    else:
        tell(f"{result.reason} (confidence {result.confidence:.2f})")
        tell(f"degenerate directions: {'; '.join(result.degenerate_directions) or 'none'}")
        tell(f"distance to the target: {result.inlier_rmse:.4g}")
        stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in result.timings.items() if name != "total")
        tell(f"time: {result.timings['total']:.2f} s ({stages})")
        tell("x_target = T x_source, T =")
        for row in result.transformation:
            tell("  " + " ".join(f"{value:15.9f}" for value in row))
    raise typer.Exit(0 if result.success else 1)


def _setting(text: str) -> tuple[str, Any]:
    """A number, a tuple, True, False or None as Python writes it; anything else is a word."""
    from ast import literal_eval

    from graphreg.errors import InputError

    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set: expected name=value, got {text!r}")
    try:
        return name, literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
