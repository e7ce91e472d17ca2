"""Many scans on one page that opens offline: all of them before and after, the graph of pairs, every verdict."""

from __future__ import annotations

import colorsys
import json
import os
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.multiscan.multiway_result import Multiway
from graphreg.poses import transform
from graphreg.reports.display_clouds import drawn, sample_of, standpoint
from graphreg.reports.page_payload import encoded, quantised
from graphreg.reports.page_shell import embedded, part, shell, table, times, verdict, write_page
from graphreg.reports.pictures import Coloured
from graphreg.threads import thread_count

SCRIPTS = ("viewer.js", "multiway.js")
# Points of all scans together that are shown.
MOST_POINTS = 300_000
# Of a turn, from the colour of one scan to that of the next: no two of many come out alike.
GOLDEN = 0.381966
PICTURE = (1200, 480)
# The graph's picture: its sides, and the radius of the circle that scans stand on.
WIDE, TALL, CIRCLE = 900.0, 580.0, 250.0


def report(result: Multiway, path: str | os.PathLike[str], *, threads: int | None = None) -> None:
    """Write a report of multiway registration: one HTML file that needs nothing else.

    result   what `multiway` found
    path     the file to write; it appears whole or not at all
    threads  how many, by default all
    """
    if not isinstance(result, Multiway):
        raise InputError(f"result: expected what multiway() returned, got {type(result).__name__}")
    write_page(path, _page(result, thread_count(threads)))


def _page(result: Multiway, threads: int) -> str:
    names, groups = result.names, result.groups
    placed = len(groups[0]) if groups else 0
    apart = [f"a group apart: {', '.join(names[scan] for scan in group)}" for group in groups[1:]]
    missing = [f"left out: {name}" for name in result.left_out] + [f"in doubt: {name}" for name in result.doubtful]
    wrong = sum(edge.success and not edge.used for edge in result.edges)
    used = sum(edge.used for edge in result.edges)
    told = [f"{used} pairs in use of {len(result.edges)} that were tried, {wrong} contradicted by the others"]
    data, scenes, shortened = _scene(result, threads)
    body = Template(part("multiway.html")).substitute(
        how=part("how.html"),
        verdict=verdict(
            result.success,
            f"{placed} of {len(names)} scans placed in one frame",
            "; ".join([*told, *apart, *missing]),
        ),
        before="as they came, drawn nearer than they are" if shortened else "as they came",
        swatches="\n".join(
            f'      <label><input type="checkbox" name="show" value="{scan}" checked>'
            f'<i class="swatch" style="background:{_hex(scan)}"></i>{escape(name)}</label>'
            for scan, name in enumerate(names)
        ),
        picture=_picture(scenes),
        graph=_drawing(result),
        scans=table(
            [("", "points", "group", "outcome"), *(_scan_row(result, scan) for scan in range(len(names)))], "Every scan"
        ),
        pairs=table(
            [("", "confidence", "overlap", "used", "reason"), *_pair_rows(result)], "Every pair that was tried"
        ),
        times=times(result.timings),
        data=json.dumps(data, allow_nan=False).replace("<", "\\u003c"),
    )
    style = part("report.css") + part("multiway.css")
    title = f"{len(names)} scans"
    return shell(title, escape(title), "multiway registration", body, style, map(part, SCRIPTS))


