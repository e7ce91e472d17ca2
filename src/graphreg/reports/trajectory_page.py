"""A drive as one page that opens offline in any browser: the map to turn about, the way in it, every frame's verdict.

trajectory_report(graphreg.sequence("frames/", keep_map=True), "drive.html")

The page itself is `page/trajectory.html`, in the clothes of the report on a registration.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from string import Template
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.metrics import segment_errors, sequence_errors
from graphreg.multiscan.trajectory import FrameResult, Trajectory, relative_transforms
from graphreg.poses import as_poses, inverse
from graphreg.reports.display_clouds import LEAST_POINTS, Sample, sample_of, standpoint
from graphreg.reports.page_payload import LEVELS, encoded, levels, quantised
from graphreg.reports.page_shell import chart, embedded, figures, part, scrolling, shell, verdict, write_page
from graphreg.threads import thread_count

SCRIPTS = ("viewer.js", "trajectory.js")
# The way is drawn as a chain of dots, so many to the radius of the map; and at most so many.
DOTS_TO_RADIUS, MOST_DOTS = 150, 20_000
# What a dot of the way stands for.
FOUND, GUESSED, TRUE = range(3)
PICTURE = (1200, 640)
# Of the heights of the map, those that have the colours at both ends.
LOWEST, HIGHEST = 0.02, 0.98


def trajectory_report(
    found: Trajectory,
    path: str | os.PathLike[str],
    *,
    truth: Any = None,
    name: str = "sequence",
    threads: int | None = None,
) -> None:
    """Write a report of a drive: one HTML file of a few megabytes that needs nothing else.

    found    what `sequence` found; with keep_map=True the page shows the map
    path     the file to write; it appears whole or not at all
    truth    (N, 4, 4), the true pose of each frame, where it is known
    name     what to call it
    threads  how many, by default all
    """
    if not isinstance(found, Trajectory) or not found.steps:
        raise InputError(f"found: expected what sequence() returned for one frame or more, got {type(found).__name__}")
    true = None
    if truth is not None:
        poses = as_poses(truth, "truth")
        if len(poses) != len(found.steps):
            raise InputError(f"truth: expected {len(found.steps)} poses, one for each frame, got {len(poses)}")
        true = np.array([inverse(poses[0]) @ pose for pose in poses])
    write_page(path, page_of(found, true, name, thread_count(threads)))


def page_of(found: Trajectory, truth: Floats | None, name: str, threads: int) -> str:
    """The whole page as text."""
    lost = [step for step in found.steps if not step.success]
    seen = None
    if found.map is not None and len(found.map) >= LEAST_POINTS:
        seen = sample_of(found.map, "map", threads)
    data = json.dumps(None if seen is None else _payload(seen, found, truth), allow_nan=False)
    headline = "Every frame registered" if not lost else f"{len(lost):,} of {len(found.steps):,} not registered"
    body = Template(part("trajectory.html")).substitute(
        how=part("how.html"),
        verdict=verdict(not lost, headline, _reason(found, lost)),
        figures=figures(_figures(found, truth)),
        no_map="hidden" if seen is None else "",
        no_truth="hidden" if truth is None else "",
        picture="" if seen is None else _picture(seen, found),
        charts="\n".join(_charts(found, truth)),
        frames=_frames(found.steps),
        # In a script element nothing may look like its end.
        data=data.replace("<", "\\u003c"),
    )
    return shell(name, escape(name), "sequence", body, part("report.css") + part("trajectory.css"), map(part, SCRIPTS))


def _reason(found: Trajectory, lost: list[FrameResult]) -> str:
    if not lost:
        worst = min(found.steps, key=lambda step: step.confidence)
        return f"least sure of {worst.name}: confidence {worst.confidence:.2f}"
    return escape(
        f"their poses are guesses, from the motion before them. The first is {lost[0].name}: {lost[0].reason}"
    )


def _figures(found: Trajectory, truth: Floats | None) -> list[tuple[str, str, str]]:
    """The figures that sum it up, each with what it means."""
    seconds = np.array([step.seconds for step in found.steps])
    way = float(np.linalg.norm(np.diff(found.poses[:, :3, 3], axis=0), axis=1).sum())
    searched, renewed = (sum(getattr(step, name) for step in found.steps) for name in ("global_search", "keyframe"))
    told = [
        ("Frames", f"{len(found.steps):,}", f"{searched:,} by the full search; {renewed:,} went into the local map"),
        ("Way", f"{way:.4g}", "in the unit of the data"),
        ("Time", f"{np.median(seconds):.3f} s", f"a frame, the median; at most {seconds.max():.3f} s; without reading"),
    ]
    if truth is None or len(found.steps) < 2:
        return told
    errors = asdict(sequence_errors(relative_transforms(found.poses), list(truth)))
    for kind, label, note in (
        ("rpe", "Relative pose error (RPE)", "of each step, the mean"),
        ("ate", "Absolute trajectory error (ATE)", "of each frame, the mean"),
        ("final", "Final error", "of the last frame"),
    ):
        degrees, distance = errors[f"{kind}_rotation"], errors[f"{kind}_translation"]
        told.append((label, f"{degrees:.4f}°, {distance:.3g}", note))
    segments = segment_errors(found.poses, truth)
    if segments is not None:
        between = f"over stretches of {segments.lengths[0]:.4g} to {segments.lengths[-1]:.4g}"
        told.append(
            (
                "Drift",
                f"{segments.translation_percent:.3f} %",
                f"{between}; {segments.rotation_per_length:.5f}° for each unit of length",
            )
        )
    return told


def _charts(found: Trajectory, truth: Floats | None) -> Iterable[str]:
    from graphreg.reports.charts import line_chart

    steps = found.steps
    number = np.array([step.number for step in steps])
    ways = ({} if truth is None else {"truth": truth[:, :3, 3]}) | {"found": found.poses[:, :3, 3]}
    if len(steps) > 1:
        lines = {name: (way[:, 0], way[:, 1]) for name, way in ways.items()}
        drawn = line_chart(lines, "The way, from above", "x", "y", marked=False, equal=True)
        yield chart(drawn, "In the frame of the first; a unit is as long in both directions.")
    if truth is not None and len(steps) > 1:
        off = np.linalg.norm(ways["found"] - ways["truth"], axis=1)
        drawn = line_chart({"off": (number, off)}, "Error of the position", "frame", "unit of the data", marked=False)
        yield chart(drawn, "How far each frame is off the truth.")
    laid = [step for step in steps if step.target]
    if laid:
        told = {
            "confidence": (number, [step.confidence for step in steps]),
            "overlap": (np.array([step.number for step in laid]), [step.overlap for step in laid]),
        }
        drawn = line_chart(told, "Verdict", "frame", "", marked=False)
        yield chart(drawn, "Of each frame; overlap is the share that lies on what it was laid on.")
    drawn = line_chart({"time": (number, [step.seconds for step in steps])}, "Time", "frame", "seconds", marked=False)
    yield chart(drawn, "For each frame, without reading it.")


def _frames(steps: Iterable[FrameResult]) -> str:
    rows = [
        '<table id="frames"><caption>What became of each frame</caption>',
        '<thead><tr><th scope="col">frame</th><th scope="col">verdict</th><th scope="col">confidence</th>'
        '<th scope="col">laid on</th><th scope="col">seconds</th></tr></thead>',
    ]
    for step in steps:
        laid = f"{step.target}{', by the full search' if step.global_search else ''}"
        cells = (step.reason, f"{step.confidence:.2f}", laid, f"{step.seconds:.3f}")
        rows.append(
            f'<tr class="{"good" if step.success else "bad"}"><th scope="row">{escape(step.name)}</th>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            + "</tr>"
        )
    return scrolling("wide-table", "\n".join([*rows, "</table>"]), "What became of each frame")


def _chain(found: Trajectory, truth: Floats | None, radius: float) -> tuple[Floats, Any]:
    """(N, 3): dots along the way, and along the true one; and what each stands for."""
    ways = [(found.poses[:, :3, 3], np.where([step.success for step in found.steps], FOUND, GUESSED))]
    if truth is not None:
        ways.append((truth[:, :3, 3], np.full(len(truth), TRUE)))
    dots, kinds = [], []
    for places, kind in ways:
        way = np.concatenate([[0.0], np.linalg.norm(np.diff(places, axis=0), axis=1).cumsum()])
        count = int(np.clip(way[-1] / radius * DOTS_TO_RADIUS, len(places), MOST_DOTS))
        at = np.linspace(0, way[-1], count)
        dots.append(np.column_stack([np.interp(at, way, places[:, axis]) for axis in range(3)]))
        # A dot has the kind of the frame that the way leads to.
        kinds.append(kind[np.minimum(np.searchsorted(way, at), len(places) - 1)])
    return np.concatenate(dots), np.concatenate(kinds).astype(np.uint8)


def _payload(seen: Sample, found: Trajectory, truth: Floats | None) -> dict[str, Any]:
    """What the viewer draws: the chain of the way and the map, both about the middle of the map, in its radii."""
    from graphreg.reports.pictures import colour_map

    dots, kinds = _chain(found, truth, seen.radius)
    view = standpoint(seen)
    heights = (seen.points - seen.centre) @ _upward(view)
    clouds = []
    for points, spacing, shades, surface, near in (
        (dots, seen.radius / DOTS_TO_RADIUS, kinds, len(dots), len(dots)),
        (seen.points, seen.spacing, levels(heights, *np.quantile(heights, (LOWEST, HIGHEST))), seen.on_surface,
         seen.near_surface),
    ):  # fmt: skip
        low, step, places = quantised((points - seen.centre) / seen.radius)
        clouds.append(
            {
                "points": len(points), "on_surface": surface, "near_surface": near, "radius": 1.0,
                "spacing": spacing / seen.radius, "low": low.tolist(), "step": step.tolist(),
                "places": encoded(places), "shades": encoded(shades),
            }
        )  # fmt: skip
    palette = np.round(255 * colour_map(np.linspace(0, 1, LEVELS), 0, 1)).astype(np.uint8)
    return {"clouds": clouds, "view": view.ravel().tolist(), "palette": encoded(palette)}


def _upward(view: Floats) -> Floats:
    """The axis of the first frame along which the map is flat: it is looked at across its flat side."""
    main = np.argmax(np.abs(view[2]))
    axis = np.zeros(3)
    axis[main] = np.sign(view[2, main])
    return axis


def _picture(seen: Sample, found: Trajectory) -> str:
    """Where scripts are off: the way on the map."""
    from graphreg.reports.pictures import GREY, ORANGE, Camera, png, render

    right, up, viewer = standpoint(seen)
    turn = np.stack([right, -viewer, up])
    dots, _ = _chain(found, None, seen.radius)
    both = [((points - seen.centre) / seen.radius @ turn.T, colour)
            for points, colour in ((seen.points[: seen.on_surface], GREY), (dots, ORANGE))]  # fmt: skip
    image = render(both, Camera(azimuth=0, elevation=0), PICTURE)
    return embedded(png(image))
