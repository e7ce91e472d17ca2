"""Line charts of the HTML pages, as SVG text that follows the theme of the page and needs no other library.

Figures of experiments and of the documentation are drawn by `plots`.

Examples
--------
>>> chart = line_chart({"SA": ([0.5, 0.7, 0.9], [1.2, 2.5, 9.0])}, "Time", "cool-down rate", "seconds", log_y=True)
>>> chart.startswith("<svg")
True
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import ArrayLike

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.reports.pictures import BLUE, GREY, INK, ORANGE, PAPER, RED

# Size of a chart and its margins, in pixels; the top margin depends on the legend.
WIDTH, HEIGHT = 560, 400
LEFT, RIGHT, BELOW = 84, 30, 58
TOP = 44
FONT_SIZE = 13
LEGEND_LINE = 20
# Colour and marker both distinguish the lines, so that charts are readable in greyscale. Markers are paths about the
# origin.
STYLES = (
    (BLUE, "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z"),
    (ORANGE, "M-3.6,-3.6h7.2v7.2h-7.2z"),
    (RED, "M0,-5l5,5l-5,5l-5,-5z"),
    (GREY, "M0,-4.8l4.6,8.2h-9.2z"),
    ((0.16, 0.55, 0.38), "M0,4.8l4.6,-8.2h-9.2z"),
    ((0.50, 0.32, 0.62), "M-5,-2h10v4h-10z"),
    (INK, "M-2,-5h4v10h-4z"),
)
# Lines with more points have no markers, which would hide them.
MAX_MARKERS = 60
# Bound on absolute values: between it and its inverse, steps between ticks neither overflow nor vanish.
LARGEST_VALUE = 1e100
# Axes up to this number have a power of ten, unless their numbers differ by more than this factor.
SMALL, MAX_RATIO = 1e-3, 1000

Lines = dict[str, tuple[Floats, Floats]]


def line_chart(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    title: str,
    x_label: str,
    y_label: str,
    log_y: bool = False,
    marked: bool = True,
    equal: bool = False,
    dots: Collection[str] = (),
) -> str:
    """Plot up to seven lines in one chart, with axes, markers and, for several lines, a legend.

    Axes begin and end at round numbers, except for those with `equal`. The same input gives the same text.

    Parameters
    ----------
    series : mapping of str to (array_like, array_like)
        {name: (x, y)}; points are joined in their order.
    title, x_label, y_label : str
    log_y : bool, default False
        Logarithmic y axis; all y must be positive.
    marked : bool, default True
        Mark every point, not only the legend.
    equal : bool, default False
        Equal scales on both axes, as on a map.
    dots : collection of str, default ()
        Series of which every point is marked and none are joined.

    Returns
    -------
    str
        SVG text.

    Raises
    ------
    InputError
        If a series is empty, not finite, or not positive on a logarithmic axis.
    """
    lines = _checked(series, log_y)
    plot = _Plot.of(lines, log_y, equal)
    middle = (plot.top + plot.bottom) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="{FONT_SIZE}" fill="{hex_colour(INK)}">',
        f"<title>{_clean(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{hex_colour(PAPER)}"/>',
        _text(WIDTH / 2, 24, title, 'text-anchor="middle" font-size="15" font-weight="bold"'),
        *_ticks(plot),
        f'<rect class="frame" x="{LEFT}" y="{plot.top}" width="{plot.right - LEFT}" '
        f'height="{plot.bottom - plot.top}" fill="none" stroke="{hex_colour(INK)}"/>',
        _text((LEFT + plot.right) / 2, HEIGHT - 16, x_label, 'text-anchor="middle"'),
        _text(16, middle, y_label, f'text-anchor="middle" transform="rotate(-90 16 {middle:g})"'),
    ]
    for k, (name, (x, y)) in enumerate(lines.items()):
        points = list(zip(plot.column(x), plot.row(y), strict=True))
        markers = points if name in dots or (marked and len(points) <= MAX_MARKERS) else []
        entry = plot.legend_entry(k) if len(lines) > 1 else None
        parts += _line(k, name, [] if name in dots else points, markers, entry)
    return "\n".join([*parts, "</svg>"]) + "\n"


def histogram_outline(values: ArrayLike, edges: Floats) -> tuple[Floats, Floats]:
    """Count values in bins and return the outline of the bars as a line for `line_chart`.

    Parameters
    ----------
    values : array_like
    edges : (B + 1,) ndarray
        Edges of the bins.

    Returns
    -------
    x, y : (2 B + 2,) ndarray
        y is the number of values in the bin, and 0 at both ends.
    """
    counts = np.histogram(values, edges)[0]
    return np.repeat(edges, 2), np.concatenate([[0], np.repeat(counts, 2), [0]])


def hex_colour(colour: tuple[float, float, float]) -> str:
    """Format a colour, red, green and blue from 0 to 1, as in "#216bb8"."""
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in colour)


@dataclass(frozen=True)
class _Plot:
    """Axes of a chart and where they are, in pixels."""

    x_ticks: Floats
    y_ticks: Floats
    x_ends: Floats
    y_ends: Floats
    log_y: bool
    legend_width: float
    top: int
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BELOW

    @classmethod
    def of(cls, lines: Lines, log_y: bool, equal: bool) -> _Plot:
        """Choose axes that enclose the lines, below their legend."""
        x_ticks = _even_ticks(np.concatenate([x for x, _ in lines.values()]))
        every_y = np.concatenate([y for _, y in lines.values()])
        y_ticks = _log_ticks(every_y) if log_y else _even_ticks(every_y)
        x_ends, y_ends = x_ticks[[0, -1]], y_ticks[[0, -1]]
        legend_width = 50 + 0.6 * FONT_SIZE * max(len(name) for name in lines)
        rows = math.ceil(len(lines) / _legend_columns(legend_width)) if len(lines) > 1 else 0
        plot = cls(x_ticks, y_ticks, x_ends, y_ends, log_y, legend_width, TOP + LEGEND_LINE * rows)
        if not equal:
            return plot
        x_ends, y_ends = _to_scale(x_ends, y_ends, (plot.bottom - plot.top) / (plot.right - LEFT))
        step = np.diff(_even_ticks(y_ends))[0]
        ticks = _multiples(step, x_ends), _multiples(step, y_ends)
        return cls(*ticks, x_ends, y_ends, log_y, legend_width, plot.top)

    def column(self, x: ArrayLike) -> Floats:
        """Pixels from the left."""
        return LEFT + (self.right - LEFT) * _share(x, self.x_ends)

    def row(self, y: ArrayLike) -> Floats:
        """Pixels from the top."""
        share = _share(np.log10(y), np.log10(self.y_ends)) if self.log_y else _share(y, self.y_ends)
        return self.bottom - (self.bottom - self.top) * share

    def legend_entry(self, k: int) -> tuple[float, int]:
        """Left end and height of the k-th entry of the legend."""
        columns = _legend_columns(self.legend_width)
        return LEFT + self.legend_width * (k % columns), 46 + LEGEND_LINE * (k // columns)


def _ticks(plot: _Plot) -> Iterator[str]:
    """Grid lines and their numbers."""
    for number, at in zip(_numbers(plot.x_ticks), plot.column(plot.x_ticks), strict=True):
        yield _rule(at, plot.bottom, at, plot.top)
        yield _text(at, plot.bottom + 18, number, 'text-anchor="middle"')
    for number, at in zip(_numbers(plot.y_ticks), plot.row(plot.y_ticks), strict=True):
        yield _rule(LEFT, at, plot.right, at)
        yield _text(LEFT - 8, at + 4.5, number, 'text-anchor="end"')


def _line(
    k: int,
    name: str,
    points: Sequence[tuple[float, float]],
    markers: Sequence[tuple[float, float]],
    entry: tuple[float, int] | None,
) -> Iterator[str]:
    """A line, if it has points, its markers and its entry in the legend."""
    colour, marker = hex_colour(STYLES[k][0]), STYLES[k][1]
    joined = " ".join(f"{column:.2f},{row:.2f}" for column, row in points)
    if points:
        yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'
    if entry is not None:
        left, height = entry
        if points:
            yield f'<path d="M{left:g},{height}h26" stroke="{colour}" stroke-width="2"/>'
        yield _text(left + 32, height + 4.5, name)
        markers = [*markers, (left + 13, height)]
    for column, row in markers:
        yield f'<path d="{marker}" transform="translate({column:.2f} {row:.2f})" fill="{colour}"/>'


def _legend_columns(width: float) -> int:
    return max(1, int((WIDTH - LEFT - RIGHT) // width))


def _checked(series: Mapping[str, tuple[ArrayLike, ArrayLike]], log_y: bool) -> Lines:
    if not 1 <= len(series) <= len(STYLES):
        raise InputError(f"series: expected 1 to {len(STYLES)} lines, got {len(series)}")
    lines = {}
    for name, (xs, ys) in series.items():
        try:
            x, y = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(f"series {name!r}: expected numbers") from problem
        if x.ndim != 1 or x.shape != y.shape or not len(x):
            raise InputError(f"series {name!r}: expected as many x as y, one or more, got {x.shape} and {y.shape}")
        if not (np.abs([x, y]) < LARGEST_VALUE).all():
            raise InputError(f"series {name!r}: expected finite numbers below {LARGEST_VALUE:g}")
        if log_y and not (y > 1 / LARGEST_VALUE).all():
            raise InputError(f"series {name!r}: a logarithmic axis needs positive y, got {y.min():g}")
        lines[name] = x, y
    return lines


def _even_ticks(values: Floats) -> Floats:
    """Multiples of 1, 2 or 5 times a power of ten that enclose the values."""
    low, high = float(values.min()), float(values.max())
    # Equal values, or nearly so, still need an axis whose ticks differ.
    largest = max(abs(low), abs(high))
    span = high - low if high - low > 1e-6 * largest else largest
    span = span if span > 1 / LARGEST_VALUE else 1.0
    power = 10.0 ** math.floor(math.log10(span / 5))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= span / 5 * (1 - 1e-9))
    # Rounding must not push a value on a tick to the next one.
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    return np.asarray(np.arange(first, max(last, first + 1) + 1) * step, np.float64)


def _log_ticks(values: Floats) -> Floats:
    """Ticks of a logarithmic axis: 1, 2, 5, 10, ..., or over many decades powers of ten."""
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
    """Extend one of two axes so that the lengths of y and x are in the ratio `shape`."""
    width = max(np.ptp(x_ends), np.ptp(y_ends) / shape)
    half = width * np.array([-0.5, 0.5])
    return x_ends.mean() + half, y_ends.mean() + half * shape


def _multiples(step: float, ends: Floats) -> Floats:
    """The multiples of a step between the ends."""
    first, last = math.ceil(ends[0] / step - 1e-6), math.floor(ends[1] / step + 1e-6)
    return np.asarray(np.arange(first, last + 1) * step, np.float64)


def _share(values: ArrayLike, ends: Floats) -> Floats:
    return np.asarray(np.clip((np.asarray(values) - ends[0]) / (ends[1] - ends[0]), 0, 1), np.float64)


def _numbers(ticks: Floats) -> list[str]:
    """The numbers of an axis; small ones with one power of ten for all, so that they are short and easy to compare."""
    largest = float(np.abs(ticks).max())
    if largest >= SMALL or np.abs(ticks[ticks != 0]).min() * MAX_RATIO < largest:
        return [f"{tick:.9g}" for tick in ticks]
    power = math.floor(math.log10(largest) + 1e-9)
    return [f"{tick / 10.0**power:.6g}e{power}" if tick else "0" for tick in ticks]


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.2f},{y1:.2f}L{x2:.2f},{y2:.2f}" stroke="{hex_colour(GREY)}" stroke-opacity="0.35"/>'


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" {attributes}>{_clean(text)}</text>'


def _clean(text: str) -> str:
    """Escape text, and replace control characters, which XML does not allow."""
    return escape("".join(character if character.isprintable() else " " for character in text))