def _scene(result: Multiway, threads: int) -> tuple[dict[str, Any], tuple[list[Coloured], list[Coloured]], bool]:
    """What the viewer draws, the same for a picture, and whether scans lie nearer to each other in it than they came.

    Lengths are in units of a ball around all scans that are placed; scans are about their own middles.
    """
    share = MOST_POINTS // len(result.clouds)
    samples = [
        sample_of(drawn(cloud.points, share), name, threads)
        for cloud, name in zip(result.clouds, result.names, strict=True)
    ]
    main = list(result.groups[0]) if result.groups else [0]
    at = np.array([transform(pose, sample.centre[None])[0] for pose, sample in zip(result.poses, samples, strict=True)])
    middle = at[main].mean(axis=0)
    unit = max(float(np.linalg.norm(at[scan] - middle)) + samples[scan].radius for scan in main)
    came = np.array([sample.centre for sample in samples])
    came = came - came.mean(axis=0)
    wide = max(float(np.linalg.norm(here)) + sample.radius for here, sample in zip(came, samples, strict=True))
    # As they came, scans may be far from each other: then only their turns are as they were.
    squeeze = min(1.0, 1.6 * unit / wide)
    clouds, before, after = [], [], []
    view = standpoint(samples[main[0]])
    # To the right, away from us, up.
    turn = np.stack([view[0], -view[2], view[1]])
    scenes: tuple[list[Coloured], list[Coloured]] = ([], [])
    for scan, sample in enumerate(samples):
        points = sample.points[: sample.near_surface]
        about_centre = (points - sample.centre) / unit
        low, step, places = quantised(about_centre)
        clouds.append(
            {
                "points": len(points),
                "radius": sample.radius / unit,
                "spacing": sample.spacing / unit,
                "low": low.tolist(),
                "step": step.tolist(),
                "places": encoded(places),
                "colour": _colour(scan),
            }
        )
        colour = np.array(_colour(scan)) / 255
        came_to = squeeze * came[scan] / unit
        scenes[0].append(((about_centre + came_to) @ turn.T, colour))
        before.append({"rotation": [0, 0, 0, 1], "shift": came_to.tolist()})
        # What has no place in the largest group is put out of sight.
        inside = scan in main
        shift = (at[scan] - middle) / unit if inside else np.full(3, 1e3)
        if inside:
            scenes[1].append(((about_centre @ result.poses[scan][:3, :3].T + shift) @ turn.T, colour))
        after.append({"rotation": _quaternion(result.poses[scan] if inside else np.eye(4)), "shift": shift.tolist()})
    data = {"clouds": clouds, "before": before, "after": after, "view": view.ravel().tolist()}
    return data, scenes, squeeze < 1


def _picture(scenes: Sequence[Sequence[Coloured]]) -> str:
    """On paper, and where scripts are off: all scans before and after."""
    from graphreg.reports.pictures import Camera, panels, png

    return embedded(png(panels(scenes, ("before", "after"), Camera(azimuth=0, elevation=0), PICTURE)))


def _drawing(result: Multiway) -> str:
    """Scans on a circle, and a line for every pair."""
    count = len(result.names)
    angle = 2 * np.pi * np.arange(count) / count - np.pi / 2
    spots = np.array([WIDE / 2, TALL / 2]) + CIRCLE * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lines = [f'<svg viewBox="0 0 {WIDE:g} {TALL:g}" role="img" aria-label="The scans and the pairs between them">']
    for edge in sorted(result.edges, key=lambda edge: (edge.used, edge.success)):
        kind = "used" if edge.used else "refused" if edge.success else "failed"
        (x1, y1), (x2, y2) = spots[edge.source], spots[edge.target]
        told = f"{result.names[edge.source]} to {result.names[edge.target]}, {edge.confidence:.2f}: {edge.reason}"
        lines.append(
            f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke-width="{1 + 3 * edge.confidence * edge.success:.1f}"><title>{escape(told)}</title></line>'
        )
    for scan, ((x, y), name) in enumerate(zip(spots, result.names, strict=True)):
        right, below = np.cos(angle[scan]), np.sin(angle[scan])
        anchor = "start" if right > 0.2 else "end" if right < -0.2 else "middle"
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="{_hex(scan)}"/>')
        lines.append(
            f'<text x="{x + 14 * right:.1f}" y="{y + 18 * below + 4:.1f}" text-anchor="{anchor}">{escape(name)}</text>'
        )
    return "\n".join([*lines, "</svg>"])


def _scan_row(result: Multiway, scan: int) -> tuple[str, ...]:
    name = result.names[scan]
    group = next((number for number, group in enumerate(result.groups, 1) if scan in group), None)
    return (
        name,
        f"{len(result.clouds[scan]):,}",
        str(group or "none"),
        (result.left_out | result.doubtful).get(name, "placed"),
    )


def _pair_rows(result: Multiway) -> list[tuple[str, ...]]:
    return [
        (
            f"{result.names[edge.source]} to {result.names[edge.target]}",
            f"{edge.confidence:.2f}",
            f"{edge.overlap:.0%}",
            "yes" if edge.used else "no",
            edge.reason,
        )
        for edge in sorted(result.edges, key=lambda edge: (not edge.used, -edge.confidence))
    ]


def _quaternion(motion: Floats) -> list[float]:
    from scipy.spatial.transform import Rotation

    numbers: list[float] = Rotation.from_matrix(motion[:3, :3]).as_quat().tolist()
    return numbers


def _colour(scan: int) -> list[int]:
    return [round(255 * part) for part in colorsys.hls_to_rgb(0.58 + GOLDEN * scan, 0.5, 0.65)]


def _hex(scan: int) -> str:
    return "#" + "".join(f"{part:02x}" for part in _colour(scan))
