"""A registration as one page that opens offline in any browser: the clouds to turn about, the verdict, every figure.

graphreg.report(result, source, target, "report.html")

What all pages share is in `shell`; what only this one has is in `page/report.*`, and here its gaps are filled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.verdict import VERDICT
from graphreg.errors import InputError
from graphreg.method_interface import Iteration
from graphreg.poses import inverse, transform
from graphreg.registration import METHODS
from graphreg.reports.display_clouds import Sample, as_result, distances, picture_of, samples_of
from graphreg.reports.page_payload import payload, widest_residual
from graphreg.reports.page_shell import Row, chart, embedded, figures, part, shell, table, times, verdict, write_page
from graphreg.result import Result
from graphreg.threads import thread_count

SCRIPTS = ("viewer.js", "report.js")
# Of a longer history so many steps are shown, evenly; of a shorter one there is no chart.
MOST_STEPS, LEAST_STEPS = 400, 3
BINS = 40
# A series that spans more than this is drawn on a logarithmic axis.
WIDE_RANGE = 50.0
PICTURE = (1200, 480)


def report(
    result: Result,
    source: Any,
    target: Any,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] = ("source", "target"),
    threads: int | None = None,
) -> None:
    """Write a report of a registration: one HTML file of a few megabytes that needs nothing else.

    result          what `register` found for source and target
    source, target  (N, 3) and (M, 3), or anything else that holds points; of large clouds 120,000 points are shown
    path            the file to write; it appears whole or not at all
    names           what to call the two, for instance their files' names
    threads         how many, by default all
    """
    found = as_result(result)
    if isinstance(names, str) or len(names) != 2:
        raise InputError(f"names: expected two, for the source and the target, got {names!r}")
    samples = samples_of(source, target, threads)
    write_page(path, page_of(found, samples, (str(names[0]), str(names[1])), thread_count(threads)))


def page_of(result: Result, samples: tuple[Sample, Sample], names: tuple[str, str], threads: int) -> str:
    """The whole page as text."""
    from graphreg.reports.pictures import png

    source, target = samples
    # From the points of one to the surface of the other, in the pose that was found.
    residuals = (
        distances(source, target, result.transformation, threads),
        distances(target, source, inverse(result.transformation), threads),
    )
    widest = widest_residual(residuals[0][: source.on_surface], result.overlap, source.radius)
    steps = _shown_steps(result.history)
    headline, _, reason = result.reason.partition(": ")
    data = json.dumps(payload(result.transformation, steps, samples, residuals, widest), allow_nan=False)
    body = Template(part("report.html")).substitute(
        how=part("how.html"),
        verdict=verdict(result.success, headline[:1].upper() + headline[1:], reason, _confidence(result)),
        figures=figures(_figures(result, source)),
        picture=embedded(png(picture_of(result, *samples, PICTURE))),
        charts="\n".join([_histogram(residuals, widest), *_charts(steps)]),
        matrix=_matrix(result.transformation),
        times=times(result.timings),
        scans=table(_scans(result, samples, names), "The two scans"),
        settings=table(_settings(result), "The method and its settings"),
        # In a script element nothing may look like its end.
        data=data.replace("<", "\\u003c"),
    )
    heading = (
        f'<span class="source">{escape(names[0])}</span> <span role="img" aria-label="laid on">→</span> '
        f'<span class="target">{escape(names[1])}</span>'
    )
    title = f"{names[0]} → {names[1]}"
    return shell(title, heading, "registration", body, part("report.css"), map(part, SCRIPTS))


def _confidence(result: Result) -> str:
    said, least = f"{result.confidence:.2f}", f"{VERDICT.success:g}"
    return (
        '<div class="confidence"><label for="confidence">confidence</label>'
        f'<span aria-hidden="true">{said}</span>'
        f'<meter id="confidence" min="0" max="1" low="{least}" high="{least}" optimum="1" value="{said}"></meter>'
        f"<small>a success from {least} on</small></div>"
    )


def _shown_steps(history: Sequence[Iteration]) -> list[Iteration]:
    rows = np.unique(np.linspace(0, len(history) - 1, min(len(history), MOST_STEPS)).round().astype(int))
    return [history[row] for row in rows]


def _figures(result: Result, source: Sample) -> list[tuple[str, str, str]]:
    """The figures that sum it up, each with what it means."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(result.transformation[:3, :3]).as_rotvec()
    angle = float(np.linalg.norm(turn))
    axis = ", ".join(f"{entry:.2f}" for entry in np.round(turn / (angle or 1.0), 2) + 0.0)
    middle = source.centre[None]
    way = float(np.linalg.norm(transform(result.transformation, middle) - middle))
    told = [
        ("Overlap", f"{result.overlap:.0%}", "of the source lies on the target"),
        (
            "Distance",
            "none" if np.isnan(result.inlier_rmse) else f"{result.inlier_rmse:.4g}",
            "of that part to the target's surface, root mean square, in the unit of the data",
        ),
        ("Turned by", f"{np.degrees(angle):.3f}°", f"about ({axis})" if angle else "not at all"),
        ("Moved by", f"{way:.4g}", "the middle of the source, in the unit of the data"),
        (
            "Undetermined",
            "; ".join(result.degenerate_directions) or "nothing",
            "what the source could do without leaving the target's surface",
        ),
    ]
    if result.covariance is not None:
        turning, shifting = (
            float(np.sqrt(max(np.linalg.eigvalsh(result.covariance[part, part])[-1], 0.0)))
            for part in (slice(0, 3), slice(3, 6))
        )
        worst = f"{np.degrees(turning):.2g}° and {shifting:.2g}"
        told.append(("Uncertain by", worst, "one standard deviation, about and along the worst axis"))
    if len(result.scores) > 1 and result.scores[0] > 0:
        share = max(result.scores[1], 0.0) / result.scores[0]
        told.append(("Runner-up", f"{share:.0%}", f"of this pose's score; {result.hypotheses:,} poses were proposed"))
    return told


