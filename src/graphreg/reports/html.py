"""A registration as one page that opens offline in any browser: the clouds to turn about, the verdict, every figure.

graphreg.report(result, source, target, "report.html")

The page is in `page/`; here stands what goes into it: facts as HTML, and points and motions as JSON.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.files.sink import replacing
from graphreg.metrics import angular_error
from graphreg.outcomes import Iteration
from graphreg.poses import inverse, transform
from graphreg.registration import METHODS, Result
from graphreg.reports.scenes import (
    MOST_POINTS,
    Sample,
    as_result,
    distances,
    picture_of,
    placement_of,
    samples_of,
    standpoint,
)
from graphreg.threads import thread_count
from graphreg.verdict import ENOUGH

if TYPE_CHECKING:
    from graphreg.reports.pictures import Image

PAGE = Path(__file__).parent / "page"
SCRIPTS = ("viewer.js", "report.js")
# Of a longer history so many steps are kept, evenly; with fewer than that there is no chart.
MOST_STEPS, LEAST_STEPS = 400, 3
# Values are told to a 255th of their range; this one stands for what has none.
LEVELS, UNKNOWN = 255, 255
# Residuals are shown up to so many times the median of the part that overlaps.
WIDEST_RESIDUAL, BINS = 6.0, 40
# A series that spans more than this is drawn on a logarithmic axis.
WIDE_RANGE = 50.0
PICTURE = (1400, 560)


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
    text = page_of(found, samples, (str(names[0]), str(names[1])), thread_count(threads))
    with replacing(Path(path), None) as sink:
        sink.file.write(text.encode())


def page_of(result: Result, samples: tuple[Sample, Sample], names: tuple[str, str], threads: int) -> str:
    """The whole page as text."""
    # From each point of one to the surface of the other, in the pose that was found.
    off = (
        distances(*samples, result.transformation, threads),
        distances(samples[1], samples[0], inverse(result.transformation), threads),
    )
    steps = _kept_steps(result.history)
    widest = widest_residual(off[0][: samples[0].on_surface], result.overlap, samples[0].radius)
    headline, _, reason = result.reason.partition(": ")
    return Template((PAGE / "report.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"{names[0]} → {names[1]}"),
        source=escape(names[0]),
        target=escape(names[1]),
        style=(PAGE / "report.css").read_text(encoding="utf-8"),
        verdict="good" if result.success else "bad",
        mark="✓" if result.success else "✕",
        headline=escape(headline[:1].upper() + headline[1:]),
        reason=escape(reason),
        confidence=f"{result.confidence:.2f}",
        enough=f"{ENOUGH:g}",
        figures=_figures(result, samples),
        picture=_picture(picture_of(result, *samples, PICTURE)),
        charts="\n".join(_charts(steps, off, widest)),
        matrix=_matrix(result.transformation),
        times=_times(result.timings),
        scans=_table(_scans(result, samples, names)),
        settings=_table(_settings(result)),
        versions=_table(_versions()),
        data=_json(payload(result, samples, steps, off, widest)),
        script="\n".join((PAGE / name).read_text(encoding="utf-8") for name in SCRIPTS),
    )


def payload(
    result: Result, samples: tuple[Sample, Sample], steps: Sequence[Iteration], off: Sequence[Floats], widest: float
) -> dict[str, Any]:
    """What the viewer draws: points, what is known of each, motions, and where to look from.

    Lengths are in units of the larger cloud's radius. Points are relative to the middle of their cloud, and the motions
    say where the middle of the source goes, relative to that of the target: so no large number is left.
    """
    from graphreg.reports.pictures import colour_map

    unit = max(sample.radius for sample in samples)
    signals = {
        "intensity": _logarithms(sample.intensity for sample in samples),
        "variation": _logarithms(sample.variation for sample in samples),
    }
    ranges = {name: _usual_range(values) for name, values in signals.items()} | {"residual": (0.0, widest)}
    signals["residual"] = list(off)
    clouds = []
    for number, sample in enumerate(samples):
        low, step, places = quantised((sample.points - sample.centre) / unit)
        clouds.append(
            {
                "points": len(sample.points),
                "on_surface": sample.on_surface,
                "radius": sample.radius / unit,
                "spacing": sample.spacing / unit,
                "low": low.tolist(),
                "step": step.tolist(),
                "places": encoded(places),
                "values": {name: encoded(levels(values[number], *ranges[name])) for name, values in signals.items()},
            }
        )
    shades = np.round(255 * colour_map(np.linspace(0, 1, LEVELS), 0, 1)).astype(np.uint8)
    return {
        "clouds": clouds,
        "frames": frames(result, steps, samples),
        "view": standpoint(samples[1]).ravel().tolist(),
        "palette": encoded(shades),
        "legends": {
            "residual": ["0", f"{widest:.3g} or more"],
            **{name: [f"{10 ** ranges[name][end]:.2g}" for end in (0, 1)] for name in ("intensity", "variation")},
        },
    }


def frames(result: Result, steps: Sequence[Iteration], samples: tuple[Sample, Sample]) -> list[dict[str, Any]]:
    """The way of the source: as it came, after each step, and where it was laid.

    step, name         of the moment; 0 is before the first step
    rotation           quaternion x, y, z, w
    shift, shortened   where its middle is drawn, and whether that is nearer than it is
    degrees, distance  how far it has yet to turn and, in the unit of the data, its middle to go
    """
    from scipy.spatial.transform import Rotation

    last = result.transformation
    moments = [(0, "before", np.eye(4))]
    for now in steps:
        moments.append((now.number, f"step {now.number} of {steps[-1].number}", now.transformation))
    if len(moments) > 1 and np.array_equal(moments[-1][2], last):
        moments.pop()
    moments.append((steps[-1].number if steps else 1, "after", last))
    middle = samples[0].centre[None]
    way = []
    for step, name, motion in moments:
        placed = placement_of(motion, *samples)
        way.append(
            {
                "step": step,
                "name": name,
                "rotation": Rotation.from_matrix(placed.rotation).as_quat().tolist(),
                "shift": placed.shift.tolist(),
                "shortened": placed.shortened,
                "degrees": angular_error(motion, last),
                "distance": float(np.linalg.norm(transform(motion, middle) - transform(last, middle))),
            }
        )
    return way


def quantised(points: Floats) -> tuple[Floats, Floats, NDArray[np.uint16]]:
    """Lowest corner, step and (N, 3) whole numbers with points = corner + step * numbers, to half a step."""
    low = points.min(axis=0)
    step = (points.max(axis=0) - low) / 65535
    places = np.round((points - low) / np.where(step > 0, step, 1.0))
    return low, step, places.astype("<u2")


def levels(values: Floats, low: float, high: float) -> NDArray[np.uint8]:
    """Whole numbers from 0 at `low` to 254 at `high`, and UNKNOWN where there is none."""
    finite = np.isfinite(values)
    share = (np.where(finite, values, low) - low) / (high - low)
    return np.where(finite, np.round((LEVELS - 1) * np.clip(share, 0, 1)), UNKNOWN).astype(np.uint8)


def encoded(numbers: NDArray[Any]) -> str:
    """The bytes of an array, row by row, as base64."""
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode("ascii")


def widest_residual(off: Floats, overlap: float, radius: float) -> float:
    """Up to where residuals are worth telling apart: what lies beyond has no counterpart."""
    typical = float(np.quantile(off, np.clip(overlap, 0.1, 1.0) / 2))
    return max(WIDEST_RESIDUAL * typical, 1e-9 * radius)


def _logarithms(signals: Iterable[Floats]) -> list[Floats]:
    """Not finite where a signal is zero or not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return [np.log10(signal) for signal in signals]


