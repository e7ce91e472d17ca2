"""graphreg register: the rigid transform between two scans, with a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.options import Columns, Quiet, Seed, Threads, Verbose, Voxel

if TYPE_CHECKING:
    from graphreg.clouds import Floats
    from graphreg.result import Result


# A value of --init that is no file.
IDENTITY = Path("identity")


def _methods(incomplete: str) -> list[str]:
    from graphreg.registration import methods

    return [name for name in methods() if name.startswith(incomplete)]


def _losses(incomplete: str) -> list[str]:
    from graphreg.robust.losses import LOSSES

    return [name for name in LOSSES if name.startswith(incomplete)]


def register(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The scan to transform.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The scan to align it with.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Write the transform T here, x_target = T x_source: .txt (4x4), .npy, .kitti, .tum or .g2o.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            autocompletion=_methods,
            help="graphreg needs no initial pose. Others: graphreg-paper, pipl, icp, icp-kp, icp-kn, tricp, fricp, "
            "gmm, cpd, ecm, fgr, teaser, super4pcs.",
        ),
    ] = "graphreg",
    init: Annotated[
        Path | None,
        typer.Option(
            help="File of an initial transform, in a format of -o; `identity` for scans that are nearly aligned; or "
            "`viewpoint` for the poses that the files hold (E57, PCD, PLY). graphreg then only refines it."
        ),
    ] = None,
    voxel: Voxel = None,
    dof: Annotated[
        str | None,
        typer.Option(help="Degrees of freedom to estimate, some of rx,ry,rz,x,y,z; default all. Only of graphreg."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="any|LOW,HIGH",
            help="Estimate a similarity: `any`, for a SOURCE of unknown scale, or its smallest and largest scale. Of "
            "graphreg, icp, cpd and teaser.",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            autocompletion=_losses,
            help="A robust loss in place of squares: l1, lp, huber, tukey, cauchy, geman-mcclure, welsch or barron. Of "
            "icp, icp-kp, icp-kn, tricp, fricp and the refinement of graphreg.",
        ),
    ] = None,
    features: Annotated[
        bool,
        typer.Option(
            "--features",
            help="Points with alike invariants of the graph attract each other more; in fgr and teaser, graph "
            "descriptors in the place of FPFH. Of all methods but graphreg, graphreg-paper and pipl.",
        ),
    ] = False,
    max_iterations: Annotated[
        int | None,
        typer.Option("--iterations", help="Maximal number of iterations; default that of the method. Not of graphreg."),
    ] = None,
    chosen: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another setting of the method; may be repeated."),
    ] = None,
    columns: Columns = None,
    seed: Seed = 0,
    threads: Threads = None,
    save_aligned: Annotated[
        Path | None, typer.Option(help="Write the transformed source here; a mesh keeps its faces.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page here: both scans in 3D, the verdict and all figures.")
    ] = None,
    png: Annotated[
        Path | None, typer.Option(help="Write a picture of both scans before and after registration here (.png).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Estimate the rigid transform, or with --scale the similarity, that aligns SOURCE with TARGET, from any pose.

    The verdict says whether the scans are registered, with the confidence, the overlap and the inlier correspondences.

    Exit status: 0 registered, 1 not registered, 2 bad input.

    \b
    Examples:
      graphreg register source.ply target.ply -o T.txt
      graphreg register a.ply b.ply --report report.html --png before_after.png
      graphreg register a.laz b.laz --save-aligned moved.laz --json
      graphreg register level.e57 ground.e57 --dof rz,x,y,z
      graphreg register a.ply b.ply --init T.txt -o finer.npy --quiet
      graphreg register site.e57#1 site.e57#2 --init viewpoint
      graphreg register survey.csv scan.laz --columns 2,3,4
      graphreg register a.ply b.ply --method tricp --set overlap=0.7
      graphreg register a.ply b.ply --method icp --loss tukey
      graphreg register a.ply b.ply --method icp --features
      graphreg register photogrammetry.ply scan.ply --scale any
    """
    from graphreg.cli.console import detail, note
    from graphreg.cli.inputs import check_voxel, unit_hint, with_columns
    from graphreg.cli.outputs import check_outputs, write_picture, write_transformed
    from graphreg.cli.progress import byte_progress, iteration_progress, spinner
    from graphreg.clouds import as_cloud
    from graphreg.files import read_cloud, read_scan
    from graphreg.files.pose_files import write_poses
    from graphreg.method_interface import Iteration
    from graphreg.registration import run_method
    from graphreg.reports.previews import before_and_after
    from graphreg.reports.registration_page import report as write_report

    check_outputs(pose=out, cloud=save_aligned, page=report, picture=png, source=source, inputs=[target])
    source, target = with_columns(columns, source, target)
    settings = dict(map(_setting, chosen or []))
    options = {
        "voxel": voxel,
        "dof": dof,
        "scale": _scale(scale),
        "loss": loss,
        "features": features or None,
        "max_iterations": max_iterations,
    }
    settings |= {name: value for name, value in options.items() if value is not None}
    similar = bool(settings.get("scale"))
    initial = None if init is None else _initial_pose(init, source, target, similar)
    with byte_progress(f"reading {source.name}") as show:
        scan = read_scan(source, progress=show)
    moving = as_cloud(scan, str(source))
    with byte_progress(f"reading {target.name}") as show:
        fixed = read_cloud(target, progress=show)
    check_voxel(voxel, {source.name: moving, target.name: fixed})
    with iteration_progress("registering") as show_iteration:

        def callback(iteration: Iteration) -> None:
            show_iteration(iteration.number)

        result = run_method(
            moving.points,
            fixed.points,
            method,
            settings,
            init=initial,
            seed=seed,
            threads=threads,
            callback=callback,
        )
    for path, cloud, coincident in zip((source, target), (moving, fixed), result.coincident, strict=True):
        detail(
            f"{path}: {len(cloud):,} points, {cloud.dropped:,} non-finite rows and {coincident:,} points in coincident "
            "clusters left out"
        )
    detail(f"settings of {method}: {', '.join(f'{name}={value}' for name, value in result.settings.items())}")
    detail(f"hypotheses: {result.hypotheses:,}; best scores: {', '.join(f'{score:.4g}' for score in result.scores)}")
    if out is not None:
        write_poses(out, result, similarity=similar)
    if save_aligned is not None:
        write_transformed(save_aligned, result.transformation, scan, fixed)
    if report is not None:
        with spinner(f"writing {report.name}"):
            write_report(result, moving, fixed, report, names=(source.name, target.name), threads=threads)
    if png is not None:
        with spinner(f"writing {png.name}"):
            write_picture(png, before_and_after(result, moving, fixed, threads=threads))
    if as_json:
        typer.echo(result.to_json())
    else:
        _print(result)
    if not result.success and (written := [str(path) for path in (out, save_aligned) if path is not None]):
        note(f"{', '.join(written)}: the best pose that was found, which is not to be relied on")
    if not result.success and not similar and (hint := unit_hint(moving.points, fixed.points)) is not None:
        note(hint)
    raise typer.Exit(0 if result.success else 1)


