"""graphreg multiway: several scans to one consistent set of poses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreg.cli.options import Quiet, Seed, Threads, Verbose, Voxel

if TYPE_CHECKING:
    from graphreg.clouds import Floats
    from graphreg.multiscan.multiway_result import Multiway


def multiway(
    scans: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCANS",
            help="Two or more scans, or a folder of scans; or one .g2o file, whose pose graph is optimised.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Write the poses here: .txt (4x4), .npy, .kitti, .tum or .g2o; or a folder, for one file per scan.",
        ),
    ] = None,
    merged: Annotated[Path | None, typer.Option(help="Write all registered scans here as one cloud.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Write the pose graph here (.g2o).")] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page here: all scans in 3D before and after registration, and every pair."),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            help="Initial poses, in a format of -o: one for each scan; a folder as -o writes it, where scans may be "
            "missing; or `viewpoint` for the poses that the files hold (E57, PCD, PLY)."
        ),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(metavar="SCAN", help="A scan that stays at its pose of --init, else as it is; may be repeated."),
    ] = None,
    dof: Annotated[
        str | None,
        typer.Option(help="Degrees of freedom of each pose, some of rx,ry,rz,x,y,z; rz,x,y,z for levelled scans."),
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option(
            help="Table (CSV) of control points and targets: name, scan, x, y, z in the scan, X, Y, Z in the world "
            "(empty for targets), sigma. The poses are then in the world frame."
        ),
    ] = None,
    voxel: Voxel = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Register several scans to one common frame, in any order and from any initial pose.

    Pairs of scans are registered and their pose graph is optimised. Poses are in the frame of fixed scans or control
    points, else of the first scan, in the order of SCANS; a folder stands for its scans, s9 before s10, and an E57 file
    with several scans for each of them. A scan that overlaps no other is left out of
    the poses and named. In .tum the timestamp of a pose is the number of its scan, from 0; in .g2o a scan that is left
    out has no edges.

    Exit status: 0 all scans registered, 1 some left out or doubtful, 2 bad input.

    \b
    Examples:
      graphreg multiway a.ply b.ply scan.ply -o poses.kitti --merged all.ply
      graphreg multiway a.laz b.laz scan.laz -o poses --report report.html
      graphreg multiway a.ply b.ply scan.ply --graph graph.g2o --json
      graphreg multiway site.e57 -o poses --merged site.laz
      graphreg multiway scans --dof rz,x,y,z --control control.csv
      graphreg multiway scans --fixed a.ply -o poses.kitti
      graphreg multiway site.e57 --init viewpoint
      graphreg multiway graph.g2o -o poses.g2o
    """
    from graphreg.cli.console import detail, note, output
    from graphreg.cli.inputs import check_voxel, unit_hint
    from graphreg.cli.outputs import check_folder, check_outputs, expect_suffix
    from graphreg.cli.progress import byte_progress, count_progress, spinner
    from graphreg.errors import InputError
    from graphreg.files import read_cloud
    from graphreg.files.control_points import read_control_points
    from graphreg.files.g2o import write_graph
    from graphreg.files.pose_files import write_poses
    from graphreg.multiscan.multiway_registration import multiway as register_scans
    from graphreg.reports.multiway_page import multiway_report

    expect_suffix(graph, (".g2o",), "pose graph")
    into_folder = out is not None and (out.is_dir() or not out.suffix)
    check_outputs(pose=None if into_folder else out, cloud=merged, page=report)
    check_outputs(pose=graph)
    if out is not None and into_folder:
        check_folder(out)
    if len(scans) == 1 and scans[0].suffix.lower() == ".g2o":
        if merged is not None or report is not None:
            raise InputError("--merged and --report need scans, got a pose graph")
        if init or fixed or dof or control:
            raise InputError("--init, --fixed, --dof and --control need scans, got a pose graph")
        _optimise(scans[0], out, graph, as_json)
        return
    scans = [each for path in scans for each in _scans_of(path)]
    check_outputs(pose=None if into_folder else out, cloud=merged, inputs=scans)
    names = _names(scans)
    points = None if control is None else read_control_points(control)
    poses = None if init is None else _initial_poses(init, names, scans)
    clouds = []
    for path in scans:
        with byte_progress(f"reading {path.name}") as show:
            clouds.append(read_cloud(path, progress=show))
    if len(clouds) < 2:
        raise InputError("SCANS: expected at least two scans, or a folder of them, got one")
    check_voxel(voxel, dict(zip(names, clouds, strict=True)))
    with count_progress("registering pairs") as count:
        result = register_scans(
            clouds, names=names, init=poses, fixed=fixed or (), dof=dof, control=points,
            voxel=voxel, seed=seed, threads=threads, progress=count,
        )  # fmt: skip
    registered = [scan for scan in range(len(names)) if any(scan in group for group in result.groups[:1])]
    if out is not None and into_folder:
        out.mkdir(parents=True, exist_ok=True)
        for scan in registered:
            write_poses(out / f"{_stem(names[scan])}.txt", result.poses[scan])
    elif out is not None and registered:
        if out.suffix.lower() == ".g2o":
            write_graph(out, result.graph)
        else:
            write_poses(out, result.poses[registered], times=registered if out.suffix.lower() == ".tum" else None)
    if graph is not None:
        write_graph(graph, result.graph)
    if merged is not None and registered:
        _write_merged(merged, result, voxel)
    if report is not None:
        with spinner(f"writing {report.name}"):
            multiway_report(result, report, threads=threads)
    for scan, name in enumerate(names):
        first = registered[0] if registered else 0
        if name in result.left_out and (
            hint := unit_hint(clouds[scan].points, clouds[first].points, (name, names[first]))
        ):
            note(hint)
    for edge in result.edges:
        detail(f"{names[edge.source]} to {names[edge.target]}: {edge.reason} (confidence {edge.confidence:.2f})")
    if as_json:
        typer.echo(result.to_json())
    else:
        for line in _sentences(result):
            output(line)
    raise typer.Exit(0 if result.success else 1)


