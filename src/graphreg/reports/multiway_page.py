"""The report of multiway registration: one HTML page with all scans, the pose graph and the verdict of every pair."""

from __future__ import annotations

import colorsys
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from string import Template
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.multiscan.multiway_result import Multiway
from graphreg.multiscan.pose_graph import Groups
from graphreg.poses import pose, transform
from graphreg.reports.display_clouds import MIN_POINTS, DisplayCloud, default_view, describe_cloud, subsample
from graphreg.reports.multiway_tables import control_rows, pair_rows, pose_rows
from graphreg.reports.page_layout import (
    Row,
    asset,
    data_uri,
    json_script,
    page_from_body,
    table,
    timing_table,
    verdict_banner,
    write_page,
)
from graphreg.reports.page_payload import cloud_entry
from graphreg.threads import thread_count

# Points of all scans together that are displayed.
MAX_SCENE_POINTS = 300_000
# Hue of the first scan, and the step from one hue to the next: by the golden ratio, no two of many are alike.
FIRST_HUE, HUE_STEP = 0.58, 0.381966
# Scans are displayed at most this many radii of the registered scene apart before registration.
MAX_SCENE_RADIUS = 1.6
# Position of scans that belong to no displayed group: out of sight.
OUT_OF_SIGHT = 1e3
# Width and height of the still picture, in pixels.
PICTURE = (1200, 480)
# Width and height of the drawing of the pose graph, and radius of the circle of its nodes.
GRAPH_WIDTH, GRAPH_HEIGHT, GRAPH_RADIUS = 900.0, 580.0, 250.0


def multiway_report(result: Multiway, path: str | os.PathLike[str], *, threads: int | None = None) -> None:
    """Write a report of multiway registration: one HTML file that needs no other file and no network.

    Parameters
    ----------
    result : Multiway
        What `multiway` returned.
    path : path_like
        The file to write. It is replaced as a whole or not at all.
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
    >>> scans = [scan.points for scan in synthetic.sequence("hare", 2, 20.0, points=2000)]
    >>> multiway_report(graphreg.multiway(scans), "multiway.html")
    """
    if not isinstance(result, Multiway):
        raise InputError(f"result: expected what multiway() returned, got {type(result).__name__}")
    write_page(path, multiway_html(result, thread_count(threads)))


def multiway_html(result: Multiway, threads: int) -> str:
    """Return the HTML of the report."""
    names, groups = result.names, result.groups
    registered = len(groups[0]) if groups else 0
    scene = _Scene.of(result, threads)
    scan_head = ("", "points", "group", "outcome")
    pairs, control = pair_rows(result), control_rows(result)
    edges = sorted(result.edges, key=lambda edge: (not edge.used, -edge.confidence))
    outcomes = [("yes" if edge.used else "no", edge.reason) for edge in edges]
    body = Template(asset("multiway.html")).substitute(
        help=asset("viewer_help.html"),
        verdict=verdict_banner(
            result.success, f"{registered} of {len(names)} scans registered in one frame", _reason(result)
        ),
        before="as read, displayed closer together" if scene.shortened else "as read",
        swatches="\n".join(
            f'      <label><input type="checkbox" name="show" value="{scan}" checked>'
            f'<i class="swatch" style="background:{_hex_colour(scan)}"></i>{scan + 1} {escape(name)}</label>'
            for scan, name in enumerate(names)
        ),
        picture=_picture(scene),
        graph=_graph_drawing(result),
        scans=table([scan_head, *(_scan_row(result, scan) for scan in range(len(names)))], "Every scan"),
        poses=table(_headed(pose_rows(result)), "Every pose"),
        pairs=table(
            [*_headed(pairs[:1], "in use", "reason"), *((*a, *b) for a, b in zip(pairs[1:], outcomes, strict=True))],
            "Every pair that was registered",
        ),
        control=_control_section(control),
        times=timing_table(result.timings),
        data=json_script(json.dumps(scene.payload(), allow_nan=False)),
    )
    title = f"{len(names)} scans"
    styles, scripts = ("viewer.css", "multiway.css"), ("viewer.js", "multiway.js")
    return page_from_body(title, escape(title), "multiway registration", body, styles, scripts)


def multiway_picture(result: Multiway) -> str:
    """Return a picture of all scans before and after registration, as a URI."""
    return _picture(_Scene.of(result, thread_count(None)))


