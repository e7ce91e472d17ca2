"""graphreg sequence: the way of a sensor, from its frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.console import Quiet, Verbose

if TYPE_CHECKING:
    from graphreg.clouds import Floats
    from graphreg.multiscan.trajectory import FrameResult, Trajectory

# Frames that could not be registered are told one by one, up to so many.
MOST_TOLD = 10


def sequence(
    folder: Annotated[Path, typer.Argument(help="The frames, in the order of their names; or a KITTI sequence.")],
    every: Annotated[int, typer.Option(min=1, help="Only every n-th frame.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many of these.")] = None,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", help="Lay each frame on the one before, without a guess, as the paper does; else on a local map."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Write the poses here, x_first = T x_frame: .kitti, .tum, .npy, .g2o or .txt."
        ),
    ] = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", help="Write what all frames show together here, a point a cell.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="True poses of the sensor, a pose a frame, to compare with. A KITTI sequence has its own."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page here: the map in 3D, the way, every frame's verdict.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn at random: the same seed, the same answer.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print poses, verdicts and errors as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find where a moving sensor was at each frame of FOLDER, with respect to the first, and tell which can be trusted.

    Exit status: 0 every frame registered, 1 not all, 2 bad input.

    \b
    Examples:
      graphreg sequence frames/ -o poses.tum
      graphreg sequence scans/kitti_odometry/dataset/sequences/03 --pairs --json
      graphreg sequence frames/ --map map.ply --report drive.html
      graphreg sequence frames/ --truth true_poses.kitti --limit 100
    """
    import json

    from graphreg.cli.console import detail, note
    from graphreg.cli.outputs import check_outputs, write_cloud
    from graphreg.cli.progress import each, working
    from graphreg.clouds import as_cloud
    from graphreg.files.folders import frame_files
    from graphreg.multiscan.odometry import sequence as find
    from graphreg.multiscan.trajectory import Trajectory
    from graphreg.reports.trajectory_page import trajectory_report

    check_outputs(pose=out, cloud=map_file, page=report)
    files = frame_files(folder)
    _tell_others(files)
    files = files[: None if limit is None else (limit - 1) * every + 1]
    true_poses = _truth(folder, files, truth)
    times = _times(folder, files)
    done: list[FrameResult] = []

    def watch(step: FrameResult) -> None:
        done.append(step)
        detail(f"{step.name}: {step.seconds:.3f} s, {step.reason}")

    try:
        found = find(
            each(files, "registering", len(files)),
            every=every,
            mode="pairs" if pairs else "map",
            keep_map=map_file is not None or report is not None,
            threads=threads,
            seed=seed,
            callback=watch,
        )
    except KeyboardInterrupt:
        # Poses may be the work of hours.
        found = Trajectory(tuple(done))
        if out is not None and done:
            _write_poses(out, found, times)
            note(f"{out}: holds the {len(done)} poses found so far")
        raise
    compared = None if true_poses is None else true_poses[[step.number for step in found.steps]]
    if out is not None:
        _write_poses(out, found, times)
    if map_file is not None and found.map is not None:
        if len(found.map):
            write_cloud(map_file, as_cloud(found.map))
        else:
            note(f"{map_file}: not written, for no frame was registered")
    if report is not None:
        with working(f"writing {report.name}"):
            trajectory_report(found, report, truth=compared, name=folder.resolve().name, threads=threads)
    errors = None if compared is None else _errors(found.poses, compared)
    if as_json:
        typer.echo(json.dumps(_plain(found, errors)))
    else:
        _tell(found, errors)
    raise typer.Exit(0 if found.success else 1)


def _tell_others(files: list[Path]) -> None:
    """Tell of point clouds beside the frames that are of another format. Text may be anything."""
    from graphreg.cli.console import note
    from graphreg.files import formats

    suffix = files[0].suffix.lower()
    others = [path for path in files[0].parent.iterdir() if path.suffix.lower() in formats().keys() - {suffix, ".txt"}]
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        note(f"left out, for most files are {suffix}: {min(others).name}{more}")


def _write_poses(path: Path, found: Trajectory, times: Floats | None) -> None:
    from graphreg.files.pose_files import pose_format, write_poses

    numbers = [step.number for step in found.steps]
    stamps = numbers if times is None else times[numbers]
    write_poses(path, found.poses, times=stamps if pose_format(path) == "tum" else None)