def _histogram(residuals: tuple[Floats, Floats], widest: float) -> str:
    """How many points lie how far off the other scan, as outlines of bars."""
    from graphreg.reports.charts import LARGEST, line_chart

    if widest >= LARGEST:
        return ""  # beyond what a chart can tell
    edges = np.linspace(0, widest, BINS + 1)
    outlines, beyond = {}, []
    for name, values in zip(("source", "target"), residuals, strict=True):
        share = np.histogram(values, edges)[0] / len(values) * 100
        outlines[name] = np.repeat(edges, 2), np.concatenate([[0], np.repeat(share, 2), [0]])
        beyond.append(f"{(values > widest).mean():.0%} of the {name}")
    drawn = line_chart(outlines, "Residuals", "distance to the other scan, unit of the data", "% of points")
    return chart(drawn, f"Farther off: {' and '.join(beyond)}.", "histogram")


def _charts(steps: Sequence[Iteration]) -> Iterable[str]:
    """What the method told of each step, where there are enough of them."""
    from graphreg.reports.charts import LARGEST, line_chart

    told: tuple[tuple[str, str, list[float | None]], ...] = (
        ("Energy", "what the method minimises, in its own unit", [step.energy for step in steps]),
        ("Temperature", "of annealing", [step.temperature for step in steps]),
        ("Acceptance", "share of steps that annealing accepts", [step.accept_rate for step in steps]),
    )
    number = np.array([step.number for step in steps])
    for title, note, values in told:
        y = np.array(values, np.float64)
        usable = np.abs(y) < LARGEST
        if np.count_nonzero(usable) < LEAST_STEPS:
            continue
        x, y = number[usable], y[usable]
        wide = bool(y.min() > 1 / LARGEST and y.max() > WIDE_RANGE * y.min())
        drawn = line_chart({title: (x, y)}, title, "iteration", title.lower(), wide)
        yield chart(drawn, note, "over-steps", f'data-first="{x[0]}" data-last="{x[-1]}"')


def _matrix(matrix: Floats) -> str:
    """To the last digit, columns aligned."""
    columns = [[f"{entry:.17g}" for entry in column] for column in matrix.T.tolist()]
    aligned = [[entry.rjust(max(map(len, column))) for entry in column] for column in columns]
    return "\n".join("  ".join(row) for row in zip(*aligned, strict=True))


def _scans(result: Result, samples: tuple[Sample, Sample], names: tuple[str, str]) -> list[Row]:
    return [
        ("", "source", "target"),
        ("name", *names),
        ("points", *(f"{sample.total:,}" for sample in samples)),
        ("not finite, left out", *(f"{count:,}" for count in result.dropped)),
        ("shown here", *(f"{len(sample.points):,}" for sample in samples)),
        ("outliers among these", *(f"{1 - sample.on_surface / len(sample.points):.1%}" for sample in samples)),
        ("too far off to be shown", *(f"{sample.left_out:,}" for sample in samples)),
        ("distance between points shown", *(f"{sample.spacing:.3g}" for sample in samples)),
    ]


def _settings(result: Result) -> list[Row]:
    line = METHODS[result.method].summary if result.method in METHODS else ""
    rows: list[Row] = [("method", f"{result.method}: {line}" if line else result.method), ("seed", str(result.seed))]
    for name, value in result.settings.items():
        told = f"{value:.6g}" if isinstance(value, float) else str(value)
        rows.append((name, "by default" if value is None else told))
    return rows