def _reason(result: Multiway) -> str:
    used = sum(edge.used for edge in result.edges)
    inconsistent = sum(edge.success and not edge.used for edge in result.edges)
    return "; ".join(
        [
            f"{used} of {len(result.edges)} pairs are edges of the pose graph, {inconsistent} rejected as inconsistent",
            *(f"separate group: {', '.join(result.names[scan] for scan in group)}" for group in result.groups[1:]),
            *(f"not registered: {name}" for name in result.left_out),
            *(f"ambiguous: {name}" for name in result.doubtful),
            *(
                f"control point rejected: {point.name} in {result.names[point.scan]}"
                for point in result.control
                if point.is_outlier
            ),
            *(
                ["not in the world frame: the control points in registered scans do not determine it"]
                if not result.in_world and any(point.known for point in result.control)
                else []
            ),
        ]
    )


@dataclass(frozen=True, eq=False)
class _Scene:
    """All scans, each relative to its centre, before and after registration.

    Lengths are in units of the radius of the registered scans.

    Attributes
    ----------
    clouds : list of DisplayCloud
    unit : float
        The unit of length, in the unit of the data.
    view : (3, 3) ndarray
        The default view of the first registered scan.
    before, after : list of (4, 4) ndarray
        Pose of each scan about its centre; `after` is None for a scan that is left out. Groups are side by side.
    radius_before, radius_after : float
        Radius of the scene.
    shortened : bool
        Whether the scans are displayed closer together than they are before registration.
    """

    clouds: list[DisplayCloud]
    unit: float
    view: Floats
    before: list[Floats]
    after: list[Floats | None]
    radius_before: float
    radius_after: float
    shortened: bool

    @classmethod
    def of(cls, result: Multiway, threads: int) -> _Scene:
        """Describe the scans of a result."""
        share = MAX_SCENE_POINTS // len(result.clouds)
        described = {
            scan: describe_cloud(subsample(cloud.points, share), result.names[scan], threads)
            for scan, cloud in enumerate(result.clouds)
            if len(cloud) >= MIN_POINTS
        }
        first = next(iter(described))
        # One of its points stands for a scan that has too few to be displayed.
        point = replace(described[first], points=described[first].points[:1], inlier_count=1, radius=0.0)
        clouds = [described.get(scan, point) for scan in range(len(result.clouds))]
        main = list(result.groups[0]) if result.groups else [first]
        initial = np.array([cloud.centre for cloud in clouds])
        initial = initial - initial.mean(axis=0)
        final = np.array([transform(T, cloud.centre[None])[0] for T, cloud in zip(result.poses, clouds, strict=True)])
        view = default_view(clouds[main[0]])
        final, unit = _side_by_side(final, result.groups or (tuple(main),), clouds, view[0])
        shown = [scan for group in result.groups for scan in group] or main
        # Before registration scans may be far apart; then only their rotations are displayed as they are.
        scale = min(1.0, MAX_SCENE_RADIUS * unit / _radius(initial, clouds))
        initial = scale * initial
        return cls(
            clouds,
            unit,
            view,
            [pose(np.eye(3), centre / unit) for centre in initial],
            [
                pose(T[:3, :3], centre / unit) if scan in shown and result.groups else None
                for scan, (T, centre) in enumerate(zip(result.poses, final, strict=True))
            ],
            _radius(initial, clouds) / unit,
            _radius(final[shown], [clouds[scan] for scan in shown]) / unit,
            scale < 1,
        )

    def points(self, scan: int) -> Floats:
        """(N, 3) points near surfaces, relative to the centre of the scan."""
        cloud = self.clouds[scan]
        return (cloud.points[: cloud.inlier_count] - cloud.centre) / self.unit

    def payload(self) -> dict[str, Any]:
        """The data of the viewer, ready for JSON."""
        hidden = pose(np.eye(3), np.full(3, OUT_OF_SIGHT))
        return {
            "clouds": [
                cloud_entry(self.points(scan), cloud.radius / self.unit, cloud.spacing / self.unit)
                | {"colour": _colour(scan)}
                for scan, cloud in enumerate(self.clouds)
            ],
            "before": [_pose_entry(T) for T in self.before],
            "after": [_pose_entry(hidden if T is None else T) for T in self.after],
            "radii": [self.radius_before, self.radius_after],
            "view": self.view.ravel().tolist(),
        }


