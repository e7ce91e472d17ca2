"""graphreg register: the motion between two scans, and whether it can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

# For the bar: of most methods that are not told a number.
LIKELY_ITERATIONS = 100


def register(
    source: Annotated[Path, typer.Argument(help="The scan to move.")],
    target: Annotated[Path, typer.Argument(help="The scan to lay it on.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the 4x4 matrix here: x_target = T x_source.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="graphreg finds the pose from any start. Others: graphreg-paper, pipl, icp, icp-kp, icp-kn, tricp, "
            "fricp, gmm, cpd, ecm, fgr, teaser, super4pcs."
        ),
    ] = "graphreg",
    init: Annotated[
        Path | None, typer.Option(help="A file with a 4x4 matrix to start from; graphreg then only refines it.")
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
        list[str] | None, typer.Option("--set", help="A setting of the method, as name=value; any number of them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn at random: the same seed, the same answer.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
    save_aligned: Annotated[Path | None, typer.Option(help="Write the moved source here.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page here: both scans in 3D, the verdict and every figure.")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Write a picture of both scans before and after here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
) -> None:
    """Find the rigid motion that lays SOURCE on TARGET, and tell whether it can be trusted.

    Exit status: 0 registered, 1 not registered, 2 bad input.

    \b
    Examples:
      graphreg register source.ply target.ply -o T.txt
      graphreg register source.ply target.ply --report report.html --png before_after.png
      graphreg register a.laz b.laz --save-aligned moved.laz --json
      graphreg register level.e57 ground.e57 --dof rz,x,y,z
      graphreg register a.ply b.ply --method tricp --set overlap=0.7
    """
    from dataclasses import replace

    import numpy as np

    from graphreg.cli.progress import reading, steps, working
    from graphreg.errors import FileError
    from graphreg.files import read_cloud, write
    from graphreg.outcomes import Iteration
    from graphreg.poses import transform
    from graphreg.registration import register as find
    from graphreg.reports.html import report as write_report
    from graphreg.reports.pictures import write_png
    from graphreg.reports.scenes import before_and_after

    settings = dict(map(_setting, chosen or []))
    named = {"voxel": voxel, "dof": dof, "max_iterations": iterations}
    settings |= {name: value for name, value in named.items() if value is not None}
    start = None
    if init is not None:
        try:
            start = np.loadtxt(init)
        except ValueError as problem:
            raise FileError(init, f"holds no matrix ({problem})") from problem
    with reading(source.name) as show:
        moving = read_cloud(source, progress=show)
    with reading(target.name) as show:
        fixed = read_cloud(target, progress=show)
    with steps("registering") as step:

        def watch(now: Iteration) -> None:
            step(now.number)

        result = find(
            moving.points,
            fixed.points,
            method=method,
            init=start,
            seed=seed,
            threads=threads,
            callback=watch,
            **settings,
        )
    if out is not None:
        np.savetxt(out, result.transformation, fmt="%.17g")
    if save_aligned is not None:
        write(save_aligned, replace(moving, points=transform(result.transformation, moving.points)))
    if report is not None:
        with working(f"writing {report.name}"):
            write_report(result, moving, fixed, report, names=(source.name, target.name), threads=threads)
    if png is not None:
        with working(f"writing {png.name}"):
            write_png(png, before_and_after(result, moving, fixed, threads=threads))
    if as_json:
        typer.echo(result.to_json())
    else:
        typer.echo(f"{result.reason} (confidence {result.confidence:.2f})")
        typer.echo(f"undetermined: {'; '.join(result.undetermined) or 'nothing'}")
        typer.echo(f"distance to the target: {result.inlier_rmse:.4g}")
        stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in result.timings.items() if name != "total")
        typer.echo(f"time: {result.timings['total']:.2f} s ({stages})")
        typer.echo("x_target = T x_source, T =")
        for row in result.transformation:
            typer.echo("  " + " ".join(f"{value:15.9f}" for value in row))
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
