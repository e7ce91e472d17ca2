"""graphreg sequence: LiDAR odometry, the trajectory of a sensor from its frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.options import Quiet, Seed, Threads, Topic, Verbose

if TYPE_CHECKING:
    from graphreg.clouds import Floats
    from graphreg.multiscan.trajectory import FrameResult, Trajectory

# Frames that are not registered are listed one by one, up to this number.
MAX_LISTED_FRAMES = 10


def sequence(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FRAMES",
            help="Folder of the frames, in the order of their names; a KITTI sequence; or a ROS bag: .bag, .mcap, .db3 "
            "or its folder.",
        ),
    ],
    every: Annotated[int, typer.Option(min=1, help="Use only every n-th frame.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Use at most this number of frames.")] = None,
    topic: Topic = None,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="Register each frame to the previous one without a prediction, as in the paper, not to a local map.",
        ),
    ] = False,
    times: Annotated[
        str | None,
        typer.Option(
            metavar="fields|guess",
            help="Deskew frames of a moving scanner: fields, by the attribute t, time, timestamp or offset_time of "
            "their points; guess, by their azimuth, for a rotating scanner.",
        ),
    ] = None,
    loops: Annotated[
        bool,
        typer.Option(
            "--loops", help="Look for places where the sensor has been before, and correct trajectory and map by them."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Write the trajectory here, poses x_first = P x_frame: .kitti, .tum, .npy, .g2o or .txt (4x4).",
        ),
    ] = None,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map",
            help="Write the map of all frames here, one point per voxel: a file, or a folder for tiles, which keep "
            "memory bounded.",
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Ground-truth poses, one for each frame, to compute errors with; default those of a KITTI sequence."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page here: the map in 3D, the trajectory, the verdict on each frame."),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print poses, verdicts and errors as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Estimate the trajectory of a moving sensor from its frames (LiDAR odometry).

    Poses are relative to the first frame. A frame that cannot be registered has the pose that constant velocity
    predicts. With ground truth, the relative pose error (RPE), the absolute trajectory error (ATE) and KITTI's segment
    errors are printed.

    Exit status: 0 all frames registered, 1 not all, 2 bad input.

    \b
    Examples:
      graphreg sequence frames/ -o poses.tum
      graphreg sequence scans/kitti_odometry/dataset/sequences/03 --pairs --json
      graphreg sequence frames/ --map map.ply --report trajectory.html
      graphreg sequence frames/ --map tiles/
      graphreg sequence ouster/ --times fields -o poses.tum
      graphreg sequence street.bag --topic /points --times fields
      graphreg sequence frames/ --loops --map map.ply -o poses.tum
      graphreg sequence frames/ --truth ground_truth.kitti --limit 100
    """
    import json

    from graphreg.cli.console import detail, note
    from graphreg.cli.inputs import input_frames
    from graphreg.cli.outputs import check_folder, check_outputs, write_cloud
    from graphreg.cli.progress import item_progress, spinner
    from graphreg.clouds import as_cloud
    from graphreg.files.map_tiles import check_tile_folder
    from graphreg.multiscan.odometry import sequence as estimate
    from graphreg.multiscan.trajectory import Trajectory
    from graphreg.reports.trajectory_page import trajectory_report

    # Without a suffix, or where it exists as one, it is a folder.
    tiles = map_file if map_file is not None and (map_file.is_dir() or not map_file.suffix) else None
    map_file = map_file if tiles is None else None
    if tiles is not None:
        check_folder(tiles)
        check_tile_folder(tiles)
    check_outputs(pose=out, cloud=map_file, page=report)
    frames, count = input_frames(folder, topic, every, limit)
    files = frames if isinstance(frames, list) else []
    _note_other_formats(files)
    ground_truth = _ground_truth(folder, files, truth, count)
    stamps = _stamps(folder, files)
    done: list[FrameResult] = []

    def callback(step: FrameResult) -> None:
        done.append(step)
        detail(f"{step.name}: {step.seconds:.3f} s, {step.reason}")

    try:
        found = estimate(
            item_progress(frames, "registering", count),
            every=every,
            mode="pairs" if pairs else "map",
            keep_map=map_file is not None or report is not None,
            map_folder=tiles,
            times=times,
            loops=loops,
            threads=threads,
            seed=seed,
            callback=callback,
        )
    except KeyboardInterrupt:
        # The poses may have taken hours.
        found = Trajectory(tuple(done))
        if out is not None and done:
            _write_poses(out, found, stamps)
            note(f"{out}: poses estimated so far: {len(done)}")
        raise
    truth_of_steps = None if ground_truth is None else ground_truth[[step.number for step in found.steps]]
    if out is not None:
        _write_poses(out, found, stamps)
    if map_file is not None and found.map is not None:
        if len(found.map):
            write_cloud(map_file, as_cloud(found.map))
        else:
            note(f"{map_file}: not written, because no frame was registered")
    if report is not None:
        with spinner(f"writing {report.name}"):
            trajectory_report(found, report, truth=truth_of_steps, name=folder.resolve().name, threads=threads)
    errors = None if truth_of_steps is None else _errors(found.poses, truth_of_steps)
    if as_json:
        typer.echo(json.dumps(_as_dict(found, errors)))
    else:
        _print(found, errors)
    raise typer.Exit(0 if found.success else 1)