def _write_merged(path: Path, result: Multiway, voxel: float | None) -> None:
    """Write the merged cloud, with notes on what is not the same in all scans."""
    from graphreg.cli.console import note
    from graphreg.cli.outputs import write_cloud
    from graphreg.files.las_header import LasHeader, common_header

    members = [result.clouds[scan] for scan in result.groups[0]]
    merged = result.merged(voxel)
    write_cloud(path, merged)
    some = {name: None for cloud in members for name in cloud.attributes if name not in merged.attributes}
    if some:
        why = "not in all scans, or of another shape" if voxel is None else "left out with --voxel"
        note(f"{path}: attributes {why}: {', '.join(some)}")
    headers = [cloud.header for cloud in members if isinstance(cloud.header, LasHeader)]
    if len(headers) < len(members):
        if any(header.crs is not None for header in headers):
            note(f"{path}: left out: the coordinate reference system, which not all scans have")
    elif differing := common_header(headers)[1]:
        note(f"{path}: not the same in all scans, as in {result.names[result.groups[0][0]]}: {', '.join(differing)}")


def _sentences(result: Multiway) -> list[str]:
    names = result.names
    first = result.groups[0] if result.groups else ()
    used = sum(edge.used for edge in result.edges)
    lines = [f"registered: {len(first)} of {len(names)} scans, by {used} of {len(result.edges)} pairs"]
    for group in result.groups[1:]:
        lines.append(f"separate group: {', '.join(names[scan] for scan in group)}")
    lines += [f"left out: {name}: {why}" for name, why in result.left_out.items()]
    lines += [f"doubtful: {name}: {why}" for name, why in result.doubtful.items()]
    lines += [
        f"pair rejected: {names[edge.source]} to {names[edge.target]}: {edge.reason}"
        for edge in result.edges
        if edge.success and not edge.used
    ]
    lines += [
        f"control point rejected: {point.name} in {names[point.scan]}: it contradicts the others by "
        f"{(point.residual**2).sum() ** 0.5:.3g}, {(point.residual**2).sum() ** 0.5 / point.sigma:.3g} times its sigma"
        for point in result.control
        if point.is_outlier
    ]
    if not result.in_world and any(point.known for point in result.control):
        lines.append("not in the world frame: the control points in registered scans do not determine it")
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in result.timings.items() if name != "total")
    return [*lines, *_tables(result), f"time: {result.timings['total']:.2f} s ({stages})"]


