"""graphreg multiway: a folder of scans to one consistent set of poses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreg.cli.console import Quiet, Verbose

if TYPE_CHECKING:
    from graphreg.multiscan.multiway_result import Multiway


def multiway(
    scans: Annotated[
        list[Path], typer.Argument(help="The scans, two or more; or one .g2o file, whose pose graph is optimised.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Write the poses here: .txt (4x4), .npy, .kitti, .tum or .g2o; or a folder, for a file a scan.",
        ),
    ] = None,
    merged: Annotated[
        Path | None, typer.Option(help="Write all scans that belong together here, as one cloud.")
    ] = None,
    graph: Annotated[Path | None, typer.Option(help="Write the pose graph here: .g2o.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page here: all scans in 3D before and after, and every pair.")
    ] = None,
    voxel: Annotated[
        float | None, typer.Option(help="Side of a cell, in the unit of the scans; by default one that suits them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn at random: the same seed, the same answer.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find one pose for each of several SCANS, in any order and from any pose.

    Poses are in the frame of the first scan. A scan that fits nowhere is left out and named; files of poses then hold
    those of the others, in the order given. In .tum the time of a pose is the number of its scan, from 0; in .g2o a
    scan that is left out has no edges.

    Exit status: 0 all scans placed, 1 some left out or in doubt, 2 bad input.

    \b
    Examples:
      graphreg multiway a.ply b.ply scan.ply -o poses.kitti --merged all.ply
      graphreg multiway a.laz b.laz scan.laz -o poses --report report.html
      graphreg multiway a.ply b.ply scan.ply --graph graph.g2o --json
      graphreg multiway graph.g2o -o poses.g2o
    """
    from graphreg.cli.console import detail, tell
    from graphreg.cli.outputs import check_folder, check_outputs, write_cloud
    from graphreg.cli.progress import counting, reading, working
    from graphreg.errors import FileError, InputError
    from graphreg.files import read_cloud
    from graphreg.files.g2o import write_graph
    from graphreg.files.pose_files import write_poses
    from graphreg.multiscan.multiway_registration import multiway as find
    from graphreg.reports.multiway_page import multiway_report

    if graph is not None and graph.suffix.lower() != ".g2o":
        raise FileError(graph, "expected a name that ends in .g2o, for a pose graph is written to it")
    into_folder = out is not None and (out.is_dir() or not out.suffix)
    check_outputs(pose=None if into_folder else out, cloud=merged, page=report)
    check_outputs(pose=graph)
    if out is not None and into_folder:
        check_folder(out)
    if len(scans) == 1 and scans[0].suffix.lower() == ".g2o":
        if merged is not None or report is not None:
            raise InputError("--merged and --report need scans, but a pose graph was given")
        _optimise(scans[0], out, graph, as_json)
        return
    names = _names(scans)
    clouds = []
    for path in scans:
        with reading(f"reading {path.name}") as show:
            clouds.append(read_cloud(path, progress=show))
    with counting("registering pairs") as count:
        result = find(clouds, names=names, voxel=voxel, seed=seed, threads=threads, progress=count)
    placed = [scan for scan in range(len(names)) if any(scan in group for group in result.groups[:1])]
    if out is not None and into_folder:
        out.mkdir(parents=True, exist_ok=True)
        for scan in placed:
            write_poses(out / f"{Path(names[scan]).stem}.txt", result.poses[scan])
    elif out is not None and placed:
        if out.suffix.lower() == ".g2o":
            write_graph(out, result.graph)
        else:
            write_poses(out, result.poses[placed], times=placed if out.suffix.lower() == ".tum" else None)
    if graph is not None:
        write_graph(graph, result.graph)
    if merged is not None and placed:
        write_cloud(merged, result.merged(voxel))
    if report is not None:
        with working(f"writing {report.name}"):
            multiway_report(result, report, threads=threads)
    for edge in result.edges:
        detail(f"{names[edge.source]} to {names[edge.target]}: {edge.reason} (confidence {edge.confidence:.2f})")
    if as_json:
        typer.echo(result.to_json())
    else:
        for line in _sentences(result):
            tell(line)
    raise typer.Exit(0 if result.success else 1)


def _sentences(result: Multiway) -> list[str]:
    names = result.names
    largest = result.groups[0] if result.groups else ()
    used = sum(edge.used for edge in result.edges)
    lines = [f"{len(largest)} of {len(names)} scans placed in one frame, by {used} of {len(result.edges)} pairs tried"]
    for group in result.groups[1:]:
        lines.append(f"a group apart: {', '.join(names[scan] for scan in group)}")
    lines += [f"left out: {name}: {why}" for name, why in result.left_out.items()]
    lines += [f"in doubt: {name}: {why}" for name, why in result.doubtful.items()]
    lines += [
        f"pair refused: {names[edge.source]} to {names[edge.target]}: {edge.reason}"
        for edge in result.edges
        if edge.success and not edge.used
    ]
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in result.timings.items() if name != "total")
    return [*lines, f"time: {result.timings['total']:.2f} s ({stages})"]


def _optimise(path: Path, out: Path | None, graph: Path | None, as_json: bool) -> None:
    """A pose graph without clouds."""
    import json
    from dataclasses import replace

    from graphreg.cli.console import tell
    from graphreg.files.g2o import read_graph, write_graph
    from graphreg.files.pose_files import write_poses
    from graphreg.multiscan.pose_graph import squared_errors
    from graphreg.multiscan.pose_graph_optimisation import optimise

    given = read_graph(path)
    found = optimise(given)
    better = replace(given, poses=found.poses)
    if out is not None:
        if out.suffix.lower() == ".g2o":
            write_graph(out, better)
        else:
            write_poses(out, found.poses)
    if graph is not None:
        write_graph(graph, better)
    wrong = [tuple(map(int, pair)) for pair in given.pairs[~found.used]]
    before, after = (float(squared_errors(each)[found.used].sum()) for each in (given, better))
    if as_json:
        told = {"poses": found.poses.tolist(), "groups": found.groups, "wrong": wrong, "before": before, "after": after}
        typer.echo(json.dumps(told))
    else:
        tell(f"{len(given.poses)} poses, {len(given.pairs)} edges: error {before:.6g} before, {after:.6g} after")
        for source, target in wrong:
            tell(f"wrong edge: {source} to {target}")
        if len(found.groups) > 1:
            sizes = ", ".join(str(len(group)) for group in found.groups)
            tell(f"{len(found.groups)} groups that no edge joins, of {sizes} poses")
    raise typer.Exit(0 if len(found.groups) == 1 else 1)


def _names(scans: list[Path]) -> list[str]:
    """Files' names, with as much of the path as tells them apart."""
    from graphreg.errors import InputError

    seen = [path.resolve() for path in scans]
    if again := next((path for path, place in zip(scans, seen, strict=True) if seen.count(place) > 1), None):
        raise InputError(f"scans: {again} is named twice")
    short = [path.name for path in scans]
    return short if len(set(short)) == len(short) else [str(path) for path in scans]