def _note_other_formats(files: list[Path]) -> None:
    """Note point clouds of another format beside the frames. Text files may be anything."""
    from graphreg.cli.console import note
    from graphreg.files import formats

    if not files:
        return
    suffix = files[0].suffix.lower()
    others = [path for path in files[0].parent.iterdir() if path.suffix.lower() in formats().keys() - {suffix, ".txt"}]
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        note(f"left out, because most files are {suffix}: {min(others).name}{more}")


def _write_poses(path: Path, found: Trajectory, frame_stamps: Floats | None) -> None:
    from graphreg.cli.outputs import stamps_of
    from graphreg.files.pose_files import pose_format, write_poses

    stamps = stamps_of(found) if frame_stamps is None else frame_stamps[[step.number for step in found.steps]]
    write_poses(path, found.poses, times=stamps if pose_format(path) == "tum" else None)


def _ground_truth(folder: Path, files: list[Path], truth: Path | None, count: int) -> Floats | None:
    """Ground-truth pose of each frame, (N, 4, 4), from `truth` or from the KITTI sequence itself; None without one."""
    import numpy as np

    from graphreg.cli.console import detail
    from graphreg.datasets import kitti
    from graphreg.errors import FileError
    from graphreg.files.pose_files import read_poses

    if truth is not None:
        poses = read_poses(truth)
        if len(poses) < count:
            raise FileError(truth, f"has {len(poses)} poses, too few for {count} frames")
        return poses
    if not files:
        return None
    try:
        known = {scan.path: scan.pose for scan in kitti.scans(folder)}
    except FileError as problem:  # another layout, or a test sequence, whose poses are not published
        detail(f"no ground truth: {problem}")
        return None
    return np.array([known[path] for path in files])


def _stamps(folder: Path, files: list[Path]) -> Floats | None:
    """Timestamp of each frame, from times.txt of a KITTI sequence; None without one."""
    import numpy as np

    from graphreg.errors import FileError

    path = folder / "times.txt"
    if not files or not path.is_file():
        return None
    try:
        times = np.loadtxt(path, ndmin=1)
    except ValueError as problem:
        raise FileError(path, "expected one number per line") from problem
    if times.ndim != 1 or len(times) < len(files):
        raise FileError(path, f"has {len(times)} lines, expected a number for each of {len(files)} frames")
    return times


def _errors(poses: Floats, truth: Floats) -> dict[str, Any] | None:
    """RPE, ATE and KITTI segment errors of a trajectory of two frames or more."""
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


def _as_dict(found: Trajectory, errors: dict[str, Any] | None) -> dict[str, Any]:
    from dataclasses import asdict

    steps = []
    for step in found.steps:
        values = asdict(step) | {"pose": step.pose.tolist()}
        for name in ("voxel", "stamp"):
            if not values[name] > 0:
                values[name] = None  # JSON has no NaN
        steps.append(values)
    loops = None
    if found.loops is not None:
        loops = [asdict(loop) | {"transformation": loop.transformation.tolist()} for loop in found.loops]
    return {"success": found.success, "frames": len(steps), "steps": steps, "loops": loops, "errors": errors}


def _print(found: Trajectory, errors: dict[str, Any] | None) -> None:
    import numpy as np

    from graphreg.cli.console import note, output
    from graphreg.multiscan.trajectory import loops_in_words

    steps = found.steps
    failed = [step for step in steps if not step.success]
    for step in failed[:MAX_LISTED_FRAMES]:
        note(f"{step.name}: pose predicted by constant velocity; {step.reason}")
    if len(failed) > MAX_LISTED_FRAMES:
        note(f"and {len(failed) - MAX_LISTED_FRAMES} more frames with predicted poses; --json lists all")
    output(f"frames: {len(steps):,}, {f'{len(failed):,} of them not registered' if failed else 'all registered'}")
    searched = sum(step.global_search for step in steps)
    if searched:
        output(f"registered by global search: {searched:,}")
    if found.loops is not None:
        output(f"loops: {loops_in_words(found)}")
    length = float(np.linalg.norm(np.diff(found.poses[:, :3, 3], axis=0), axis=1).sum())
    position = ", ".join(f"{value:.4g}" for value in steps[-1].pose[:3, 3])
    output(f"trajectory: length {length:.4g}, final position ({position})")
    seconds = np.array([step.seconds for step in steps])
    output(f"time per frame: median {np.median(seconds):.3f} s, maximum {seconds.max():.3f} s")
    if errors is not None:
        _print_errors(errors)


def _print_errors(errors: dict[str, Any]) -> None:
    from graphreg.cli.console import output

    for key, name in (("rpe", "RPE (consecutive frames)"), ("ate", "ATE"), ("final", "final pose error")):
        output(f"{name}: {errors[f'{key}_rotation']:.4f} degrees, {errors[f'{key}_translation']:.4g}")
    segments = errors["segments"]
    if segments is not None:
        shortest, longest = segments["lengths"][0], segments["lengths"][-1]
        output(
            f"KITTI segment errors (lengths {shortest:.4g} to {longest:.4g}): {segments['translation_percent']:.3f} %, "
            f"{segments['rotation_per_length']:.5f} degrees per unit of length"
        )