def _truth(folder: Path, files: list[Path], truth: Path | None) -> Floats | None:
    """(N, 4, 4): the true pose at each file, from the file given or from a KITTI sequence's own; None without one."""
    import numpy as np

    from graphreg.cli.console import detail
    from graphreg.datasets import kitti
    from graphreg.errors import FileError
    from graphreg.files.pose_files import read_poses

    if truth is not None:
        poses = read_poses(truth)
        if len(poses) < len(files):
            raise FileError(truth, f"holds {len(poses)} poses, too few for {len(files)} frames")
        return poses
    try:
        known = {scan.path: scan.pose for scan in kitti.scans(folder)}
    except FileError as problem:  # another layout, or one of the test sequences, whose poses are kept secret
        detail(f"no true poses to compare with: {problem}")
        return None
    return np.array([known[path] for path in files])


def _times(folder: Path, files: list[Path]) -> Floats | None:
    """When each frame was taken, from the file times.txt of a KITTI sequence; None without one."""
    import numpy as np

    from graphreg.errors import FileError

    path = folder / "times.txt"
    if not path.is_file():
        return None
    try:
        times = np.loadtxt(path, ndmin=1)
    except ValueError as problem:
        raise FileError(path, "expected a number a line") from problem
    if times.ndim != 1 or len(times) < len(files):
        raise FileError(path, f"holds {len(times)} lines, expected a number for each of {len(files)} frames")
    return times


def _errors(poses: Floats, truth: Floats) -> dict[str, Any] | None:
    """Of a way of two frames or more: as the paper tells them, and as the KITTI benchmark does."""
    from dataclasses import asdict

    from graphreg.metrics import segment_errors, sequence_errors
    from graphreg.multiscan.trajectory import relative_transforms

    if len(poses) < 2:
        return None
    segments = segment_errors(poses, truth)
    return {
        **asdict(sequence_errors(relative_transforms(poses), list(truth))),
        "segments": None if segments is None else asdict(segments),
    }


def _plain(found: Trajectory, errors: dict[str, Any] | None) -> dict[str, Any]:
    from dataclasses import asdict

    steps = []
    for step in found.steps:
        told = asdict(step) | {"pose": step.pose.tolist()}
        if not step.voxel > 0:
            told["voxel"] = None  # JSON has no NaN
        steps.append(told)
    return {"success": found.success, "frames": len(steps), "steps": steps, "errors": errors}


def _tell(found: Trajectory, errors: dict[str, Any] | None) -> None:
    import numpy as np

    from graphreg.cli.console import note, tell

    steps = found.steps
    lost = [step for step in steps if not step.success]
    for step in lost[:MOST_TOLD]:
        note(f"{step.name}: its pose is a guess; {step.reason}")
    if len(lost) > MOST_TOLD:
        note(f"and {len(lost) - MOST_TOLD} more frames, whose poses are guesses; --json tells all")
    tell(f"frames: {len(steps):,}, {f'{len(lost):,} of them not registered' if lost else 'all registered'}")
    searched = sum(step.global_search for step in steps)
    if searched:
        tell(f"found by the full search: {searched:,}")
    way = float(np.linalg.norm(np.diff(found.poses[:, :3, 3], axis=0), axis=1).sum())
    tell(f"way: {way:.4g}, to ({', '.join(f'{value:.4g}' for value in steps[-1].pose[:3, 3])})")
    seconds = np.array([step.seconds for step in steps])
    tell(f"time: {np.median(seconds):.3f} s a frame (median), at most {seconds.max():.3f} s")
    if errors is not None:
        names = {"rpe": "relative pose error", "ate": "absolute trajectory error", "final": "final error"}
        for key, name in names.items():
            tell(f"{name}: {errors[f'{key}_rotation']:.4f} degrees, {errors[f'{key}_translation']:.4g}")
        if errors["segments"] is not None:
            told = errors["segments"]
            tell(
                f"over segments of {told['lengths'][0]:.4g} to {told['lengths'][-1]:.4g}: "
                f"{told['translation_percent']:.3f} %, {told['rotation_per_length']:.5f} degrees per unit of length"
            )
