"""graphreg localise: the trajectory of a sensor in a prior map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.options import Quiet, Seed, Threads, Topic, Verbose

if TYPE_CHECKING:
    from graphreg.clouds import Floats
    from graphreg.multiscan.trajectory import FrameResult, Trajectory

# Frames that are not localised are listed one by one, up to this number.
MAX_LISTED_FRAMES = 10


def localise(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FRAMES",
            help="Folder of the frames, in the order of their names; a KITTI sequence; or a ROS bag: .bag, .mcap, .db3 "
            "or its folder.",
        ),
    ],
    prior_map: Annotated[
        Path,
        typer.Argument(
            metavar="MAP", help="The map: a point cloud or a folder of tiles, as `graphreg sequence --map`."
        ),
    ],
    every: Annotated[int, typer.Option(min=1, help="Use only every n-th frame.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Use at most this number of frames.")] = None,
    topic: Topic = None,
    times: Annotated[
        str | None,
        typer.Option(metavar="fields|guess", help="Deskew frames of a moving scanner, as in `graphreg sequence`."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Write the trajectory here, poses x_map = P x_frame: .kitti, .tum, .npy, .g2o or .txt (4x4).",
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="Ground-truth poses in the map, one for each frame, to compute errors with."),
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
    """Estimate the trajectory of a moving sensor in a prior map.

    Poses are in the coordinates of MAP. The first frame is located from any pose, the next ones are tracked, and a
    frame that is lost is located again. A frame that is not localised has the pose that constant velocity predicts.

    Exit status: 0 all frames localised, 1 not all, 2 bad input.

    \b
    Examples:
      graphreg localise frames/ map.ply -o poses.tum
      graphreg localise frames/ map.laz --report trajectory.html
      graphreg localise frames/ map.ply --every 2 --json
    """
    import json
    from dataclasses import replace

    from graphreg.cli.console import detail
    from graphreg.cli.inputs import input_frames
    from graphreg.cli.outputs import check_outputs, stamps_of
    from graphreg.cli.progress import byte_progress, item_progress, spinner
    from graphreg.files import read_cloud
    from graphreg.files.pose_files import pose_format, write_poses
    from graphreg.multiscan.localisation import localise as estimate
    from graphreg.reports.trajectory_page import trajectory_report

    check_outputs(pose=out, page=report, inputs=[prior_map])
    frames, count = input_frames(folder, topic, every, limit)
    ground_truth = None if truth is None else _truth(truth, count)
    with byte_progress(f"reading {prior_map.name}") as show:
        whole = read_cloud(prior_map, progress=show)

    def callback(step: FrameResult) -> None:
        detail(f"{step.name}: {step.seconds:.3f} s, {step.reason}")

    found = estimate(
        item_progress(frames, "localising", count),
        whole,
        every=every,
        times=times,
        threads=threads,
        seed=seed,
        callback=callback,
    )
    truth_of_steps = None if ground_truth is None else ground_truth[[step.number for step in found.steps]]
    if out is not None:
        write_poses(out, found.poses, times=stamps_of(found) if pose_format(out) == "tum" else None)
    if report is not None:
        with spinner(f"writing {report.name}"):
            shown = replace(found, map=whole.points)
            name = folder.resolve().name
            trajectory_report(shown, report, truth=truth_of_steps, in_map=True, name=name, threads=threads)
    errors = None if truth_of_steps is None else _errors(found, truth_of_steps)
    if as_json:
        typer.echo(json.dumps(_as_dict(found, errors)))
    else:
        _print(found, errors)
    raise typer.Exit(0 if found.success else 1)


def _truth(path: Path, count: int) -> Floats:
    from graphreg.errors import FileError
    from graphreg.files.pose_files import read_poses

    poses = read_poses(path)
    if len(poses) < count:
        raise FileError(path, f"has {len(poses)} poses, too few for {count} frames")
    return poses


def _errors(found: Trajectory, truth: Floats) -> dict[str, float] | None:
    """Errors of the frames that are localised, in the coordinates of the map; None without any."""
    import numpy as np

    from graphreg.metrics import angular_error, translation_error

    pairs = [(step.pose, true) for step, true in zip(found.steps, truth, strict=True) if step.success]
    if not pairs:
        return None
    rotation, translation = ([error(*pair) for pair in pairs] for error in (angular_error, translation_error))
    return {
        "median_rotation": float(np.median(rotation)),
        "median_translation": float(np.median(translation)),
        "max_rotation": max(rotation),
        "max_translation": max(translation),
    }


def _as_dict(found: Trajectory, errors: dict[str, float] | None) -> dict[str, Any]:
    from dataclasses import asdict

    steps = []
    for step in found.steps:
        unknown = {name: None for name in ("voxel", "stamp") if not getattr(step, name) > 0}  # JSON has no NaN
        steps.append(asdict(step) | unknown | {"pose": step.pose.tolist()})
    return {"success": found.success, "frames": len(steps), "steps": steps, "errors": errors}


def _print(found: Trajectory, errors: dict[str, float] | None) -> None:
    import numpy as np

    from graphreg.cli.console import note, output

    steps = found.steps
    failed = [step for step in steps if not step.success]
    for step in failed[:MAX_LISTED_FRAMES]:
        note(f"{step.name}: {step.reason}")
    if len(failed) > MAX_LISTED_FRAMES:
        note(f"and {len(failed) - MAX_LISTED_FRAMES} more frames that are not localised; --json lists all")
    output(f"frames: {len(steps):,}, {f'{len(failed):,} of them not localised' if failed else 'all localised'}")
    located = sum(step.success and step.global_search and step.target == "map" for step in steps)
    output(f"located in the whole map: {located:,}; tracked: {len(steps) - len(failed) - located:,}")
    position = ", ".join(f"{value:.10g}" for value in steps[-1].pose[:3, 3])  # maps may be in UTM
    output(f"final position: ({position})")
    seconds = np.array([step.seconds for step in steps])
    output(f"time per frame: median {np.median(seconds):.3f} s, maximum {seconds.max():.3f} s")
    if errors is not None:
        output(
            f"errors in the map: median {errors['median_rotation']:.4f} degrees, {errors['median_translation']:.4g}; "
            f"maximum {errors['max_rotation']:.4f} degrees, {errors['max_translation']:.4g}"
        )