def _initial_pose(init: Path, source: Path, target: Path, similarity: bool) -> Floats:
    """The transform of a file, the identity, or the one between the poses that the scans' files hold."""
    import numpy as np

    from graphreg.cli.inputs import VIEWPOINT, viewpoints
    from graphreg.files.pose_files import read_pose
    from graphreg.poses import inverse

    if init.exists() or init not in (IDENTITY, VIEWPOINT):
        return read_pose(init, similarity=similarity)
    if init == IDENTITY:
        return np.eye(4)
    of_source, of_target = viewpoints([source, target], all_of_them=True)
    return np.asarray(inverse(of_target) @ of_source)


def _print(result: Result) -> None:
    from graphreg.cli.console import output
    from graphreg.feedback.summaries import matrix_lines, scale_text

    output(f"{result.reason} (confidence {result.confidence:.2f})")
    if result.degenerate_directions:
        output(f"degenerate directions: {'; '.join(result.degenerate_directions)}")
    if result.scale != 1:
        output(f"scale: {scale_text(result.scale, result.covariance)}")
    if result.residual_quantiles:
        output(
            f"residuals of the overlap (within {result.overlap_distance:.3g}): median {result.residual_median:.3g}, "
            f"RMS {result.inlier_rmse:.3g}, 95 % below {result.residual_95:.3g}"
        )
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in result.timings.items() if name != "total")
    output(f"time: {result.timings['total']:.2f} s ({stages})")
    output("transformation (x_target = T x_source):")
    for line in matrix_lines(result.transformation):
        output(line)


def _scale(text: str | None) -> bool | tuple[float, float] | None:
    """Parse --scale: True for any, else numbers."""
    import math
    from contextlib import suppress

    from graphreg.errors import InputError

    if text is None or text == "any":
        return None if text is None else True
    with suppress(ValueError):
        low, high = map(float, text.split(","))
        if 0 < low <= high < math.inf:
            return low, high
    raise InputError(f"--scale: expected any, or the smallest and the largest as LOW,HIGH, got {text!r}")


def _setting(text: str) -> tuple[str, Any]:
    """Parse name=value; the value is a number, tuple, True, False or None as in Python, else a string."""
    from ast import literal_eval

    from graphreg.errors import InputError

    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set: expected name=value, got {text!r}")
    try:
        return name, literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
