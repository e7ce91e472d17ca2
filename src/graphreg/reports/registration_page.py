"""The report of a registration: one HTML page with both clouds in 3D, the verdict and every figure.

The layout that all pages share is in `page_layout`; the template, style and scripts of this page are `page/viewer*` and
`page/registration*`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any, TypeGuard

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.verdict import VERDICT
from graphreg.errors import InputError
from graphreg.files.input_file import as_path
from graphreg.method_interface import Iteration
from graphreg.nonrigid.deformation import Deformation
from graphreg.poses import inverse, transform
from graphreg.registration import METHODS
from graphreg.reports.display_clouds import DisplayCloud, describe_pair, surface_distances, without_scale
from graphreg.reports.page_layout import (
    Row,
    asset,
    chart_figure,
    data_uri,
    figure_cards,
    json_script,
    page_from_body,
    table,
    timing_table,
    verdict_banner,
    write_page,
)
from graphreg.reports.page_payload import registration_payload
from graphreg.reports.table_cells import percent
from graphreg.result import Result
from graphreg.threads import thread_count

# Of a longer history this many iterations are shown, evenly spaced.
MAX_ITERATIONS = 400
# A shorter history has no chart.
MIN_CHART_ITERATIONS = 3
# A series whose largest value exceeds its smallest by this factor has a logarithmic axis.
LOG_AXIS_RATIO = 50.0
# Width and height of the still picture, in pixels.
PICTURE = (1200, 480)


def report(
    result: Result | Deformation | Sequence[Deformation],
    source: Any,
    target: Any,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] = ("source", "target"),
    threads: int | None = None,
) -> Path:
    """Write a report of a registration: one HTML file of a few megabytes that needs no other file and no network.

    The report of a deformation, or of one along time, shows the motion as an animation and the strain as colour.

    Parameters
    ----------
    result : Result, Deformation or sequence of Deformation
        What `register` or `deform` returned for source and target, or what `deform_sequence` returned.
    source, target : array_like or path
        (N, 3) and (M, 3) points, anything that holds points, or names of files. Of larger clouds 120,000 points are
        displayed, of deformations 20,000. Of a sequence: the first frame, and a list of the others.
    path : path_like
        The file to write. It is replaced as a whole or not at all.
    names : sequence of str, default ("source", "target")
        Names of the clouds on the page, for instance those of their files. Of a sequence: of all frames.
    threads : int, optional
        Number of threads, by default all.

    Returns
    -------
    Path
        The file, as an absolute path.

    Raises
    ------
    InputError
        If an argument cannot be used.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("hare", 20.0, points=2000)
    >>> result = graphreg.register(pair.source, pair.target)
    >>> graphreg.report(result, pair.source, pair.target, "report.html", names=("0 degrees", "20 degrees")).name
    'report.html'
    """
    from graphreg.reports.previews import as_result  # slow to import, and rarely needed

    if isinstance(result, Deformation) or _are_deformations(result):
        from graphreg.reports.deformation_page import deformation_report

        found, targets = ([result], [target]) if isinstance(result, Deformation) else (list(result), list(target))
        if len(found) > 1 and tuple(names) == ("source", "target"):
            names = ("source", *(f"frame {number}" for number in range(1, len(found) + 1)))
        if isinstance(names, str) or len(names) != len(found) + 1:
            raise InputError(f"names: expected {len(found) + 1}, for the source and each target, got {names!r}")
        file = as_path(path)
        deformation_report(found, source, targets, file, [str(name) for name in names], thread_count(threads))
        return file.absolute()
    checked, file = as_result(result), as_path(path)
    if isinstance(names, str) or len(names) != 2:
        raise InputError(f"names: expected two, for the source and the target, got {names!r}")
    rigid, scaled = without_scale(checked, source)
    clouds = describe_pair(scaled, target, threads)
    write_page(file, registration_html(rigid, clouds, (str(names[0]), str(names[1])), thread_count(threads)))
    return file.absolute()


def _are_deformations(result: Any) -> TypeGuard[Sequence[Deformation]]:
    listed = isinstance(result, list | tuple) and len(result) > 0
    return listed and all(isinstance(each, Deformation) for each in result)


def registration_html(
    result: Result, clouds: tuple[DisplayCloud, DisplayCloud], names: tuple[str, str], threads: int
) -> str:
    """Return the HTML of the report; of a similarity, for the scaled source and the rigid transform that follows."""
    from graphreg.reports.pictures import png
    from graphreg.reports.previews import before_and_after_image

    source, target = clouds
    residuals = (
        surface_distances(source, target, result.transformation, threads),
        surface_distances(target, source, inverse(result.transformation), threads),
    )
    # The colours of residuals end where the overlap does.
    overlaps = result.residual_quantiles and result.overlap_distance > 0
    max_residual = result.overlap_distance if overlaps else source.spacing or source.radius
    iterations = _sampled(result.history)
    payload = registration_payload(result.transformation, iterations, clouds, residuals, max_residual)
    headline, _, reason = result.reason.partition(": ")
    body = Template(asset("registration.html")).substitute(
        help=asset("viewer_help.html"),
        verdict=verdict_banner(result.success, headline[:1].upper() + headline[1:], reason, _confidence_meter(result)),
        figures=figure_cards(_figures(result, source)),
        picture=data_uri(png(before_and_after_image(result, source, target, PICTURE))),
        charts="\n".join([_residual_histogram(result), *_history_charts(iterations)]),
        matrix=_matrix(_with_scale(result)),
        times=timing_table(result.timings),
        scans=table(_scan_rows(result, clouds, names), "The two scans"),
        settings=table(_setting_rows(result), "The method and its settings"),
        data=json_script(json.dumps(payload, allow_nan=False)),
    )
    heading = (
        f'<span class="source">{escape(names[0])}</span> <span role="img" aria-label="registered to">→</span> '
        f'<span class="target">{escape(names[1])}</span>'
    )
    return page_from_body(
        f"{names[0]} → {names[1]}",
        heading,
        "registration",
        body,
        ("viewer.css", "registration.css"),
        ("viewer.js", "registration.js"),
    )


def _confidence_meter(result: Result) -> str:
    value, least = f"{result.confidence:.2f}", f"{VERDICT.success:g}"
    return (
        '<div class="confidence"><label for="confidence">confidence</label>'
        f'<span aria-hidden="true">{value}</span>'
        f'<meter id="confidence" min="0" max="1" low="{least}" high="{least}" optimum="1" value="{value}"></meter>'
        f"<small>success requires {least}</small></div>"
    )


def _sampled(history: Sequence[Iteration]) -> list[Iteration]:
    rows = np.unique(np.linspace(0, len(history) - 1, min(len(history), MAX_ITERATIONS)).round().astype(int))
    return [history[row] for row in rows]


def _figures(result: Result, source: DisplayCloud) -> list[tuple[str, str, str]]:
    """The key figures: name, value, explanation."""
    return [
        ("Overlap", percent(result.overlap), _overlap_note(result)),
        *_residual_figure(result),
        *_pose_figures(result, source),
        (
            "Degenerate directions",
            "; ".join(result.degenerate_directions) or "none",
            "rotations and translations that the surfaces do not constrain",
        ),
        *_uncertainty_figure(result),
        *_second_best_figure(result),
    ]


def _overlap_note(result: Result) -> str:
    within = f"within {result.overlap_distance:.3g} of" if result.residual_quantiles else "near"
    return f"share of the source {within} the target"


def _residual_figure(result: Result) -> Iterator[tuple[str, str, str]]:
    if result.residual_quantiles:
        note = (
            f"median; RMS {result.inlier_rmse:.3g}, 95 % below {result.residual_95:.3g}: distance of the overlap from "
            "the target's surface, unit of the data"
        )
        yield "Residuals", f"{result.residual_median:.3g}", note


def _pose_figures(result: Result, source: DisplayCloud) -> Iterator[tuple[str, str, str]]:
    from scipy.spatial.transform import Rotation

    if result.scale != 1:
        yield "Scale", f"{result.scale:.6g}", "of the source, which is displayed with it"
    vector = Rotation.from_matrix(result.transformation[:3, :3]).as_rotvec()
    angle = float(np.linalg.norm(vector))
    axis = ", ".join(f"{entry:.2f}" for entry in np.round(vector / (angle or 1.0), 2) + 0.0)
    yield "Rotation", f"{np.degrees(angle):.3f}°", f"about ({axis})" if angle else "none"
    centre = source.centre[None]
    distance = float(np.linalg.norm(transform(result.transformation, centre) - centre))
    yield "Translation", f"{distance:.4g}", "of the source's centroid, unit of the data"


def _uncertainty_figure(result: Result) -> Iterator[tuple[str, str, str]]:
    """Standard deviations of rotation and translation in their least certain directions, of a pose that is right."""
    if result.covariance is None or not result.success:
        return
    rotation, translation = (
        float(np.sqrt(max(np.linalg.eigvalsh(result.covariance[block, block])[-1], 0.0)))
        for block in (slice(0, 3), slice(3, 6))
    )
    value = f"{np.degrees(rotation):.2g}°, {translation:.2g}"
    yield "Pose uncertainty", value, "standard deviation about and along the least certain axis"
    if len(result.covariance) == 7:
        deviation = float(np.sqrt(max(result.covariance[6, 6], 0.0)))
        yield "Scale uncertainty", percent(deviation, 3), "standard deviation"


def _second_best_figure(result: Result) -> Iterator[tuple[str, str, str]]:
    if len(result.scores) > 1 and result.scores[0] > 0:
        share = max(result.scores[1], 0.0) / result.scores[0]
        yield "Second-best pose", percent(share), f"of the best score, among {result.hypotheses:,} pose hypotheses"


def _residual_histogram(result: Result) -> str:
    """Of the residuals whose median, RMS and 95 % quantile the page shows: as many of them between two quantiles."""
    from graphreg.reports.charts import LARGEST_VALUE, line_chart

    # The largest are far larger than the others, and would flatten the curve.
    edges = np.array(result.residual_quantiles[:-1])
    if not len(edges) or not 0 < edges[-1] < LARGEST_VALUE:
        return ""
    shares = np.linspace(0, 95, len(edges))
    svg = line_chart(
        {"overlap": (edges, shares)},
        "Residuals",
        "distance to the target's surface, unit of the data",
        "% of the overlap",
    )
    note = (
        f"Share of the overlap that is nearer than a distance: half within {result.residual_median:.3g}, 95 % within "
        f"{result.residual_95:.3g}, all within {result.residual_quantiles[-1]:.3g}. "
        f"The other {percent(1 - result.overlap)} of the source are farther than {result.overlap_distance:.3g} from "
        "the target."
    )
    return chart_figure(svg, note, "residuals")


def _history_charts(iterations: Sequence[Iteration]) -> Iterator[str]:
    """What the method reported of each iteration, where there are enough of them."""
    from graphreg.reports.charts import LARGEST_VALUE, line_chart

    series: tuple[tuple[str, str, list[float | None]], ...] = (
        ("Energy", "Objective that the method minimises, in its own unit.", [now.energy for now in iterations]),
        ("Temperature", "Temperature of simulated annealing.", [now.temperature for now in iterations]),
        ("Acceptance", "Acceptance rate of simulated annealing.", [now.accept_rate for now in iterations]),
    )
    number = np.array([now.number for now in iterations])
    for title, note, values in series:
        y = np.array(values, np.float64)
        usable = np.abs(y) < LARGEST_VALUE
        if np.count_nonzero(usable) < MIN_CHART_ITERATIONS:
            continue
        x, y = number[usable], y[usable]
        log_y = bool(y.min() > 1 / LARGEST_VALUE and y.max() > LOG_AXIS_RATIO * y.min())
        svg = line_chart({title: (x, y)}, title, "iteration", title.lower(), log_y)
        yield chart_figure(svg, note, "over-iterations", f'data-first="{x[0]}" data-last="{x[-1]}"')


def _with_scale(result: Result) -> Floats:
    """The transformation of the source itself."""
    matrix: Floats = result.transformation.copy()
    if result.scale != 1:
        matrix[:3, :3] *= result.scale
    return matrix


def _matrix(matrix: Floats) -> str:
    """All digits, with aligned columns."""
    columns = [[f"{entry:.17g}" for entry in column] for column in matrix.T.tolist()]
    aligned = [[entry.rjust(max(map(len, column))) for entry in column] for column in columns]
    return "\n".join("  ".join(row) for row in zip(*aligned, strict=True))


def _scan_rows(result: Result, clouds: tuple[DisplayCloud, DisplayCloud], names: tuple[str, str]) -> list[Row]:
    return [
        ("", "source", "target"),
        ("name", *names),
        ("points", *(f"{cloud.total:,}" for cloud in clouds)),
        ("not finite, dropped", *(f"{count:,}" for count in result.dropped)),
        ("in coincident clusters, left out", *(f"{count:,}" for count in result.coincident)),
        ("points displayed", *(f"{len(cloud.points):,}" for cloud in clouds)),
        ("outliers among them", *(percent(1 - cloud.inlier_count / len(cloud.points), 1) for cloud in clouds)),
        ("too far away to display", *(f"{cloud.too_far_count:,}" for cloud in clouds)),
        ("point spacing", *(f"{cloud.spacing:.3g}" for cloud in clouds)),
    ]


def _setting_rows(result: Result) -> list[Row]:
    summary = METHODS[result.method].summary if result.method in METHODS else ""
    rows: list[Row] = [
        ("method", f"{result.method}: {summary}" if summary else result.method),
        ("seed", str(result.seed)),
    ]
    for name, value in result.settings.items():
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        rows.append((name, "default" if value is None else text))
    return rows