def _tables(result: Multiway) -> list[str]:
    """Poses, residuals of the pairs in use, and of control points."""
    from graphreg.reports.multiway_tables import control_rows, pair_rows, pose_rows

    lines = []
    for rows in (pose_rows(result), pair_rows(result, used=True), control_rows(result)):
        if len(rows) > 1:
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            cells = [
                [row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
                for row in rows
            ]
            lines += ["", *("  ".join(row).rstrip() for row in cells)]
    return [*lines, ""] if lines else []


def _optimise(path: Path, out: Path | None, graph: Path | None, as_json: bool) -> None:
    """Optimise a pose graph without scans."""
    import json
    from dataclasses import replace

    from graphreg.cli.console import output
    from graphreg.files.g2o import read_graph, write_graph
    from graphreg.files.pose_files import write_poses
    from graphreg.multiscan.pose_graph import squared_errors
    from graphreg.multiscan.pose_graph_optimisation import optimise

    initial = read_graph(path)
    found = optimise(initial)
    optimised = replace(initial, poses=found.poses)
    if out is not None:
        if out.suffix.lower() == ".g2o":
            write_graph(out, optimised)
        else:
            write_poses(out, found.poses)
    if graph is not None:
        write_graph(graph, optimised)
    outliers = [tuple(map(int, pair)) for pair in initial.pairs[~found.used]]
    before, after = (float(squared_errors(each)[found.used].sum()) for each in (initial, optimised))
    if as_json:
        summary = {"poses": found.poses.tolist(), "groups": found.groups, "outlier_edges": outliers}
        typer.echo(json.dumps({**summary, "chi2_before": before, "chi2_after": after}))
    else:
        output(f"{len(initial.poses)} poses, {len(initial.pairs)} edges: chi2 {before:.6g} before, {after:.6g} after")
        for source, target in outliers:
            output(f"outlier edge: {source} to {target}")
        if len(found.groups) > 1:
            sizes = ", ".join(str(len(group)) for group in found.groups)
            output(f"{len(found.groups)} groups without an edge between them, of {sizes} poses")
    raise typer.Exit(0 if len(found.groups) == 1 else 1)


def _initial_poses(path: Path, names: list[str], scans: list[Path]) -> Floats:
    """Poses of all scans, NaN where a folder or the file of a scan has none."""
    import numpy as np

    from graphreg.cli.inputs import VIEWPOINT, viewpoints
    from graphreg.errors import InputError
    from graphreg.files.pose_files import read_pose, read_poses

    if path == VIEWPOINT and not path.exists():
        return viewpoints(scans)
    if not path.is_dir():
        poses = read_poses(path)
        if len(poses) != len(names):
            raise InputError(f"--init: {path} has {len(poses)} poses, expected one for each of {len(names)} scans")
        return poses
    files = [path / f"{_stem(name)}.txt" for name in names]
    if not any(file.exists() for file in files):
        raise InputError(f"--init: {path} has no poses of these scans, such as {files[0].name}")
    return np.array([read_pose(file) if file.exists() else np.full((4, 4), np.nan) for file in files])


def _scans_of(path: Path) -> list[Path]:
    """The file, the scans in a folder, or each of the scans of an E57 file that has several."""
    from graphreg.cli.console import note
    from graphreg.files import list_scans
    from graphreg.files.folders import frame_files, natural_sort_key

    if path.is_dir():
        files = frame_files(path)
        others = {each.name for each in files[0].parent.iterdir() if not each.name.startswith(".")}
        if skipped := sorted(others - {each.name for each in files}, key=natural_sort_key):
            note(f"{path}: {len(files)} scans; skipped: {', '.join(skipped)}")
        return [scan for each in files for scan in _scans_of(each)]
    scans = list_scans(path)
    return [path.with_name(f"{path.name}#{scan.number}") for scan in scans] if len(scans) > 1 else [path]


def _stem(name: str) -> str:
    """The name of a scan without its suffix: site_2 of site.e57#2."""
    import re

    from graphreg.files import split_scan

    path, scan = split_scan(Path(name))
    return path.stem if scan is None else re.sub(r"[^\w.-]", "_", f"{path.stem}_{scan}")


def _names(scans: list[Path]) -> list[str]:
    """File names; whole paths if two file names are the same."""
    from graphreg.errors import InputError

    resolved = [path.resolve() for path in scans]
    twice = next((path for path, real in zip(scans, resolved, strict=True) if resolved.count(real) > 1), None)
    if twice is not None:
        raise InputError(f"scans: {twice} is named twice")
    short = [path.name for path in scans]
    return short if len(set(short)) == len(short) else [str(path) for path in scans]
