"""The report of a sequence: one HTML page with the map, the trajectory and the verdict of every frame."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from html import escape
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.metrics import angular_error, segment_errors, sequence_errors, translation_error
from graphreg.multiscan.trajectory import FrameResult, Trajectory, relative_transforms
from graphreg.poses import as_poses, inverse
from graphreg.reports.display_clouds import MIN_POINTS, DisplayCloud, default_view, describe_cloud
from graphreg.reports.page_layout import (
    asset,
    chart_figure,
    data_uri,
    figure_cards,
    json_script,
    labelled_cells,
    page_from_body,
    scroll_region,
    verdict_banner,
    write_page,
)
from graphreg.reports.page_payload import cloud_entry, encoded, levels, palette
from graphreg.threads import thread_count

# The trajectory is displayed as dots: their number for each radius of the map, and the largest number of all.
DOTS_PER_RADIUS, MAX_DOTS = 150, 20_000
# Kinds of dots: registered frames, predicted poses, ground truth, ends of loops. Indices into the colours of
# page/trajectory.js.
REGISTERED, PREDICTED, GROUND_TRUTH, LOOP_END = range(4)
# Width and height of the still picture, in pixels.
PICTURE = (1200, 640)
# Quantiles of the heights at both ends of the colour scale.
LOWEST, HIGHEST = 0.02, 0.98


def trajectory_report(
    trajectory: Trajectory,
    path: str | os.PathLike[str],
    *,
    truth: Any = None,
    in_map: bool = False,
    name: str = "sequence",
    threads: int | None = None,
) -> None:
    """Write a report of a sequence: one HTML file of a few megabytes that needs no other file and no network.

    Parameters
    ----------
    trajectory : Trajectory
        What `sequence` or `localise` returned. With keep_map=True the page displays the map.
    path : path_like
        The file to write. It is replaced as a whole or not at all.
    truth : (N, 4, 4) array_like, optional
        Ground-truth pose of each frame.
    in_map : bool, default False
        Whether poses and ground truth are in the coordinates of a prior map, and not relative to the first frame.
    name : str, default "sequence"
        Title of the page.
    threads : int, optional
        Number of threads, by default all.

    Raises
    ------
    InputError
        If an argument cannot be used.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> frames = [scan.points for scan in synthetic.sequence("street", 2, 1.0, points=2000)]
    >>> trajectory_report(graphreg.sequence(frames), "sequence.html", name="street")
    """
    if not isinstance(trajectory, Trajectory) or not trajectory.steps:
        raise InputError(
            f"trajectory: expected what sequence() returned for one frame or more, got {type(trajectory).__name__}"
        )
    relative_truth = None
    if truth is not None:
        poses = as_poses(truth, "truth")
        if len(poses) != len(trajectory.steps):
            raise InputError(f"truth: expected {len(trajectory.steps)} poses, one for each frame, got {len(poses)}")
        relative_truth = poses if in_map else np.array([inverse(poses[0]) @ pose for pose in poses])
    write_page(path, trajectory_html(trajectory, relative_truth, in_map, name, thread_count(threads)))


def trajectory_html(trajectory: Trajectory, truth: Floats | None, in_map: bool, name: str, threads: int) -> str:
    """Return the HTML of the report; `truth` is relative to the first frame, or in the coordinates of the map."""
    failed = [step for step in trajectory.steps if not step.success]
    map_cloud = None
    if trajectory.map is not None and len(trajectory.map) >= MIN_POINTS:
        map_cloud = describe_cloud(trajectory.map, "map", threads)
    payload = None if map_cloud is None else _payload(map_cloud, trajectory, truth)
    count = len(trajectory.steps)
    headline = f"{len(failed):,} of {count:,} frames not registered" if failed else "Every frame registered"
    body = Template(asset("trajectory.html")).substitute(
        help=asset("viewer_help.html"),
        verdict=verdict_banner(not failed, headline, _reason(trajectory, failed)),
        figures=figure_cards([*_figures(trajectory), *_error_figures(trajectory, truth, in_map)]),
        no_map="hidden" if map_cloud is None else "",
        no_truth="hidden" if truth is None else "",
        no_loops="" if trajectory.loops else "hidden",
        loops=_loop_table(trajectory),
        picture="" if map_cloud is None else _picture(map_cloud, trajectory),
        charts="\n".join(_charts(trajectory, truth, in_map)),
        frames=_frame_table(trajectory.steps),
        data=json_script(json.dumps(payload, allow_nan=False)),
    )
    styles, scripts = ("viewer.css", "trajectory.css"), ("viewer.js", "trajectory.js")
    return page_from_body(name, escape(name), "sequence", body, styles, scripts)


def trajectory_picture(trajectory: Trajectory) -> str:
    """Return a picture of the trajectory on its map, as a URI; empty where there is no map."""
    if trajectory.map is None or len(trajectory.map) < MIN_POINTS:
        return ""
    return _picture(describe_cloud(trajectory.map, "map", thread_count(None)), trajectory)


def _reason(trajectory: Trajectory, failed: list[FrameResult]) -> str:
    if not failed:
        worst = min(trajectory.steps, key=lambda step: step.confidence)
        return f"lowest confidence {worst.confidence:.2f}, in frame {worst.name}"
    return f"kept at the constant-velocity prediction; the first is frame {failed[0].name}, {failed[0].reason}"


def _figures(trajectory: Trajectory) -> list[tuple[str, str, str]]:
    """The key figures: name, value, explanation."""
    steps = trajectory.steps
    seconds = np.array([step.seconds for step in steps])
    length = float(np.linalg.norm(np.diff(trajectory.poses[:, :3, 3], axis=0), axis=1).sum())
    global_searches, keyframes = (sum(getattr(step, name) for step in steps) for name in ("global_search", "keyframe"))
    return [
        (
            "Frames",
            f"{len(steps):,}",
            f"{global_searches:,} by global registration; {keyframes:,} keyframes in the local map",
        ),
        ("Trajectory length", f"{length:.4g}", "in the unit of the data"),
        *_loop_figure(trajectory),
        ("Time", f"{np.median(seconds):.3f} s", f"median of a frame; at most {seconds.max():.3f} s; without reading"),
    ]


def _loop_figure(trajectory: Trajectory) -> Iterator[tuple[str, str, str]]:
    if trajectory.loops is not None:
        yield "Loops", f"{len(trajectory.loops):,}", "pairs of frames of the same place, which correct all poses"


def _error_figures(trajectory: Trajectory, truth: Floats | None, in_map: bool) -> Iterator[tuple[str, str, str]]:
    """RPE, ATE and the KITTI segment errors, where the ground truth is known; in a prior map the error there."""
    if in_map and truth is not None:
        found = [(step.pose, true) for step, true in zip(trajectory.steps, truth, strict=True) if step.success]
        if found:
            angle, distance = (max(error(*each) for each in found) for error in (angular_error, translation_error))
            note = f"largest of the {len(found):,} frames that are registered, in the coordinates of the map"
            yield "Error", f"{angle:.4f}°, {distance:.3g}", note
        return
    if truth is None or len(trajectory.steps) < 2:
        return
    errors = asdict(sequence_errors(relative_transforms(trajectory.poses), list(truth)))
    for title, kind, note in (
        ("RPE", "rpe", "relative pose error between consecutive frames, mean"),
        ("ATE", "ate", "absolute trajectory error, mean over the frames"),
        ("Final error", "final", "of the last frame's pose"),
    ):
        yield title, f"{errors[f'{kind}_rotation']:.4f}°, {errors[f'{kind}_translation']:.3g}", note
    segments = segment_errors(trajectory.poses, truth)
    if segments is not None:
        lengths = f"over segments of {segments.lengths[0]:.4g} to {segments.lengths[-1]:.4g}"
        note = f"translation {lengths}; rotation {segments.rotation_per_length:.5f}° per unit of length"
        yield "KITTI segment error", f"{segments.translation_percent:.3f} %", note


def _charts(trajectory: Trajectory, truth: Floats | None, in_map: bool) -> Iterator[str]:
    from graphreg.reports.charts import line_chart

    steps = trajectory.steps
    number = np.array([step.number for step in steps])
    tracks = ({} if truth is None else {"ground truth": truth[:, :3, 3]}) | {"estimate": trajectory.poses[:, :3, 3]}
    if len(steps) > 1:
        lines = {name: (track[:, 0], track[:, 1]) for name, track in tracks.items()}
        if trajectory.loops:
            ends = tracks["estimate"][_loop_ends(trajectory)]
            lines["ends of loops"] = ends[:, 0], ends[:, 1]
        svg = line_chart(lines, "Trajectory from above", "x", "y", marked=False, equal=True, dots=("ends of loops",))
        frame = "In the coordinates of the map" if in_map else "In the frame of the first scan"
        yield chart_figure(svg, f"{frame}; both axes have the same scale.")
    if truth is not None and len(steps) > 1:
        error = np.linalg.norm(tracks["estimate"] - tracks["ground truth"], axis=1)
        svg = line_chart({"error": (number, error)}, "Position error", "frame", "unit of the data", marked=False)
        yield chart_figure(svg, "Distance of each frame's position to the ground truth.")
    registered = [step for step in steps if step.target]
    if registered:
        series = {
            "confidence": (number, [step.confidence for step in steps]),
            "overlap": (np.array([step.number for step in registered]), [step.overlap for step in registered]),
        }
        svg = line_chart(series, "Confidence and overlap", "frame", "", marked=False)
        yield chart_figure(svg, "Overlap is the share of a frame that overlaps the cloud it was registered to.")
    svg = line_chart({"time": (number, [step.seconds for step in steps])}, "Time", "frame", "seconds", marked=False)
    yield chart_figure(svg, "Of each frame, without reading it.")


def _loop_ends(trajectory: Trajectory) -> list[int]:
    """Rows of the frames that loops join."""
    row = {step.number: place for place, step in enumerate(trajectory.steps)}
    return sorted({row[number] for loop in trajectory.loops or () for number in (loop.source, loop.target)})


def _loop_table(trajectory: Trajectory) -> str:
    columns = ("frame", "same place as frame", "confidence", "overlap")
    names = {step.number: step.name for step in trajectory.steps}
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    rows = ["<table><caption>Every loop</caption>", f"<thead><tr>{head}</tr></thead>"]
    for loop in trajectory.loops or ():
        cells = (names[loop.target], f"{loop.confidence:.2f}", f"{loop.overlap:.0%}")
        data = labelled_cells(columns[1:], cells)
        rows.append(f'<tr><th scope="row">{escape(names[loop.source])}</th>{data}</tr>')
    return scroll_region("wide-table", "\n".join([*rows, "</table>"]), "Every loop")


def _frame_table(steps: Iterable[FrameResult]) -> str:
    columns = ("frame", "verdict", "confidence", "registered to", "seconds")
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    rows = ['<table id="frames"><caption>Every frame</caption>', f"<thead><tr>{head}</tr></thead>"]
    for step in steps:
        target = f"{step.target}{', by global registration' if step.global_search else ''}"
        cells = (step.reason, f"{step.confidence:.2f}", target, f"{step.seconds:.3f}")
        data = labelled_cells(columns[1:], cells)
        kind = "good" if step.success else "bad"
        rows.append(f'<tr class="{kind}"><th scope="row">{escape(step.name)}</th>{data}</tr>')
    return scroll_region("wide-table", "\n".join([*rows, "</table>"]), "Every frame")


def _trajectory_dots(trajectory: Trajectory, truth: Floats | None, radius: float) -> tuple[Floats, NDArray[np.uint8]]:
    """(N, 3) evenly spaced dots along the estimated trajectory and the ground truth, and the kind of each."""
    estimated = np.where([step.success for step in trajectory.steps], REGISTERED, PREDICTED)
    estimated[_loop_ends(trajectory)] = LOOP_END
    tracks = [(trajectory.poses[:, :3, 3], estimated)]
    if truth is not None:
        tracks.append((truth[:, :3, 3], np.full(len(truth), GROUND_TRUTH)))
    dots, kinds = [], []
    for positions, kind in tracks:
        length = np.concatenate([[0.0], np.linalg.norm(np.diff(positions, axis=0), axis=1).cumsum()])
        count = int(np.clip(length[-1] / radius * DOTS_PER_RADIUS, len(positions), MAX_DOTS))
        at = np.linspace(0, length[-1], count)
        dots.append(np.column_stack([np.interp(at, length, positions[:, axis]) for axis in range(3)]))
        # A dot has the kind of the next frame.
        kinds.append(kind[np.minimum(np.searchsorted(length, at), len(positions) - 1)])
    return np.concatenate(dots), np.concatenate(kinds).astype(np.uint8)


def _payload(map_cloud: DisplayCloud, trajectory: Trajectory, truth: Floats | None) -> dict[str, Any]:
    """The data of the viewer: trajectory and map relative to the centre of the map, in units of its radius."""
    dots, kinds = _trajectory_dots(trajectory, truth, map_cloud.radius)
    view = default_view(map_cloud)
    heights = (map_cloud.points - map_cloud.centre) @ _vertical_axis(view)
    ends = np.quantile(heights, (LOWEST, HIGHEST)).tolist()
    height_levels = levels(heights, *ends)
    track, surface = (
        cloud_entry((points - map_cloud.centre) / map_cloud.radius, 1.0, spacing)
        for points, spacing in ((dots, 1 / DOTS_PER_RADIUS), (map_cloud.points, map_cloud.spacing / map_cloud.radius))
    )
    track |= {"inliers": len(dots), "levels": encoded(kinds)}
    surface |= {
        "inliers": map_cloud.inlier_count,
        "levels": encoded(height_levels),
    }
    return {
        "clouds": [track, surface],
        "view": view.ravel().tolist(),
        "palette": palette(),
        "heights": _height_ends(map_cloud, view, ends),
    }


def _height_ends(map_cloud: DisplayCloud, view: Floats, ends: list[float]) -> list[str]:
    """Text of the heights at both ends of the colour scale, in the frame of the map."""
    centre = float(map_cloud.centre @ _vertical_axis(view))
    digits = max(0, 2 - math.floor(math.log10(max(ends[1] - ends[0], 1e-9))))
    return [f"{end + centre:.{digits}f}" for end in ends]


def _vertical_axis(view: Floats) -> Floats:
    """The coordinate axis closest to the direction towards the viewer, who looks at the flat side of the map."""
    main = np.argmax(np.abs(view[2]))
    axis = np.zeros(3)
    axis[main] = np.sign(view[2, main])
    return axis


def _picture(map_cloud: DisplayCloud, trajectory: Trajectory) -> str:
    """A still picture of the trajectory on the map, for browsers without scripts."""
    from graphreg.reports.pictures import GREY, ORANGE, ScaleBar, png, render
    from graphreg.reports.previews import FRONT, picture_axes

    axes = picture_axes(map_cloud)
    dots, _ = _trajectory_dots(trajectory, None, map_cloud.radius)
    layers = ((map_cloud.points[: map_cloud.inlier_count], GREY), (dots, ORANGE))
    scene = [((points - map_cloud.centre) / map_cloud.radius @ axes.T, colour) for points, colour in layers]
    return data_uri(png(render(scene, FRONT, PICTURE, scale_bar=ScaleBar(map_cloud.radius))))
