"""Line charts as SVG text: numbers in, a picture for a web page or a paper out.

chart = line_chart({"SA": (beta, seconds)}, "Time", "cool-down rate", "seconds", log_y=True)
write_svg("time.svg", chart)
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import ArrayLike

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.files.output_file import atomic_write
from graphreg.reports.pictures import BLUE, GREY, INK, ORANGE, PAPER, RED

WIDTH, HEIGHT = 560, 400
LEFT, RIGHT, BELOW = 76, 24, 58
LETTER = 13
LINE = 20
# Colour and marker both tell lines apart, so that charts read in grey as well. Markers are paths about (0, 0).
STYLES = (
    (BLUE, "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z"),
    (ORANGE, "M-3.6,-3.6h7.2v7.2h-7.2z"),
    (RED, "M0,-5l5,5l-5,5l-5,-5z"),
    (GREY, "M0,-4.8l4.6,8.2h-9.2z"),
    ((0.16, 0.55, 0.38), "M0,4.8l4.6,-8.2h-9.2z"),
    ((0.50, 0.32, 0.62), "M-5,-2h10v4h-10z"),
    (INK, "M-2,-5h4v10h-4z"),
)
# A line of more points than this is drawn without markers, which would hide it.
MOST_MARKERS = 60
# Between this and its inverse, steps between ticks neither overflow nor vanish.
LARGEST = 1e100


def line_chart(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    title: str,
    x_label: str,
    y_label: str,
    log_y: bool = False,
    marked: bool = True,
    equal: bool = False,
) -> str:
    """Draw up to seven lines into one chart, with axes, marked points and, for several, a legend. Returns SVG text.

    series  {name: (x, y)}, as many x as y; points are joined in the order given
    log_y   equal ratios of y, not equal differences, are equally high; all y must be positive
    marked  whether every point is marked, or only the legend
    equal   a unit is as long along x as along y, as on a map

    Axes begin and end at round numbers, but for those of a map. The same input gives the same text.
    """
    lines = _checked(series, log_y)
    x_ticks = _even_ticks(np.concatenate([x for x, _ in lines.values()]))
    every_y = np.concatenate([y for _, y in lines.values()])
    y_ticks = _log_ticks(every_y) if log_y else _even_ticks(every_y)
    slot = 50 + 0.6 * LETTER * max(len(name) for name in lines)
    a_row = max(1, int((WIDTH - LEFT - RIGHT) // slot))
    top = 44 + (LINE * math.ceil(len(lines) / a_row) if len(lines) > 1 else 0)
    right, bottom = WIDTH - RIGHT, HEIGHT - BELOW
    x_ends, y_ends = x_ticks[[0, -1]], y_ticks[[0, -1]]
    if equal:
        x_ends, y_ends = _to_scale(x_ends, y_ends, (bottom - top) / (right - LEFT))
        step = np.diff(_even_ticks(y_ends))[0]
        x_ticks, y_ticks = _multiples(step, x_ends), _multiples(step, y_ends)

    def across(x: ArrayLike) -> Floats:
        return LEFT + (right - LEFT) * _share(x, x_ends)

    def down(y: ArrayLike) -> Floats:
        share = _share(np.log10(y), np.log10(y_ends)) if log_y else _share(y, y_ends)
        return bottom - (bottom - top) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="{LETTER}" fill="{_hex(INK)}">',
        f"<title>{_clean(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{_hex(PAPER)}"/>',
        _text(WIDTH / 2, 24, title, 'text-anchor="middle" font-size="15" font-weight="bold"'),
    ]
    for tick, at in zip(x_ticks, across(x_ticks), strict=True):
        parts += [_rule(at, bottom, at, top), _text(at, bottom + 18, _number(tick), 'text-anchor="middle"')]
    for tick, at in zip(y_ticks, down(y_ticks), strict=True):
        parts += [_rule(LEFT, at, right, at), _text(LEFT - 8, at + 4.5, _number(tick), 'text-anchor="end"')]
    middle = (top + bottom) / 2
    parts += [
        f'<rect class="frame" x="{LEFT}" y="{top}" width="{right - LEFT}" height="{bottom - top}" fill="none" '
        f'stroke="{_hex(INK)}"/>',
        _text((LEFT + right) / 2, HEIGHT - 16, x_label, 'text-anchor="middle"'),
        _text(20, middle, y_label, f'text-anchor="middle" transform="rotate(-90 20 {middle:g})"'),
    ]
    for k, (name, (x, y)) in enumerate(lines.items()):
        colour, marker = _hex(STYLES[k][0]), STYLES[k][1]
        places = list(zip(across(x), down(y), strict=True))
        joined = " ".join(f"{a:.2f},{b:.2f}" for a, b in places)
        parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
        shown = places if marked and len(places) <= MOST_MARKERS else []
        if len(lines) > 1:
            left, high = LEFT + slot * (k % a_row), 46 + LINE * (k // a_row)
            parts.append(f'<path d="M{left:g},{high}h26" stroke="{colour}" stroke-width="2"/>')
            parts.append(_text(left + 32, high + 4.5, name))
            shown = [*shown, (left + 13, high)]
        parts += [f'<path d="{marker}" transform="translate({a:.2f} {b:.2f})" fill="{colour}"/>' for a, b in shown]
    return "\n".join([*parts, "</svg>"]) + "\n"


def charts_side_by_side(charts: Sequence[str], columns: int | None = None) -> str:
    """Put charts of `line_chart` into one SVG, row by row.

    columns  how many in a row; by default all
    """
    if not charts:
        raise InputError("charts: holds nothing to draw")
    columns = len(charts) if columns is None else columns
    if columns < 1:
        raise InputError(f"columns: expected 1 or more, got {columns}")
    width, height = WIDTH * min(columns, len(charts)), HEIGHT * math.ceil(len(charts) / columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="{_hex(PAPER)}"/>',
    ]
    for k, chart in enumerate(charts):
        parts.append(f'<g transform="translate({WIDTH * (k % columns)} {HEIGHT * (k // columns)})">\n{chart}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def write_svg(path: str | os.PathLike[str], text: str) -> None:
    """Write SVG text. The file appears whole or not at all."""
    with atomic_write(Path(path)) as output:
        output.file.write(text.encode())


def _checked(series: Mapping[str, tuple[ArrayLike, ArrayLike]], log_y: bool) -> dict[str, tuple[Floats, Floats]]:
    if not 1 <= len(series) <= len(STYLES):
        raise InputError(f"series: holds {len(series)} lines, expected 1 to {len(STYLES)}")
    lines = {}
    for name, (xs, ys) in series.items():
        try:
            x, y = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(f"series {name!r}: expected numbers") from problem
        if x.ndim != 1 or x.shape != y.shape or not len(x):
            raise InputError(f"series {name!r}: expected as many x as y, one or more, got {x.shape} and {y.shape}")
        if not (np.abs([x, y]) < LARGEST).all():
            raise InputError(f"series {name!r}: expected finite numbers below {LARGEST:g}")
        if log_y and not (y > 1 / LARGEST).all():
            raise InputError(f"series {name!r}: a logarithmic axis needs positive y, got {y.min():g}")
        lines[name] = x, y
    return lines


def _even_ticks(values: Floats) -> Floats:
    """Multiples of 1, 2 or 5 times a power of ten that enclose the values."""
    low, high = float(values.min()), float(values.max())
    # Equal values, or nearly so, still need an axis whose ticks differ.
    largest = max(abs(low), abs(high))
    span = high - low if high - low > 1e-6 * largest else largest
    span = span if span > 1 / LARGEST else 1.0
    power = 10.0 ** math.floor(math.log10(span / 5))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= span / 5 * (1 - 1e-9))
    # Rounding must not push a value that lies on a tick to the next one.
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    return np.asarray(np.arange(first, max(last, first + 1) + 1) * step, np.float64)


def _log_ticks(values: Floats) -> Floats:
    """Like `_even_ticks`, on a logarithmic axis: 1, 2, 5, 10, ..., or of many decades whole powers of ten."""
    low, high = float(values.min()), float(values.max())
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 2)
    fine = [float(f"{m}e{decade}") for decade in decades for m in (1, 2, 5)]
    first = max(k for k, tick in enumerate(fine) if tick <= low or k == 0)
    last = max(first + 1, min(k for k, tick in enumerate(fine) if tick >= high))
    if last - first < 8:
        return np.array(fine[first : last + 1])
    each = math.ceil(len(decades) / 10)
    bounds = math.floor(math.log10(low)), math.ceil(math.log10(high)) + each
    return np.array([float(f"1e{decade}") for decade in range(*bounds, each)])


def _to_scale(x_ends: Floats, y_ends: Floats, shape: float) -> tuple[Floats, Floats]:
    """The ends of two axes, those of one moved apart so that the lengths of y and x are in the ratio `shape`."""
    width = max(np.ptp(x_ends), np.ptp(y_ends) / shape)
    half = width * np.array([-0.5, 0.5])
    return x_ends.mean() + half, y_ends.mean() + half * shape


def _multiples(step: float, ends: Floats) -> Floats:
    """Those that lie between the ends."""
    first, last = math.ceil(ends[0] / step - 1e-6), math.floor(ends[1] / step + 1e-6)
    return np.asarray(np.arange(first, last + 1) * step, np.float64)


def _share(values: ArrayLike, ends: Floats) -> Floats:
    return np.asarray(np.clip((np.asarray(values) - ends[0]) / (ends[1] - ends[0]), 0, 1), np.float64)


def _number(value: float) -> str:
    return f"{value:.9g}"


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.2f},{y1:.2f}L{x2:.2f},{y2:.2f}" stroke="{_hex(GREY)}" stroke-opacity="0.35"/>'


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" {attributes}>{_clean(text)}</text>'


def _clean(text: str) -> str:
    """Escaped, and without the control characters that XML cannot hold."""
    return escape("".join(letter if letter.isprintable() else " " for letter in text))


def _hex(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in colour)