def _side_by_side(centres: Floats, groups: Groups, clouds: list[DisplayCloud], right: Floats) -> tuple[Floats, float]:
    """Centres of the scans with the groups beside each other, and the radius of the first group."""
    centres = centres.copy()
    radii = []
    for group in groups:
        rows = list(group)
        centres[rows] -= centres[rows].mean(axis=0)
        radii.append(_radius(centres[rows], [clouds[scan] for scan in group]))
    at = 0.0
    for group, radius in zip(groups, radii, strict=True):
        centres[list(group)] += (at + radius - sum(radii)) * right
        at += 2 * radius
    return centres, radii[0]


def _radius(centres: Floats, clouds: list[DisplayCloud]) -> float:
    """Radius about the origin that contains the clouds at these centres."""
    return max(float(np.linalg.norm(centre)) + cloud.radius for centre, cloud in zip(centres, clouds, strict=True))


def _pose_entry(T: Floats) -> dict[str, list[float]]:
    from scipy.spatial.transform import Rotation

    return {"rotation": Rotation.from_matrix(T[:3, :3]).as_quat().tolist(), "translation": T[:3, 3].tolist()}


def _picture(scene: _Scene) -> str:
    """A still picture of all scans before and after, for print and for browsers without scripts."""
    from graphreg.reports.pictures import ScaleBar, panels, png
    from graphreg.reports.previews import FRONT

    right, up, viewer = scene.view
    axes = np.stack([right, -viewer, up])
    panes = [
        [
            (transform(T, scene.points(scan)) @ axes.T, np.array(_colour(scan)) / 255)
            for scan, T in enumerate(poses)
            if T is not None
        ]
        for poses in (scene.before, scene.after)
    ]
    return data_uri(png(panels(panes, (), FRONT, PICTURE, scale_bar=ScaleBar(scene.unit))))


def _graph_drawing(result: Multiway) -> str:
    """The pose graph as SVG: scans on a circle, and a line for every pair that was registered."""
    count = len(result.names)
    angle = 2 * np.pi * np.arange(count) / count - np.pi / 2
    nodes = np.array([GRAPH_WIDTH, GRAPH_HEIGHT]) / 2 + GRAPH_RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lines = [
        f'<svg viewBox="0 0 {GRAPH_WIDTH:g} {GRAPH_HEIGHT:g}" role="img" '
        'aria-label="The pose graph: scans and the pairs that were registered">'
    ]
    for edge in sorted(result.edges, key=lambda edge: (edge.used, edge.success)):
        kind = "used" if edge.used else "inconsistent" if edge.success else "failed"
        (x1, y1), (x2, y2) = nodes[edge.source], nodes[edge.target]
        label = f"{result.names[edge.source]} to {result.names[edge.target]}, {edge.confidence:.2f}: {edge.reason}"
        lines.append(
            f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke-width="{1 + 3 * edge.confidence * edge.success:.1f}"><title>{escape(label)}</title></line>'
        )
    for scan, ((x, y), name) in enumerate(zip(nodes, result.names, strict=True)):
        right, below = np.cos(angle[scan]), np.sin(angle[scan])
        anchor = "start" if right > 0.2 else "end" if right < -0.2 else "middle"
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="12" fill="{_hex_colour(scan)}">'
            f"<title>{escape(name)}</title></circle>"
            f'<text class="number" x="{x:.1f}" y="{y:.1f}">{scan + 1}</text>'
            f'<text class="name" x="{x + 18 * right:.1f}" y="{y + 24 * below + 5:.1f}" text-anchor="{anchor}">'
            f"{escape(name)}</text>"
        )
    return "\n".join([*lines, "</svg>"])


def _scan_row(result: Multiway, scan: int) -> Row:
    name = result.names[scan]
    group = next((number for number, group in enumerate(result.groups, 1) if scan in group), None)
    outcome = (result.left_out | result.doubtful).get(name, "registered")
    return name, f"{len(result.clouds[scan]):,}", str(group or "none"), outcome


def _headed(rows: Sequence[Row], *more: str) -> list[Row]:
    """Rows of a table, the first as its head."""
    return [("", *rows[0][1:], *more), *rows[1:]]


def _control_section(rows: Sequence[Row]) -> str:
    if len(rows) == 1:
        return ""
    points = table(_headed(rows), "Every control point and target")
    return f'<div class="wide">\n    <h2>Control points</h2>\n{points}\n  </div>'


def _colour(scan: int) -> list[int]:
    return [round(255 * channel) for channel in colorsys.hls_to_rgb(FIRST_HUE + HUE_STEP * scan, 0.5, 0.65)]


def _hex_colour(scan: int) -> str:
    return "#" + "".join(f"{channel:02x}" for channel in _colour(scan))
