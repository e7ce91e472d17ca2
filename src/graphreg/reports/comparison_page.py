"""The report of a comparison: one HTML page with the deviations in colour, their histogram and their figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphreg.clouds import Cloud, Floats, sample_rows
from graphreg.comparison.deviations import Deviation
from graphreg.reports.charts import hex_colour, histogram_outline, line_chart
from graphreg.reports.page_layout import (
    Row,
    chart_figure,
    figure_cards,
    image,
    page_from_sections,
    table,
    write_page,
)
from graphreg.reports.pictures import BLUE, GREY, PAPER, RED, Camera, ScaleBar, panels, png
from graphreg.reports.table_cells import percent

# Colours of distances from -1 to 1 times the limit: blue inside, pale on the surface, red outside.
COLOURS = np.array([BLUE, (0.55, 0.72, 0.87), (0.93, 0.93, 0.88), (0.94, 0.62, 0.52), RED])
# Without a tolerance, the colour scale ends at this percentile of the distances.
LIMIT_PERCENTILE = 95
BINS = 60
# The histogram reaches this many limits to each side.
HISTOGRAM_LIMITS = 2.0
MAX_PICTURE_POINTS = 150_000
PICTURE = (1400, 560)


def colour_limit(found: Deviation) -> float:
    """The distance at which the colours end: the tolerance, else the 95th percentile of the distances."""
    if found.tolerance is not None:
        return found.tolerance
    return float(np.percentile(np.abs(found.finite), LIMIT_PERCENTILE)) or 1.0


def deviation_colours(distances: Floats, limit: float) -> Floats:
    """Colours (N, 3) of distances, red, green and blue from 0 to 1; grey where there is none."""
    shares = np.clip(np.nan_to_num(distances / limit), -1, 1)
    knots = np.linspace(-1, 1, len(COLOURS))
    colours = np.stack([np.interp(shares, knots, COLOURS[:, channel]) for channel in range(3)], axis=1)
    colours[~np.isfinite(distances)] = GREY
    return colours


def coloured_cloud(cloud: Cloud, points: Floats, found: Deviation) -> Cloud:
    """The points of a cloud after registration, with the attributes deviation, red, green and blue.

    Parameters
    ----------
    cloud : Cloud
        What was compared.
    points : (N, 3) ndarray
        Its points in the frame of the reference.
    found : Deviation

    Returns
    -------
    Cloud
        Its other attributes are kept, but for normals.
    """
    distances = found.distances[cloud.kept]
    colours = np.round(255 * deviation_colours(distances, colour_limit(found))).astype(np.uint8)
    attributes = {name: values for name, values in cloud.attributes.items() if name not in ("nx", "ny", "nz")}
    attributes |= {name: colours[:, i].copy() for i, name in enumerate(("red", "green", "blue"))}
    return Cloud(points, np.ones(len(points), bool), {**attributes, "deviation": distances})


def comparison_report(found: Deviation, points: Floats, path: Path, names: tuple[str, str], note: str = "") -> None:
    """Write a report of a comparison: one HTML file that needs no other file and no network.

    Parameters
    ----------
    found : Deviation
    points : (N, 3) ndarray
        The points that the distances are of, in the frame of the reference.
    path : Path
        The file to write. It is replaced as a whole or not at all.
    names : (str, str)
        Names of the scan and of the reference.
    note : str, optional
        How the scan came into the frame of the reference, in a sentence.
    """
    limit = colour_limit(found)
    sections = {
        "": figure_cards(_cards(found)) + (table([("registration", note)], "Registration") if note else ""),
        "Deviations": image(
            _picture(points, found.finite, limit), "The scan, coloured by its deviations, from two opposite sides"
        )
        + _colour_scale(limit, found.signed),
        "Distribution": chart_figure(
            _histogram(found, limit), "The first and the last bin also count the points beyond them."
        ),
        "Figures": table(_rows(found), "Figures of the deviations"),
    }
    write_page(path, page_from_sections(f"{names[0]} compared with {names[1]}", sections, "comparison"))


def _cards(found: Deviation) -> list[tuple[str, str, str]]:
    cards = [
        ("RMS", f"{found.rms:.4g}", "of all distances, in the unit of the data"),
        ("median", f"{found.percentiles[50]:.4g}", "signed: negative is inside" if found.signed else "unsigned"),
        ("95 %", f"{np.percentile(np.abs(found.finite), LIMIT_PERCENTILE):.4g}", "of the points are no farther off"),
    ]
    if found.tolerance is not None:
        share = percent(found.within(found.tolerance))
        cards.insert(0, ("within tolerance", share, f"of the points are at most {found.tolerance:g} off"))
    if found.significant is not None:
        share = percent(float(found.significant.sum() / len(found.finite)))
        cards.append(("significant", share, "of the points exceed their level of detection (95 %)"))
    return cards


def _rows(found: Deviation) -> list[Row]:
    rows: list[Row] = [("points", f"{len(found.finite):,}"), ("mean", f"{found.mean:.6g}"), ("RMS", f"{found.rms:.6g}")]
    rows += [(f"percentile {share}", f"{value:.6g}") for share, value in found.percentiles.items()]
    rows.append(("largest", f"{np.abs(found.finite).max():.6g}"))
    if found.level_of_detection is not None:
        rows.append(("median level of detection", f"{np.nanmedian(found.level_of_detection):.6g}"))
    return rows


def _histogram(found: Deviation, limit: float) -> str:
    edges = np.linspace(-HISTOGRAM_LIMITS * limit if found.signed else 0.0, HISTOGRAM_LIMITS * limit, BINS + 1)
    outline = histogram_outline(np.clip(found.finite, edges[0], edges[-1]), edges)
    return line_chart({"points": outline}, "Deviations", "distance", "points", marked=False)


def _picture(points: Floats, distances: Floats, limit: float) -> bytes:
    """Two views from opposite sides."""
    rows = sample_rows(len(points), MAX_PICTURE_POINTS)
    shown, colours = points[rows], deviation_colours(distances[rows], limit)
    centre = np.median(shown, axis=0)
    radius = float(np.percentile(np.linalg.norm(shown - centre, axis=1), 99)) or 1.0
    near = np.linalg.norm(shown - centre, axis=1) <= 2 * radius
    scene = [((shown[near] - centre) / radius, colours[near])]
    views = (Camera(azimuth=30, elevation=30), Camera(azimuth=210, elevation=-30))
    return png(panels([scene, scene], (), views, PICTURE, scale_bar=ScaleBar(radius)))


def _colour_scale(limit: float, signed: bool) -> str:
    """A bar of the colours with the distances at its ends, as SVG."""
    first = 0 if signed else len(COLOURS) // 2
    stops = "".join(
        f'<stop offset="{offset:.2f}" stop-color="{hex_colour((colour[0], colour[1], colour[2]))}"/>'
        for offset, colour in zip(np.linspace(0, 1, len(COLOURS) - first), COLOURS[first:], strict=True)
    )
    ends = (f"{-limit:.4g}" if signed else "0", "0" if signed else "", f"{limit:.4g}")
    texts = "".join(
        f'<text x="{x}" y="38" text-anchor="{anchor}" font-size="13" fill="currentColor">{text}</text>'
        for x, anchor, text in zip((10, 250, 490), ("start", "middle", "end"), ends, strict=True)
    )
    return (
        f'<svg viewBox="0 0 500 44" width="500" style="max-width: 100%" role="img" '
        f'aria-label="Colour scale from {ends[0]} to {ends[2]}">'
        f'<defs><linearGradient id="scale">{stops}</linearGradient></defs>'
        f'<rect x="10" y="4" width="480" height="18" fill="url(#scale)" stroke="{hex_colour(PAPER)}"/>{texts}</svg>'
    )