def _usual_range(values: Sequence[Floats]) -> tuple[float, float]:
    """From the 2nd to the 98th percentile, so that a few wild values do not flatten the rest."""
    every = np.concatenate(values)
    finite = every[np.isfinite(every)]
    if not len(finite):
        return 0.0, 1.0
    low, high = np.quantile(finite, [0.02, 0.98])
    return float(low), float(high if high > low else low + 1)


def _kept_steps(history: Sequence[Iteration]) -> list[Iteration]:
    rows = np.unique(np.linspace(0, len(history) - 1, min(len(history), MOST_STEPS)).round().astype(int))
    return [history[row] for row in rows]


def _figures(result: Result, samples: tuple[Sample, Sample]) -> str:
    """The figures that sum it up, each with what it means."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(result.transformation[:3, :3]).as_rotvec()
    angle = float(np.linalg.norm(turn))
    axis = ", ".join(f"{entry:.2f}" for entry in turn / (angle or 1.0))
    middle = samples[0].centre[None]
    way = float(np.linalg.norm(transform(result.transformation, middle) - middle))
    told = [
        ("Overlap", f"{result.overlap:.0%}", "of the source lies on the target"),
        (
            "Distance",
            "none" if np.isnan(result.inlier_rmse) else f"{result.inlier_rmse:.4g}",
            "of that part to the target’s surface, root mean square, in the unit of the data",
        ),
        ("Turned by", f"{np.degrees(angle):.3f}°", f"about ({axis})" if angle else "not at all"),
        ("Moved by", f"{way:.4g}", "the middle of the source, in the unit of the data"),
        (
            "Undetermined",
            "; ".join(result.undetermined) or "nothing",
            "what the source could do without leaving the target’s surface",
        ),
    ]
    if result.covariance is not None:
        turning, shifting = (
            float(np.sqrt(max(np.linalg.eigvalsh(result.covariance[part, part])[-1], 0.0)))
            for part in (slice(0, 3), slice(3, 6))
        )
        told.append(
            ("Uncertain by", f"{np.degrees(turning):.2g}° and {shifting:.2g}", "one standard deviation, worst axis")
        )
    if len(result.scores) > 1 and result.scores[0] > 0:
        share = max(result.scores[1], 0.0) / result.scores[0]
        told.append(("Runner-up", f"{share:.0%}", f"of this pose’s score; {result.hypotheses:,} poses were proposed"))
    return "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(note)}</small></dd></div>"
        for name, value, note in told
    )


def _charts(steps: Sequence[Iteration], off: Sequence[Floats], widest: float) -> Iterable[str]:
    """Residuals; and what the method told of each step, where there are enough of them."""
    from graphreg.reports.charts import LARGEST, line_chart

    edges = np.linspace(0, widest, BINS + 1)
    outlines = {}
    for name, values in zip(("source", "target"), off, strict=True):
        share = np.histogram(values, edges)[0] / max(1, len(values)) * 100
        outlines[name] = np.repeat(edges, 2), np.concatenate([[0], np.repeat(share, 2), [0]])
    beyond = ", ".join(f"{(values > widest).mean():.0%} of the {name}" for name, values in zip(outlines, off, strict=True))
    chart = line_chart(outlines, "Residuals", "distance to the other scan, unit of the data", "% of points")
    yield _chart(chart, "histogram", f"Farther off: {beyond}.")
    told = (
        ("Energy", "what the method minimises, in its own unit", [step.energy for step in steps]),
        ("Temperature", "of annealing", [step.temperature for step in steps]),
        ("Acceptance", "share of steps that annealing accepts", [step.accept_rate for step in steps]),
    )
    for title, note, values in told:
        y = np.array([np.nan if value is None else value for value in values], float)
        usable = np.abs(y) < LARGEST
        if np.count_nonzero(usable) < LEAST_STEPS:
            continue
        x, y = np.array([step.number for step in steps])[usable], y[usable]
        wide = bool(y.min() > 1 / LARGEST and y.max() > WIDE_RANGE * y.min())
        chart = line_chart({title: (x, y)}, title, "iteration", title.lower(), wide)
        yield _chart(chart, "over-steps", note, f'data-first="{x[0]}" data-last="{x[-1]}"')


def _chart(chart: str, kind: str, note: str, data: str = "") -> str:
    return f'<figure class="chart {kind}" {data}>{chart}<figcaption>{escape(note)}</figcaption></figure>'


def _matrix(matrix: Floats) -> str:
    """To the last digit, columns aligned."""
    columns = [[f"{entry:.17g}" for entry in column] for column in matrix.T.tolist()]
    aligned = [[entry.rjust(max(map(len, column))) for entry in column] for column in columns]
    return "\n".join("  ".join(row) for row in zip(*aligned, strict=True))


def _times(timings: dict[str, float]) -> str:
    """Stages as rows with bars, the total last."""
    stages = {name: seconds for name, seconds in timings.items() if name != "total"}
    whole = max(sum(stages.values()), 1e-9)
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td class="number">{seconds:.3f} s</td>'
        f'<td class="bar" aria-hidden="true"><span style="width:{100 * seconds / whole:.1f}%"></span></td></tr>'
        for name, seconds in stages.items()
    ]
    total = timings.get("total", whole)
    rows.append(f'<tr class="total"><th scope="row">total</th><td class="number">{total:.3f} s</td><td></td></tr>')
    return "\n".join(rows)


def _scans(result: Result, samples: tuple[Sample, Sample], names: tuple[str, str]) -> list[tuple[str, ...]]:
    def each(told: Iterable[str]) -> tuple[str, ...]:
        return tuple(told)

    return [
        ("", "source", "target"),
        ("name", *names),
        ("points", *each(f"{sample.total:,}" for sample in samples)),
        ("not finite, left out", *each(f"{count:,}" for count in result.dropped)),
        ("shown here", *each(f"{len(sample.points):,}" for sample in samples)),
        ("outliers among these", *each(f"{1 - sample.on_surface / len(sample.points):.1%}" for sample in samples)),
        ("too far off to be shown", *each(f"{sample.left_out:,}" for sample in samples)),
        ("distance between points shown", *each(f"{sample.spacing:.3g}" for sample in samples)),
    ]


def _settings(result: Result) -> list[tuple[str, ...]]:
    line = METHODS[result.method].line if result.method in METHODS else ""
    rows = [("method", f"{result.method}: {line}" if line else result.method), ("seed", str(result.seed))]
    for name, value in result.settings.items():
        rows.append((name, "by default" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)))
    return rows


def _versions() -> list[tuple[str, ...]]:
    from graphreg.bench.tables import setting

    rows = [(name, str(value)) for name, value in setting().items()]
    return [*rows, ("written", datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z"))]


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of a table, the first cell of each being its name; a first row without a name holds those of the columns."""
    lines = []
    for name, *cells in rows:
        if not name:
            lines.append("<tr><td></td>" + "".join(f'<th scope="col">{escape(cell)}</th>' for cell in cells) + "</tr>")
        else:
            held = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            lines.append(f'<tr><th scope="row">{escape(name)}</th>{held}</tr>')
    return "\n".join(lines)


def _picture(image: Image) -> str:
    from graphreg.reports.pictures import png

    return "data:image/png;base64," + base64.b64encode(png(image)).decode("ascii")


def _json(value: Any) -> str:
    """As text that can stand in a script element."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
