"""The report of a deformation, or of one along time: the motion as an animation, strain as colour, the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from graphreg.clouds import Floats, as_cloud, sample_rows
from graphreg.errors import InputError
from graphreg.nonrigid.deformation import Deformation
from graphreg.poses import transform
from graphreg.reports.display_clouds import DisplayCloud, default_view, describe_cloud
from graphreg.reports.page_layout import (
    asset,
    chart_figure,
    data_uri,
    figure_cards,
    json_script,
    page_from_body,
    sortable_table,
    table,
    timing_table,
    verdict_banner,
    write_page,
)
from graphreg.reports.page_payload import encoded, levels, palette, quantised
from graphreg.reports.table_cells import percent

# Of each cloud this many points are displayed, and of a longer sequence this many frames, evenly spaced.
MAX_POINTS, MAX_FRAMES = 20_000, 60
# Quantile of the strain at the end of the colour scale; the scale is not finer than the strain given next.
HIGHEST, LEAST_STRAIN = 0.98, 0.01
# Width and height of the still picture, in pixels.
PICTURE = (1200, 640)


def deformation_report(
    found: Sequence[Deformation], source: Any, targets: Sequence[Any], path: Path, names: Sequence[str], threads: int
) -> None:
    """Write a report of the deformations of one source to successive targets.

    Parameters
    ----------
    found : sequence of Deformation
        One, or what `deform_sequence` returned.
    source : array_like
    targets : sequence of array_like
        One for each deformation.
    path : Path
    names : sequence of str
        Of the source and the targets.
    threads : int

    Raises
    ------
    InputError
        If the clouds are not those of the deformations.
    """
    cloud = as_cloud(source, "source")
    if any(len(each.points) != len(cloud.kept) for each in found):
        raise InputError(f"source: has {len(cloud.kept)} points, expected as many as were deformed")
    if len(targets) != len(found):
        raise InputError(f"target: expected {len(found)}, one for each deformation, got {len(targets)}")
    kept = np.unique(np.linspace(0, len(found) - 1, min(len(found), MAX_FRAMES)).round().astype(int))
    shown = [describe_cloud(targets[number], "target", threads) for number in kept]
    write_page(path, _html(found, kept, cloud.points, cloud.kept, shown, names, threads))


def _html(
    found: Sequence[Deformation],
    kept: Any,
    points: Floats,
    finite: Any,
    targets: Sequence[DisplayCloud],
    names: Sequence[str],
    threads: int,
) -> str:
    rows = np.flatnonzero(np.isfinite(found[-1].strain[finite]))
    rows = rows[sample_rows(len(rows), MAX_POINTS)]
    frames = [transform(found[0].transformation, points[rows])]
    frames += [found[number].points[finite][rows] for number in kept]
    strains = [np.zeros(len(rows)), *(found[number].strain[finite][rows] for number in kept)]
    highest = max(LEAST_STRAIN, float(np.quantile(np.concatenate(strains[1:]), HIGHEST)))
    body = describe_cloud(frames[-1], "source", threads)
    labels = ["rigid pose", *(names[number + 1] for number in kept)]
    notes = ["where the deformation began", *(_note(found[number]) for number in kept)]
    payload = _payload(frames, [levels(strain, 0.0, highest) for strain in strains], targets, body, labels, notes)
    payload["strain"] = ["0", f"{percent(highest, 1)} or more"]
    last, failed = found[-1], [number for number, each in enumerate(found) if not each.success]
    single = len(found) == 1
    headline, _, reason = last.reason.partition(": ")
    if not single:
        headline = f"{len(failed):,} of {len(found):,} frames not deformed" if failed else "Every frame deformed"
        reason = f"the last: {last.reason}"
    html = Template(asset("deformation.html")).substitute(
        help=asset("viewer_help.html"),
        verdict=verdict_banner(not failed, headline[:1].upper() + headline[1:], reason),
        picture=_picture(frames[-1], strains[-1], highest, body),
        axis="Share" if single else "Frame",
        figures=figure_cards(_figures(found, points, finite)),
        charts="\n".join(_charts(found)),
        times=timing_table(last.timings),
        settings=table(_settings(last), "The method and its settings"),
        frames="" if single else sortable_table(_frame_rows(found, names), "Every frame"),
        no_frames="hidden" if single else "",
        data=json_script(json.dumps(payload, allow_nan=False)),
    )
    end = names[1] if single else f"{len(found)} frames"
    heading = (
        f'<span class="source">{escape(names[0])}</span> <span role="img" aria-label="deformed to">→</span> '
        f'<span class="target">{escape(end)}</span>'
    )
    styles, scripts = ("viewer.css", "registration.css", "deformation.css"), ("viewer.js", "deformation.js")
    return page_from_body(f"{names[0]} → {end}", heading, "deformation", html, styles, scripts)


def _note(found: Deformation) -> str:
    return f"strain {percent(_mean(found), 1)} on average, confidence {found.confidence:.2f}"


def _mean(found: Deformation) -> float:
    return float(np.nanmean(found.strain))


def _payload(
    frames: Sequence[Floats],
    strains: Sequence[Any],
    targets: Sequence[DisplayCloud],
    body: DisplayCloud,
    labels: Sequence[str],
    notes: Sequence[str],
) -> dict[str, Any]:
    """All points quantised in one box, relative to the centre of the deformed source, in units of its radius."""
    # The first frame has the first target.
    others = [target.points[: target.inlier_count][:MAX_POINTS] for target in (targets[0], *targets)]
    everything = [(points - body.centre) / body.radius for points in (*frames, *others)]
    low, step, quanta = quantised(np.concatenate(everything))
    parts = np.split(quanta, np.cumsum([len(points) for points in everything])[:-1])
    count = len(frames)
    return {
        "box": {"low": low.tolist(), "step": step.tolist(), "radius": 1.0},
        "spacings": [body.spacing / body.radius, targets[-1].spacing / body.radius],
        "view": default_view(body).ravel().tolist(),
        "palette": palette(),
        "frames": [
            {
                "name": labels[number],
                "note": notes[number],
                "source": encoded(parts[number]),
                "target": encoded(parts[count + number]),
                "levels": encoded(strains[number]),
            }
            for number in range(count)
        ],
    }


def _figures(found: Sequence[Deformation], points: Floats, finite: Any) -> list[tuple[str, str, str]]:
    """The key figures of the last frame: name, value, explanation."""
    last = found[-1]
    moved = np.linalg.norm(last.points[finite] - transform(last.transformation, points), axis=1)
    least = min(found, key=lambda each: each.confidence)
    cards = [
        ("Confidence", f"{last.confidence:.2f}", "that the deformation is right"),
        ("Overlap", percent(last.overlap), "share of the source that overlaps the target"),
        ("Explained", percent(last.explained), "share of the target that the deformed source overlaps"),
        (
            "Residuals",
            f"{last.inlier_rmse:.3g}" if last.overlap else "none",
            "RMS distance of the overlap from the target, unit of the data",
        ),
        ("Strain", percent(_mean(last), 1), f"on average; at most {percent(float(np.nanmax(last.strain)), 1)}"),
        ("Displacement", f"{np.nanmedian(moved):.3g}", f"median beyond the rigid pose; at most {np.nanmax(moved):.3g}"),
    ]
    if len(found) > 1:
        cards.insert(0, ("Frames", f"{len(found):,}", f"lowest confidence {least.confidence:.2f}"))
    return cards


def _charts(found: Sequence[Deformation]) -> Iterator[str]:
    from graphreg.reports.charts import histogram_outline, line_chart

    if len(found) > 1:
        number = np.arange(1, len(found) + 1)
        strain = {
            "mean": (number, [100 * _mean(each) for each in found]),
            "95 % below": (number, [100 * float(np.nanquantile(each.strain, 0.95)) for each in found]),
        }
        yield chart_figure(line_chart(strain, "Strain over time", "frame", "%"), "Since the first frame.")
        series = {
            "confidence": (number, [each.confidence for each in found]),
            "explained": (number, [each.explained for each in found]),
        }
        svg = line_chart(series, "Confidence and share explained", "frame", "")
        yield chart_figure(svg, "Explained is the share of a frame that the deformed source overlaps.")
    values = 100 * found[-1].strain[np.isfinite(found[-1].strain)]
    edges = np.linspace(0, max(float(np.quantile(values, 0.99)), 100 * LEAST_STRAIN), 40)
    svg = line_chart(
        {"points": histogram_outline(values[values <= edges[-1]], edges)}, "Strain of the points", "%", "points",
        marked=False,
    )  # fmt: skip
    yield chart_figure(svg, "Relative change of the distances around each point.")
    stages = [stage.energies for stage in found[-1].history if len(stage.energies) > 1]
    if stages:
        share = {
            f"stage {number}": (np.arange(len(each)), np.array(each) - each[-1])
            for number, each in enumerate(stages[-4:], len(stages[:-4]) + 1)
        }
        svg = line_chart(share, "Energy above that at the end of its stage", "step", "")
        yield chart_figure(svg, "Of the last stages. The energy of a stage never rises.")


def _settings(found: Deformation) -> list[tuple[str, ...]]:
    settings = [(name, f"{value:g}") for name, value in found.settings.items()]
    return [("method", found.method), *settings, ("seed", f"{found.seed}")]


def _frame_rows(found: Sequence[Deformation], names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "frame": names[number],
            "verdict": each.reason,
            "confidence": round(each.confidence, 2),
            "mean strain (%)": round(100 * _mean(each), 2),
            "largest (%)": round(100 * float(np.nanmax(each.strain)), 1),
            "seconds": round(each.timings["total"], 2),
        }
        for number, each in enumerate(found, 1)
    ]


def _picture(points: Floats, strain: Floats, highest: float, body: DisplayCloud) -> str:
    """A still picture of the deformed source, coloured by strain, for browsers without scripts."""
    from graphreg.reports.pictures import ScaleBar, colour_map, png, render
    from graphreg.reports.previews import FRONT, picture_axes

    scene = [((points - body.centre) / body.radius @ picture_axes(body).T, colour_map(strain, 0, highest))]
    return data_uri(png(render(scene, FRONT, PICTURE, scale_bar=ScaleBar(body.radius))))
